//! The installation that a cluster has already: its version, and who made it.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use weir_api::{FluxObject, GitRepository, PART_OF_LABEL};

use crate::builtin;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::input;
use crate::manifests::HELM_CONTROLLER;
use crate::output::progress;

/// Label that the kustomize service puts on what it applies.
const BOOTSTRAPPED: &str = "kustomize.toolkit.fluxcd.io/namespace";
/// Label with the name of another tool that installed the services.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label with the version of an installation.
const VERSION: &str = "app.kubernetes.io/version";

/// An installation, as the labels of its first CRD describe it.
pub(crate) struct Installation {
    /// Its version.
    pub(crate) version: String,
    /// The set of programs that it belongs to, in front of its version; empty when neither is known.
    pub(crate) distribution: String,
    /// True when it is kept by Git.
    pub(crate) is_bootstrapped: bool,
    /// Tool that made it, other than this command and Flux's.
    pub(crate) manager: Option<String>,
}

impl Installation {
    /// Finds the installation of a cluster.
    pub(crate) async fn find(cluster: &Cluster) -> Result<Option<Self>, Error> {
        let api = builtin::all::<CustomResourceDefinition>(&cluster.client);
        let name = Self::definition();
        let Some(definition) = cluster.in_time(api.get_opt(&name)).await?? else { return Ok(None) };
        let labels = definition.metadata.labels.unwrap_or_default();
        let manager = labels.get(MANAGED_BY).filter(|manager| !matches!(manager.as_str(), "" | "flux"));
        let version = labels.get(VERSION).cloned().unwrap_or_default();
        Ok(Some(Self {
            distribution: match labels.get(PART_OF_LABEL) {
                Some(part_of) => format!("{part_of}-{version}"),
                None => version.clone(),
            },
            version,
            is_bootstrapped: labels.contains_key(BOOTSTRAPPED),
            manager: manager.cloned(),
        }))
    }

    /// Returns the name of the CRD that describes it.
    pub(crate) fn definition() -> String {
        format!("{}.{}", GitRepository::PLURAL, GitRepository::GROUP)
    }

    /// Returns true when Flux's helm-controller is part of it.
    pub(crate) async fn has_helm_controller(cluster: &Cluster) -> Result<bool, Error> {
        let api = builtin::namespaced::<Deployment>(&cluster.client, &cluster.namespace);
        let found = cluster.in_time(api.get_metadata_opt(HELM_CONTROLLER)).await??;
        Ok(found
            .is_some_and(|deployment| deployment.labels().get(PART_OF_LABEL).is_some_and(|it| it == "flux")))
    }

    /// Returns true unless another tool made the installation, and the person at the terminal wants to leave it to that.
    pub(crate) fn may_be_changed(&self) -> Result<bool, Error> {
        let Some(manager) = &self.manager else { return Ok(true) };
        progress::detail(&format!(
            "Flux {} has been installed on this cluster with {manager}!",
            self.version
        ));
        input::confirm(&format!("Are you sure you want to override the {manager} installation"))
    }
}
