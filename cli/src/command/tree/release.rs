//! The objects of a Helm release, read from the Secret in which Helm keeps it.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams};
use serde::Deserialize;
use serde_json::Value;
use weir_ssa::{Manifest, Mapper, ObjectId};
use weir_yaml::read_documents;

use crate::builtin;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::kind::{Kind, first_of, text};

/// Largest release, unpacked, in bytes. Packed it has to fit into a Secret, which holds 1 MiB.
const MAX_RELEASE: u64 = 64 * 1024 * 1024;

/// First bytes of what is packed; releases of old versions of Helm are not.
const GZIP: [u8; 3] = [0x1f, 0x8b, 0x08];

/// Definitions have this kind.
const DEFINITION: &str = "CustomResourceDefinition";

/// Reads releases of one cluster.
pub(super) struct Releases<'a> {
    cluster: &'a Cluster,
    mapper: Mapper,
}

/// The field of a stored release that is read.
#[derive(Deserialize)]
struct Stored {
    #[serde(default)]
    manifest: String,
}

/// Returns true for a HelmRelease.
pub(super) fn is_one(id: &ObjectId) -> bool {
    id.kind == "HelmRelease" && id.group == "helm.toolkit.fluxcd.io"
}

impl<'a> Releases<'a> {
    /// A reader that asks a cluster.
    pub(super) fn new(cluster: &'a Cluster) -> Self {
        Self { cluster, mapper: Mapper::new(cluster.client.clone()) }
    }

    /// Returns the objects of a HelmRelease: those of its manifest, then the definitions that it manages.
    pub(super) async fn objects(&self, namespace: &str, name: &str) -> Result<Vec<ObjectId>, Error> {
        let cluster = self.cluster.in_namespace(namespace);
        let release = cluster.get(Kind::named("HelmRelease")?, name).await?;
        let storage = text(&release, "/status/storageNamespace");
        let latest = |field| text(&release, &format!("/status/history/0/{field}"));
        let is_remote = release.data.pointer("/spec/kubeConfig").is_some_and(|it| !it.is_null());
        if is_remote || storage.is_empty() || latest("name").is_empty() {
            return Ok(Vec::new());
        }
        let shown = format!("'{namespace}/{name}'");
        let secret = format!("sh.helm.release.v1.{}.v{}", latest("name"), latest("version"));
        let api: Api<Secret> = Api::namespaced(self.cluster.client.clone(), &storage);
        let failed = format!("failed to find the Helm storage object for HelmRelease {shown}");
        let found = self.cluster.in_time(api.get_opt(&secret)).await?;
        let Some(secret) = found.map_err(|error| Error::from(error).prefixed(&failed))? else {
            return Ok(Vec::new());
        };
        let undecoded = || format!("failed to decode the Helm storage object for HelmRelease {shown}");
        let data =
            secret.data.unwrap_or_default().remove("release").ok_or_else(|| Error::Api(undecoded()))?;
        let manifest =
            decode(&data.0).map_err(|error| Error::Api(format!("{}: {error}", undecoded())))?.manifest;
        let objects = documents(&manifest).map_err(|error| {
            Error::Api(format!("failed to read the Helm storage object for HelmRelease {shown}: {error}"))
        })?;
        let mut ids = Vec::with_capacity(objects.len());
        for object in objects {
            ids.push(self.placed(object, &latest("namespace")).await);
        }
        self.add_definitions(&release, &mut ids).await?;
        Ok(ids)
    }

    /// Returns an object with the namespace into which it was installed.
    async fn placed(&self, object: Manifest, namespace: &str) -> ObjectId {
        let mut id = object.id().clone();
        if id.namespace.is_empty() {
            let known = self.cluster.in_time(self.mapper.mapping(&object.api_version(), &id.kind)).await;
            if matches!(known, Ok(Ok(mapping)) if mapping.is_namespaced) {
                id.namespace = namespace.to_owned();
            }
        }
        id
    }

    async fn add_definitions(&self, release: &DynamicObject, ids: &mut Vec<ObjectId>) -> Result<(), Error> {
        let policies =
            ["install", "upgrade"].map(|action| first_of(release, &[&format!("/spec/{action}/crds")]));
        if policies.iter().all(|policy| policy.is_empty() || policy == "Skip") {
            return Ok(());
        }
        let (name, namespace) = (release.name_any(), release.namespace().unwrap_or_default());
        let labels =
            format!("helm.toolkit.fluxcd.io/name={name},helm.toolkit.fluxcd.io/namespace={namespace}");
        let api = builtin::all::<CustomResourceDefinition>(&self.cluster.client);
        let listed = self.cluster.in_time(api.list(&ListParams::default().labels(&labels))).await?;
        for definition in listed.into_iter().flat_map(|list| list.items) {
            let name = definition.name_any();
            if ids.iter().any(|id| id.name == name && id.kind == DEFINITION) {
                continue;
            }
            let (group, kind) = ("apiextensions.k8s.io".to_owned(), DEFINITION.to_owned());
            ids.push(ObjectId { namespace: String::new(), name, group, kind });
        }
        Ok(())
    }
}

/// Unpacks a stored release: base64 around gzip around JSON.
fn decode(data: &[u8]) -> Result<Stored, std::io::Error> {
    let data = STANDARD.decode(data).map_err(std::io::Error::other)?;
    if !data.starts_with(&GZIP) {
        return Ok(serde_json::from_slice(&data)?);
    }
    let mut unpacked = Vec::new();
    GzDecoder::new(data.as_slice()).take(MAX_RELEASE + 1).read_to_end(&mut unpacked)?;
    if unpacked.len() as u64 > MAX_RELEASE {
        return Err(std::io::Error::other(format!("larger than {MAX_RELEASE} bytes")));
    }
    Ok(serde_json::from_slice(&unpacked)?)
}

/// Reads the objects of a manifest; those of a list stand for it.
fn documents(manifest: &str) -> Result<Vec<Manifest>, weir_yaml::YamlError> {
    let mut objects = Vec::new();
    for document in read_documents("manifest", manifest.into())? {
        let object = document.to_json_of_yaml11()?;
        match object.get("items").and_then(Value::as_array) {
            Some(items) => {
                objects.extend(items.iter().filter_map(|item| Manifest::try_from(item.clone()).ok()))
            }
            None => objects.extend(Manifest::try_from(object).ok()),
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_release_is_read_packed_and_unpacked() {
        let json = r#"{"name":"a","manifest":"x"}"#;
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(json.as_bytes()).unwrap();
        for data in [json.as_bytes().to_vec(), packed.finish().unwrap()] {
            assert_eq!(decode(STANDARD.encode(data).as_bytes()).unwrap().manifest, "x");
        }
        assert!(decode(b"%").is_err() && decode(b"e30").is_err());
    }

    #[test]
    fn objects_of_lists_and_documents_are_found_and_the_rest_is_left_out() {
        let manifest = "# Source: a\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: b}}\n\
            ---\n---\nnotes: none\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: c, namespace: d}\n";
        let found: Vec<_> = documents(manifest).unwrap().iter().map(|object| object.id().subject()).collect();
        assert_eq!(found, ["Service/b", "Deployment/d/c"]);
    }
}
