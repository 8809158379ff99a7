//! Discovery: from kinds to addresses, cached for a cluster and refreshed when a kind is missing (KS-SSA-18).

use std::collections::HashMap;
use std::sync::Arc;

use http::Request;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResource, APIResourceList};
use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};
use parking_lot::RwLock;

use crate::manifest::split_api_version;

/// The place of a kind's objects in the API.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// Group, version, kind and plural.
    pub resource: ApiResource,
    /// True when the objects stand in namespaces.
    pub is_namespaced: bool,
}

/// A kind that could not be found.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// The cluster has no such kind in this version.
    #[error("no matches for kind \"{kind}\" in version \"{api_version}\"")]
    NoMatch {
        /// The kind.
        kind: String,
        /// `group/version`
        api_version: String,
    },
    /// The cluster has no such kind in any version.
    #[error("no matches for kind \"{kind}\" in group \"{group}\"")]
    NoGroupMatch {
        /// The kind.
        kind: String,
        /// The group.
        group: String,
    },
    /// The cluster could not be asked.
    #[error("failed to get server groups: {}", crate::error::whole_text(source))]
    Discovery {
        /// Cause.
        #[source]
        source: kube::Error,
    },
}

type Kinds = HashMap<String, Arc<Mapping>>;

/// The kinds of one cluster. One entry a group version that manifests have named: bounded by what the cluster serves,
/// since group versions that it does not serve are not kept.
pub struct Mapper {
    client: Client,
    versions: RwLock<HashMap<String, Arc<Kinds>>>,
    groups: RwLock<HashMap<String, Arc<Vec<String>>>>,
}

impl Mapper {
    /// A mapper that asks as this client.
    pub fn new(client: Client) -> Self {
        Self { client, versions: RwLock::default(), groups: RwLock::default() }
    }

    /// Returns the place of a kind's objects in one version of its API. An unknown kind is requested again every time.
    ///
    /// # Errors
    /// See [`MappingError`].
    pub async fn mapping(&self, api_version: &str, kind: &str) -> Result<Arc<Mapping>, MappingError> {
        let known = self.versions.read().get(api_version).and_then(|kinds| kinds.get(kind)).cloned();
        if let Some(mapping) = known {
            return Ok(mapping);
        }
        let kinds = self.discover(api_version).await?;
        kinds.get(kind).cloned().ok_or_else(|| MappingError::NoMatch {
            kind: kind.to_owned(),
            api_version: api_version.to_owned(),
        })
    }

    /// Forgets the kinds of a group version, and which versions the group has: they turned out to be outdated.
    pub(crate) fn forget(&self, api_version: &str) {
        self.versions.write().remove(api_version);
        self.groups.write().remove(split_api_version(api_version).0);
    }

    /// Returns the place of a kind's objects in the version that the cluster prefers (KS-HC-10).
    ///
    /// # Errors
    /// See [`MappingError`].
    pub async fn preferred(&self, group: &str, kind: &str) -> Result<Arc<Mapping>, MappingError> {
        for version in self.group_versions(group).await?.iter() {
            match self.mapping(version, kind).await {
                Err(MappingError::NoMatch { .. }) => {}
                answer => return answer,
            }
        }
        self.groups.write().remove(group);
        Err(MappingError::NoGroupMatch { kind: kind.to_owned(), group: group.to_owned() })
    }

    /// Versions of a group, the preferred one first.
    async fn group_versions(&self, group: &str) -> Result<Arc<Vec<String>>, MappingError> {
        if group.is_empty() {
            return Ok(Arc::new(vec!["v1".to_owned()]));
        }
        if let Some(known) = self.groups.read().get(group).cloned() {
            return Ok(known);
        }
        let answer = self.ask::<APIGroup>(&format!("/apis/{group}")).await?;
        let Some(found) = answer else { return Ok(Arc::default()) };
        let mut versions: Vec<String> =
            found.versions.into_iter().map(|version| version.group_version).collect();
        if let Some(preferred) = found.preferred_version {
            versions.sort_by_key(|version| *version != preferred.group_version);
        }
        let versions = Arc::new(versions);
        self.groups.write().insert(group.to_owned(), Arc::clone(&versions));
        Ok(versions)
    }

    async fn discover(&self, api_version: &str) -> Result<Arc<Kinds>, MappingError> {
        let root = if api_version.contains('/') { "/apis" } else { "/api" };
        let Some(list) = self.ask::<APIResourceList>(&format!("{root}/{api_version}")).await? else {
            self.versions.write().remove(api_version);
            return Ok(Arc::default());
        };
        let kinds = list.resources.into_iter().filter(|resource| !resource.name.contains('/'));
        let mut kinds: Kinds =
            kinds.map(|resource| (resource.kind.clone(), mapping_of(api_version, resource))).collect();
        // Health checks may name them so, as in Flux.
        let in_lower_case: Kinds =
            kinds.iter().map(|(kind, mapping)| (kind.to_lowercase(), Arc::clone(mapping))).collect();
        for (kind, mapping) in in_lower_case {
            kinds.entry(kind).or_insert(mapping);
        }
        let kinds = Arc::new(kinds);
        self.versions.write().insert(api_version.to_owned(), Arc::clone(&kinds));
        Ok(kinds)
    }

    async fn ask<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<Option<T>, MappingError> {
        let failed = |source| MappingError::Discovery { source };
        let request = Request::get(path).body(Vec::new()).map_err(|e| failed(kube::Error::HttpError(e)))?;
        match self.client.request(request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if crate::error::is_not_found(&error) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}

fn mapping_of(api_version: &str, resource: APIResource) -> Arc<Mapping> {
    let (group, version) = split_api_version(api_version);
    let kind = GroupVersionKind::gvk(group, version, &resource.kind);
    let is_namespaced = resource.namespaced;
    let resource = ApiResource::from_gvk_with_plural(&kind, &resource.name);
    Arc::new(Mapping { resource, is_namespaced })
}
