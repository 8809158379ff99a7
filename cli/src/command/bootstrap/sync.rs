//! The objects that have the services apply the repository: in the repository itself, and in the cluster
//! (CLI-BST07, CLI-BST11, CLI-BST12).

use serde_json::{Value, json};
use weir_git::Error as GitError;
use weir_kustomize::FsPath;
use weir_kustomize_controller::build::resources_below;

use super::components::KUSTOMIZATION;
use super::health;
use super::plan::Plan;
use super::work_tree::WorkTree;
use crate::apply;
use crate::cluster::Cluster;
use crate::csv::Record;
use crate::error::Error;
use crate::kind::{Kind, text};
use crate::output::{manifest, progress};

/// File with the source and the Kustomization.
const FILE: &str = "gotk-sync.yaml";
/// The service that applies the repository, and its account.
const KUSTOMIZE_CONTROLLER: &str = "kustomize-controller";
/// Times that a push is tried while others push too.
const MAX_CONFLICTS: u32 = 10;

/// Commits and pushes the objects, and applies them.
pub(super) async fn reconcile(cluster: &Cluster, plan: &Plan, tree: &mut WorkTree) -> Result<(), Error> {
    check_path(cluster, plan).await?;
    let mut conflicts = 0;
    while let Err(error) = publish(plan, tree).await? {
        conflicts += 1;
        if conflicts > MAX_CONFLICTS || !matches!(error, GitError::LeaseLost { .. }) {
            return Err(Error::Bootstrap(format!("failed to push sync manifests: {error}")));
        }
        progress::waiting("git conflict detected, retrying with a fresh clone");
        *tree = WorkTree::fetch(plan).await?;
    }
    health::give_way(cluster, plan, tree).await;
    progress::action("applying sync manifests");
    apply_to(cluster, plan, tree).await?;
    progress::success("reconciled sync configuration");
    Ok(())
}

/// Applies the objects as they are in the repository.
pub(super) async fn apply_to(cluster: &Cluster, plan: &Plan, tree: &WorkTree) -> Result<(), Error> {
    apply::apply(cluster, &tree.build(&plan.folder())?, |_| {}).await
}

/// Refuses to move a cluster to another directory: what the old one holds would be deleted.
async fn check_path(cluster: &Cluster, plan: &Plan) -> Result<(), Error> {
    let Some(kind) = Kind::find("kustomization") else { return Ok(()) };
    let found = cluster.in_namespace(&plan.namespace).get_opt(kind, &plan.namespace).await?;
    let Some(found) = found else { return Ok(()) };
    let (new, old) = (&plan.path, text(&found, "/spec/path"));
    let bare = |path: &str| path.trim_start_matches("./").trim_end_matches('/').to_owned();
    if bare(new) == bare(&old) {
        return Ok(());
    }
    Err(Error::Bootstrap(format!(
        "sync path configuration (\"{new}\") would overwrite path (\"{old}\") of existing Kustomization"
    )))
}

/// Commits the objects and pushes the commit, if anything changes; the inner error is the push's.
async fn publish(plan: &Plan, tree: &mut WorkTree) -> Result<Result<(), GitError>, Error> {
    progress::action("generating sync manifests");
    let mut files = vec![(plan.file(FILE), manifests(plan)?)];
    let kustomization = plan.file(KUSTOMIZATION);
    if tree.read(&kustomization)?.is_none() {
        files.push((kustomization, kustomization_of(plan, tree)?));
    }
    progress::success("generated sync manifests");
    let Some(commit) = tree.commit(plan, "Add Flux sync manifests", files)? else {
        progress::success("sync manifests are up to date");
        return Ok(Ok(()));
    };
    let branch = &plan.flags.branch;
    progress::success(&format!("committed sync manifests to \"{branch}\" (\"{commit}\")"));
    progress::action(&format!("pushing sync manifests to \"{}\"", plan.url));
    Ok(tree.push(plan).await)
}

/// Returns the source and the Kustomization.
fn manifests(plan: &Plan) -> Result<String, Error> {
    let flags = &plan.flags;
    let name = &plan.namespace;
    let metadata = json!({ "name": name, "namespace": name });
    let mut source = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": metadata,
        "spec": {
            "interval": flags.interval.to_string(),
            "ref": { "branch": flags.branch },
            "url": plan.sync_url,
        },
    });
    if plan.has_secret() {
        manifest::set(&mut source, "/spec/secretRef", json!({ "name": flags.secret_name }));
    }
    if let Some(provider) = plan.provider {
        manifest::set(&mut source, "/spec/provider", provider);
    }
    if flags.recurse_submodules {
        manifest::set(&mut source, "/spec/recurseSubmodules", true);
    }
    let directories: Vec<_> = Record::items(&flags.sparse_checkout).cloned().collect();
    if !directories.is_empty() {
        manifest::set(&mut source, "/spec/sparseCheckout", directories);
    }
    let mut kustomization = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": metadata,
        "spec": {
            "interval": "10m0s",
            "path": plan.path,
            "prune": true,
            "sourceRef": { "kind": "GitRepository", "name": name },
        },
    });
    if has_default_account(&plan.flags.choice.objects(&plan.namespace)?) {
        manifest::set(&mut kustomization, "/spec/serviceAccountName", KUSTOMIZE_CONTROLLER);
    }
    let documents: Vec<String> =
        [source, kustomization].iter().map(manifest::document).collect::<Result<_, _>>()?;
    Ok(format!("# This manifest was generated by weir. DO NOT EDIT.\n{}", documents.concat()))
}

/// Returns true when Kustomizations act as tenants unless they name an account. The one of the repository has to name that of the
/// service then: a tenant may not install anything (TEN-01).
fn has_default_account(objects: &[Value]) -> bool {
    let is_service = |object: &&Value| {
        manifest::text(object, "/kind") == "Deployment"
            && manifest::text(object, "/metadata/name") == KUSTOMIZE_CONTROLLER
    };
    let service = objects.iter().find(is_service);
    let arguments = service.and_then(|service| service.pointer("/spec/template/spec/containers/0/args"));
    let mut arguments = arguments.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    arguments.any(|argument| argument.starts_with("--default-service-account="))
}

/// Returns a kustomization file that names all manifests of the folder, the ones to come among them.
fn kustomization_of(plan: &Plan, tree: &WorkTree) -> Result<String, Error> {
    let failed = |reason: String| Error::Bootstrap(format!("{KUSTOMIZATION} generation failed: {reason}"));
    let folder = FsPath::new(&plan.folder()).map_err(|error| failed(error.to_string()))?;
    let mut resources =
        resources_below(&tree.files()?, &folder).map_err(|error| failed(error.to_string()))?;
    if !resources.iter().any(|name| name == FILE) {
        resources.push(FILE.to_owned());
    }
    resources.sort();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": Value::from(resources),
    });
    Ok(manifest::document(&kustomization)?.trim_start_matches("---\n").to_owned())
}
