//! `weir create tenant`: namespaces, accounts and rights (CLI-CRE12).

use clap::Command;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Map, Value, json};

use super::flag::{self, Flag, Flags, list, switch, text};
use super::metadata;
use super::recipe::UNUSED_INTERVAL;
use crate::cluster::{Cluster, FIELD_MANAGER};
use crate::error::Error;
use crate::examples;
use crate::global::Global;
use crate::output::{manifest, print, progress};

/// Label of all that belongs to a tenant.
const TENANT_LABEL: &str = "toolkit.fluxcd.io/tenant";

const FLAGS: &[Flag] = &[
    list("with-namespace", "", "Namespace of the tenant; may be given several times"),
    text("cluster-role", "", "ClusterRole of the tenant's account").or("cluster-admin"),
    text("with-service-account", "", "ServiceAccount of the tenant; without it, the tenant's name"),
    switch("skip-namespace", "", "Leave the namespaces alone: they are there"),
];

/// Names that all namespaces of a tenant have in common.
struct Names<'a> {
    tenant: &'a str,
    account: &'a str,
    role: &'a str,
}

/// The objects of a tenant in one namespace.
struct Objects {
    namespace: Option<Value>,
    account: Value,
    binding: Value,
}

pub(super) fn command() -> Command {
    flag::augment(
        examples::with(
            Command::new("tenant").about("Create or update namespaces and rights of a tenant"),
            "  # Print them, as they would be made\n  weir create tenant dev-team --with-namespace apps --cluster-role edit --export",
        ),
        &[FLAGS, UNUSED_INTERVAL],
    )
}

/// Makes or prints the objects of a tenant.
pub(super) async fn run(flags: &Flags<'_>, global: &Global) -> Result<(), Error> {
    let tenant = metadata::name(flags)?;
    // An empty role must not become the default, which may do everything.
    let Some(role) = flags.text("cluster-role") else { return required("cluster-role") };
    let namespaces = flags.list("with-namespace");
    if namespaces.is_empty() {
        return required("with-namespace");
    }
    let account = flags.text("with-service-account").unwrap_or(tenant);
    for namespace in &namespaces {
        metadata::check_name("namespace", namespace)?;
    }
    metadata::check_name("service-account name", account)?;
    let names = Names { tenant, account, role };
    let mut labels = metadata::labels(flags)?;
    labels.insert(TENANT_LABEL.to_owned(), tenant.into());
    if flags.is_on("export") {
        for namespace in namespaces {
            let Objects { namespace, account, binding } = objects(&names, namespace, flags, &labels);
            for object in namespace.into_iter().chain([account, binding]) {
                print(&manifest::document(&object)?)?;
            }
        }
        return Ok(());
    }
    let cluster = global.cluster().await?;
    for namespace in namespaces {
        apply(&cluster, namespace, objects(&names, namespace, flags, &labels)).await?;
    }
    progress::success("tenant setup completed");
    Ok(())
}

fn required<T>(flag: &str) -> Result<T, Error> {
    Err(Error::Flags(format!("{flag} is required")))
}

fn objects(names: &Names<'_>, namespace: &str, flags: &Flags<'_>, labels: &Map<String, Value>) -> Objects {
    let Names { tenant, account, role } = names;
    let rbac = "rbac.authorization.k8s.io";
    let metadata = |name: &str| json!({ "name": name, "namespace": namespace, "labels": labels });
    let namespace_object = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": namespace, "labels": labels },
    });
    Objects {
        namespace: Some(namespace_object).filter(|_| !flags.is_on("skip-namespace")),
        account: json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(account) }),
        binding: json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "RoleBinding",
            "metadata": metadata(&format!("{tenant}-reconciler")),
            "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": role },
            "subjects": [
                { "apiGroup": rbac, "kind": "User", "name": format!("gotk:{namespace}:reconciler") },
                { "kind": "ServiceAccount", "name": account, "namespace": namespace },
            ],
        }),
    }
}

async fn apply(cluster: &Cluster, namespace: &str, objects: Objects) -> Result<(), Error> {
    let name = |object: &Value| manifest::text(object, "/metadata/name").to_owned();
    let params = PatchParams::apply(FIELD_MANAGER).force();
    if let Some(object) = objects.namespace {
        progress::action(&format!("applying namespace {namespace}"));
        let api: Api<Namespace> = Api::all(cluster.client.clone());
        cluster.in_time(api.patch(namespace, &params, &Patch::Apply(object))).await??;
    }
    let account = name(&objects.account);
    progress::action(&format!("applying service account {account}"));
    let api: Api<ServiceAccount> = Api::namespaced(cluster.client.clone(), namespace);
    cluster.in_time(api.patch(&account, &params, &Patch::Apply(objects.account))).await??;
    let binding = name(&objects.binding);
    progress::action(&format!("applying role binding {binding}"));
    let api: Api<RoleBinding> = Api::namespaced(cluster.client.clone(), namespace);
    if let Some(found) = cluster.in_time(api.get_opt(&binding)).await?? {
        // The role of a binding never changes: one with another role is made anew.
        let role = serde_json::to_value(&found.role_ref).map_err(std::io::Error::from)?;
        if Some(&role) != objects.binding.get("roleRef") {
            cluster.in_time(api.delete(&binding, &DeleteParams::default())).await??;
        }
    }
    cluster.in_time(api.patch(&binding, &params, &Patch::Apply(objects.binding))).await??;
    Ok(())
}
