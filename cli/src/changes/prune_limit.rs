//! A warning of prunes that the service would refuse (docs/adr/0017).

use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};
use serde_json::Value;
use weir_api::{Kustomization, PART_OF_LABEL};
use weir_kustomize_controller::prune_refusal;
use weir_ssa::{Entry, stale};

use super::inventory;
use crate::builtin;
use crate::cluster::Cluster;
use crate::output::progress;

/// Begin of the service's argument with the limit of all Kustomizations.
const FLAG: &str = "--prune-limit=";

/// The limit of the service where it has no such argument.
const NONE: &str = "none";

/// The limit of a cluster's kustomize service, as its flag has it.
pub(crate) struct PruneLimit(String);

impl PruneLimit {
    /// Reads the arguments of the services' Deployments, wherever they are. Whoever may not see them is warned of the limits in
    /// annotations only.
    pub(crate) async fn of(cluster: &Cluster) -> Self {
        let api = builtin::all::<Deployment>(&cluster.client);
        let params = ListParams::default().labels(&format!("{PART_OF_LABEL}=flux"));
        let listed = cluster.in_time(api.list(&params)).await.ok().and_then(Result::ok);
        let flag = listed.iter().flat_map(|listed| &listed.items).find_map(flag);
        Self(flag.unwrap_or(NONE).to_owned())
    }

    /// Warns when the service would not prune what an apply of `kept` leaves.
    pub(crate) fn warn(&self, kustomization: &Kustomization, kept: &[Entry]) {
        let Ok(known) = inventory(kustomization) else { return };
        let gone = stale(&known, kept);
        if gone.is_empty() {
            return;
        }
        if let Some(refusal) = prune_refusal(kustomization, known.len(), &gone, &self.0) {
            let namespace = kustomization.namespace().unwrap_or_default();
            progress::warning(&format!("Kustomization/{namespace}/{}: {refusal}", kustomization.name_any()));
        }
    }
}

fn flag(deployment: &DynamicObject) -> Option<&str> {
    let containers = builtin::array(deployment, "/spec/template/spec/containers").iter();
    let arguments = containers.filter_map(|container| container.get("args")?.as_array()).flatten();
    arguments.filter_map(Value::as_str).find_map(|argument| argument.strip_prefix(FLAG))
}
