//! A Secret in the making.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams, PostParams};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use super::super::credentials::{Entries, SshHost};
use crate::cluster::{Cluster, FIELD_MANAGER};
use crate::error::Error;
use crate::output::manifest;

/// A Secret in the making.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) labels: Map<String, Value>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) entries: Entries,
    pub(crate) type_: Option<&'static str>,
    /// Server whose keys are still to be asked for.
    pub(crate) host: Option<SshHost>,
    /// Public key to show.
    pub(crate) public_key: Option<String>,
}

impl Draft {
    pub(crate) fn new(name: &str, namespace: &str, labels: Map<String, Value>) -> Self {
        Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            labels,
            annotations: BTreeMap::new(),
            entries: Entries::new(),
            type_: None,
            host: None,
            public_key: None,
        }
    }

    /// Asks the SSH server for its keys, if there is one, and notes them.
    pub(crate) async fn with_host_keys(mut self) -> Result<Self, Error> {
        if let Some(host) = self.host.take() {
            self.entries.insert("known_hosts".to_owned(), host_keys(&host).await?.into());
        }
        Ok(self)
    }

    /// The Secret as it is applied, or printed.
    pub(crate) fn manifest(&self) -> Value {
        let data: Map<String, Value> =
            self.entries.iter().map(|(key, value)| (key.clone(), value.expose_secret().into())).collect();
        let mut secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": self.name, "namespace": self.namespace },
        });
        if !data.is_empty() {
            manifest::set(&mut secret, "/stringData", data);
        }
        if !self.labels.is_empty() {
            manifest::set(&mut secret, "/metadata/labels", self.labels.clone());
        }
        if !self.annotations.is_empty() {
            manifest::set(&mut secret, "/metadata/annotations", json!(self.annotations));
        }
        if let Some(type_) = self.type_ {
            manifest::set(&mut secret, "/type", type_);
        }
        secret
    }

    /// Returns true when there is a Secret of this name.
    pub(crate) async fn exists(&self, cluster: &Cluster) -> Result<bool, Error> {
        let api: Api<Secret> = Api::namespaced(cluster.client.clone(), &self.namespace);
        Ok(cluster.in_time(api.get_opt(&self.name)).await??.is_some())
    }

    /// Makes the Secret, or puts its entries, labels and annotations into the one that is there (CLI-SEC05).
    pub(crate) async fn apply(&self, cluster: &Cluster) -> Result<(), Error> {
        let api: Api<Secret> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
        let mut manifest = self.manifest();
        if cluster.in_time(api.get_opt(&self.name)).await??.is_none() {
            let secret: Secret = serde_json::from_value(manifest).map_err(std::io::Error::from)?;
            let params =
                PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
            cluster.in_time(api.create(&params, &secret)).await??;
            return Ok(());
        }
        // The type of a Secret never changes.
        if let Some(fields) = manifest.as_object_mut() {
            fields.remove("type");
        }
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        cluster.in_time(api.patch(&self.name, &params, &Patch::Merge(manifest))).await??;
        Ok(())
    }
}

/// Asks an SSH server for its keys, and returns them as lines of a `known_hosts` file.
pub(crate) async fn host_keys(SshHost { host, port }: &SshHost) -> Result<String, Error> {
    let scanned = weir_git::scan_host_keys(host, *port).await;
    let address = format!("{host}:{}", port.unwrap_or(22));
    scanned.map_err(|error| Error::Flags(format!("SSH key scan for host {address} failed, error: {error}")))
}
