//! `weir uninstall`: takes the services away and leaves what they applied (CLI-UNI01).

use std::convert::identity;

use clap::Args;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use weir_api::PART_OF_LABEL;
use weir_runtime::args::Switch;

use crate::builtin;
use crate::cluster::{Cluster, Selection};
use crate::error::Error;
use crate::global::Global;
use crate::input;
use crate::installation::Installation;
use crate::kind::{KINDS, Kind};
use crate::output::progress;

/// The kind that goes first, with the processes.
const SERVICE: (&str, &str) = ("apps/v1", "Deployment");

/// Kinds that go next: API version, kind, and true if objects of it have a namespace.
const COMPONENTS: [(&str, &str, bool); 7] = [
    ("v1", "Service", true),
    ("networking.k8s.io/v1", "NetworkPolicy", true),
    ("v1", "ServiceAccount", true),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", false),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", false),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", false),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", false),
];

/// Kinds that go with the namespace, and are taken away one by one where it stays.
const IN_NAMESPACE: [(&str, &str); 6] = [
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("policy/v1", "PodDisruptionBudget"),
    ("v1", "ResourceQuota"),
    ("monitoring.coreos.com/v1", "PodMonitor"),
    ("monitoring.coreos.com/v1", "PrometheusRule"),
];

/// The kind whose objects stay with the namespace, as there is data in them.
const DATA: (&str, &str) = ("v1", "PersistentVolumeClaim");

const DEFINITION: (&str, &str) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");

/// Parts to take away.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # See what would go
  weir uninstall --dry-run

  # Take the services away and leave their namespace
  weir uninstall --keep-namespace")]
pub(crate) struct Uninstall {
    /// Do not ask.
    #[arg(short, long, visible_alias = "yes", switched_off())]
    silent: bool,
    /// Change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Leave the namespace.
    #[arg(long)]
    keep_namespace: bool,
}

impl Uninstall {
    /// Takes the services away. A failure is printed, and the rest goes on, unless services are left.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let cluster = &global.cluster().await?;
        if !self.silent && !self.dry_run && !is_confirmed(cluster, global).await? {
            return Err(Error::Aborted);
        }
        progress::action(&format!("deleting components in {} namespace", cluster.namespace));
        let (api_version, kind) = SERVICE;
        if !self.delete_all(cluster, api_version, kind, true).await {
            progress::failure(
                "services that still run prune all that they have applied once the CRDs go: nothing else is deleted",
            );
            return Err(Error::Uninstall);
        }
        let mut is_done = true;
        for (api_version, kind, is_namespaced) in COMPONENTS {
            is_done &= self.delete_all(cluster, api_version, kind, is_namespaced).await;
        }
        if self.keep_namespace {
            for (api_version, kind) in IN_NAMESPACE {
                is_done &= self.delete_all(cluster, api_version, kind, true).await;
            }
        }
        progress::action("deleting toolkit.fluxcd.io finalizers in all namespaces");
        for kind in KINDS.iter().filter(|kind| kind.name != "ExternalArtifact") {
            is_done &= self.release(cluster, kind).await;
        }
        progress::action("deleting toolkit.fluxcd.io custom resource definitions");
        is_done &= self.delete_all(cluster, DEFINITION.0, DEFINITION.1, false).await;
        if self.keep_namespace {
            is_done &= tell_data(cluster).await;
        } else {
            let api = api(cluster, "v1", "Namespace", false);
            is_done &= self.delete(cluster, &api, "Namespace", &cluster.namespace, &cluster.namespace).await;
        }
        if !is_done {
            return Err(Error::Uninstall);
        }
        progress::success("uninstall finished");
        Ok(())
    }

    /// Deletes the installation's objects of a kind. Returns false when something failed.
    async fn delete_all(
        &self,
        cluster: &Cluster,
        api_version: &str,
        kind: &str,
        is_namespaced: bool,
    ) -> bool {
        let api = api(cluster, api_version, kind, is_namespaced);
        let Some(objects) = installed(cluster, &api, kind).await else { return false };
        let mut is_done = true;
        for object in objects {
            let name = object.name_any();
            let place = object.namespace().map_or(name.clone(), |namespace| format!("{namespace}/{name}"));
            is_done &= self.delete(cluster, &api, kind, &name, &place).await;
        }
        is_done
    }

    async fn delete(
        &self,
        cluster: &Cluster,
        api: &Api<DynamicObject>,
        kind: &str,
        name: &str,
        place: &str,
    ) -> bool {
        let params = DeleteParams { dry_run: self.dry_run, ..DeleteParams::background() };
        let deleted = cluster.in_time(api.delete(name, &params)).await;
        self.report(kind, place, "deleted", "deletion", deleted)
    }

    /// Lets go of all objects of a kind, so that they can be deleted without anybody who works on them. Returns false when something
    /// failed.
    async fn release(&self, cluster: &Cluster, kind: &'static Kind) -> bool {
        let Some((resource, objects)) = found_or_told(kind.name, held(cluster, kind).await) else {
            return false;
        };
        let mut is_done = true;
        for object in objects {
            let (name, namespace) = (object.name_any(), object.namespace().unwrap_or_default());
            let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), &namespace, &resource);
            let params = PatchParams { dry_run: self.dry_run, ..PatchParams::default() };
            let patch = Patch::Merge(json!({ "metadata": { "finalizers": [] } }));
            let patched = cluster.in_time(api.patch(&name, &params, &patch)).await;
            let place = format!("{namespace}/{name}");
            is_done &= self.report(kind.name, &place, "finalizers deleted", "finalizers deletion", patched);
        }
        is_done
    }

    /// Prints the outcome. Returns true when it is a good one, or the object is gone anyway.
    fn report<T>(
        &self,
        kind: &str,
        place: &str,
        done: &str,
        deed: &str,
        outcome: Result<kube::Result<T>, Error>,
    ) -> bool {
        let end = if self.dry_run { "(dry run)" } else { "" };
        let is_gone = matches!(&outcome, Ok(Err(kube::Error::Api(status))) if status.is_not_found());
        let outcome = outcome.and_then(|answer| answer.map_err(Error::from));
        match &outcome {
            Ok(_) => progress::success(&format!("{kind}/{place} {done} {end}")),
            Err(error) => progress::failure(&format!("{kind}/{place} {deed} failed: {error}")),
        }
        outcome.is_ok() || is_gone
    }
}

/// Says what will go and from which cluster, and asks. An installation elsewhere loses its CRDs too: people are warned where
/// the namespace has none.
async fn is_confirmed(cluster: &Cluster, global: &Global) -> Result<bool, Error> {
    let question = question(cluster).await?;
    let (server, origin) = global.access.place();
    let namespace = &cluster.namespace;
    progress::action(&format!("uninstalling from namespace {namespace} of {server} ({origin})"));
    let params = ListParams::default().labels(&format!("{PART_OF_LABEL}=flux")).limit(1);
    let listed = cluster.in_time(api(cluster, SERVICE.0, SERVICE.1, true).list_metadata(&params)).await?;
    if listed.is_ok_and(|found| found.items.is_empty()) {
        progress::warning(&format!(
            "namespace {namespace} has no installation; the CRDs go from all namespaces"
        ));
    }
    input::confirm(&question)
}

/// Returns the question before anything goes. It names another tool that manages the installation: that one may bring it back.
async fn question(cluster: &Cluster) -> Result<String, Error> {
    let found = Installation::find(cluster).await;
    let found = found.map_err(|error| error.prefixed("cluster info unavailable"))?;
    Ok(match found.and_then(|found| found.manager) {
        Some(manager) => format!(
            "Flux is managed by {manager}! Are you sure you want to delete Flux and its CRDs using this command"
        ),
        None => "Are you sure you want to delete Flux and its custom resource definitions".to_owned(),
    })
}

/// Returns the installation's objects of a kind, or prints why there are none. A cluster without the kind has none of them.
async fn installed(cluster: &Cluster, api: &Api<DynamicObject>, kind: &str) -> Option<Vec<DynamicObject>> {
    let params = ListParams::default().labels(&format!("{PART_OF_LABEL}=flux"));
    let listed = cluster.in_time(api.list(&params)).await.and_then(|listed| match listed {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        listed => Ok(listed?.items),
    });
    found_or_told(kind, listed)
}

/// Names the data that stays. Returns false when it cannot be found out.
async fn tell_data(cluster: &Cluster) -> bool {
    let (api_version, kind) = DATA;
    let claims = installed(cluster, &api(cluster, api_version, kind, true), kind).await;
    for claim in claims.iter().flatten() {
        progress::warning(&format!("{kind}/{}/{} stays, with its data", cluster.namespace, claim.name_any()));
    }
    claims.is_some()
}

/// Returns what was found, or prints why it was not.
fn found_or_told<T>(kind: &str, found: Result<T, Error>) -> Option<T> {
    let told = |error: Error| progress::failure(&format!("listing {kind} objects failed: {error}"));
    found.map_err(told).ok()
}

/// Returns the objects of a kind in all namespaces, with the version in which they can be changed.
async fn held(cluster: &Cluster, kind: &'static Kind) -> Result<(ApiResource, Vec<DynamicObject>), Error> {
    let selection = Selection { all_namespaces: true, ..Selection::default() };
    match cluster.list(kind, &selection).await {
        Err(Error::NoSuchKind(_)) => held_in_other_version(cluster, kind).await,
        listed => Ok((kind.api_resource(), listed?)),
    }
}

/// Does the same where the cluster serves other versions than the one of this command, as an old Flux does: their finalizers would keep
/// these objects, and with them the CRD. A cluster without the kind has none.
async fn held_in_other_version(
    cluster: &Cluster,
    kind: &'static Kind,
) -> Result<(ApiResource, Vec<DynamicObject>), Error> {
    let mut resource = kind.api_resource();
    let definition = api(cluster, DEFINITION.0, DEFINITION.1, false);
    let definition =
        cluster.in_time(definition.get_opt(&format!("{}.{}", kind.plural, kind.group))).await??;
    let versions = definition.iter().flat_map(|definition| builtin::array(definition, "/spec/versions"));
    let mut served = versions.filter(|version| version.get("served") == Some(&Value::Bool(true)));
    let Some(version) = served.next().and_then(|version| version.get("name")?.as_str()) else {
        return Ok((resource, Vec::new()));
    };
    resource.api_version = format!("{}/{version}", kind.group);
    resource.version = version.to_owned();
    let all: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &resource);
    let listed = cluster.each(all.resource_url(), ListParams::default(), identity::<DynamicObject>).await?;
    Ok((resource, listed?))
}

fn api(cluster: &Cluster, api_version: &str, kind: &str, is_namespaced: bool) -> Api<DynamicObject> {
    let resource = builtin::resource(api_version, kind);
    match is_namespaced {
        true => Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &resource),
        false => Api::all_with(cluster.client.clone(), &resource),
    }
}
