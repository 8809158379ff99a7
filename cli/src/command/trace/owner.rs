//! The Kustomization or HelmRelease that manages an object: its labels say so, or those of an object that owns it.

use kube::ResourceExt;
use kube::api::{Api, DynamicObject};
use weir_ssa::Mapper;

use crate::cluster::Cluster;
use crate::error::Error;

/// Owners above each other; a Pod has two.
const MAX_OWNERS: usize = 10;

/// Finds owners in one cluster.
pub(super) struct Owners<'a> {
    cluster: &'a Cluster,
    mapper: Mapper,
}

impl<'a> Owners<'a> {
    pub(super) fn new(cluster: &'a Cluster) -> Self {
        Self { cluster, mapper: Mapper::new(cluster.client.clone()) }
    }

    /// Returns namespace and name of the manager, an object of this API group.
    pub(super) async fn manager(
        &self,
        object: &DynamicObject,
        group: &str,
    ) -> Result<Option<(String, String)>, Error> {
        let mut object = object.clone();
        for _ in 0..MAX_OWNERS {
            if let Some(manager) = named_by(&object, group) {
                return Ok(Some(manager));
            }
            let mut above = None;
            for reference in object.owner_references() {
                let owner =
                    self.read(&object, &reference.api_version, &reference.kind, &reference.name).await?;
                let Some(owner) = owner else { return Ok(None) };
                if let Some(manager) = named_by(&owner, group) {
                    return Ok(Some(manager));
                }
                if !owner.owner_references().is_empty() {
                    above = Some(owner);
                    break;
                }
            }
            let Some(above) = above else { return Ok(None) };
            object = above;
        }
        Ok(None)
    }

    /// Reads an owner; nothing when it cannot be read.
    async fn read(
        &self,
        owned: &DynamicObject,
        api_version: &str,
        kind: &str,
        name: &str,
    ) -> Result<Option<DynamicObject>, Error> {
        let Ok(mapping) = self.cluster.in_time(self.mapper.mapping(api_version, kind)).await? else {
            return Ok(None);
        };
        let client = self.cluster.client.clone();
        let api: Api<DynamicObject> = match owned.namespace().filter(|_| mapping.is_namespaced) {
            Some(namespace) => Api::namespaced_with(client, &namespace, &mapping.resource),
            None => Api::all_with(client, &mapping.resource),
        };
        Ok(self.cluster.in_time(api.get(name)).await?.ok())
    }
}

/// Returns the manager that an object's labels name.
fn named_by(object: &DynamicObject, group: &str) -> Option<(String, String)> {
    let label = |key: &str| object.labels().get(&format!("{group}/{key}")).cloned().unwrap_or_default();
    let name = label("name");
    (!name.is_empty()).then(|| (label("namespace"), name))
}
