//! The manifests of the services: in the repository, and, until the repository installs them, in the cluster
//! (CLI-BST03, CLI-BST04).

use std::io::IsTerminal;

use super::helm_controller;
use super::plan::Plan;
use super::work_tree::WorkTree;
use crate::apply;
use crate::cluster::Cluster;
use crate::command::create;
use crate::error::Error;
use crate::input;
use crate::installation::Installation;
use crate::kind::{Kind, text};
use crate::manifests::{HELM_CONTROLLER, VERSION};
use crate::output::progress;

/// File with the manifests of the services.
pub(super) const FILE: &str = "gotk-components.yaml";
/// File that says what of the folder is applied.
pub(super) const KUSTOMIZATION: &str = "kustomization.yaml";

/// Commits and pushes the manifests, and applies them if nothing else does yet.
pub(super) async fn reconcile(cluster: &Cluster, plan: &Plan, tree: &mut WorkTree) -> Result<(), Error> {
    progress::action("generating component manifests");
    let before = tree.read(&plan.file(FILE))?.unwrap_or_default();
    let before = String::from_utf8_lossy(&before);
    let helm_controller = helm_controller::kept(&before)?;
    confirm_removal(&before, plan)?;
    let choice = match !helm_controller.is_empty() || Installation::has_helm_controller(cluster).await? {
        true => plan.flags.choice.beside_helm_controller(),
        false => plan.flags.choice.clone(),
    };
    let manifests = choice.yaml(&plan.namespace)? + &helm_controller;
    progress::success("generated component manifests");
    if !helm_controller.is_empty() {
        progress::success("kept Flux's helm-controller with its CRD: Weir has no helm service");
    }
    let subject = format!("Add Flux {VERSION} component manifests");
    match tree.commit(plan, &subject, vec![(plan.file(FILE), manifests)])? {
        Some(commit) => {
            let branch = &plan.flags.branch;
            progress::success(&format!("committed component manifests to \"{branch}\" (\"{commit}\")"));
            progress::action(&format!("pushing component manifests to \"{}\"", plan.url));
            let pushed = tree.push(plan).await;
            pushed.map_err(|error| Error::Bootstrap(format!("failed to push manifests: {error}")))?;
        }
        None => progress::success("component manifests are up to date"),
    }
    if !is_synced(cluster, plan).await {
        progress::action(&format!("installing components in \"{}\" namespace", plan.namespace));
        let objects = match tree.read(&plan.file(KUSTOMIZATION))? {
            // Patches of users count from the first moment.
            Some(_) => tree.build(&plan.folder())?,
            None => choice.objects(&plan.namespace)?,
        };
        apply::apply(cluster, &objects, |_| {}).await?;
        progress::success("installed components");
    }
    pull_secret(cluster, plan).await?;
    progress::success("reconciled components");
    Ok(())
}

/// Warns of components that the repository has and this run leaves out: the cluster deletes them once that is pushed. A person is asked,
/// scripts are not.
fn confirm_removal(before: &str, plan: &Plan) -> Result<(), Error> {
    let removed = removed(before, &plan.flags.choice.components());
    if removed.is_empty() {
        return Ok(());
    }
    let names = removed.join(", ");
    progress::warning(&format!(
        "{names} will be deleted, with their CRDs and all objects of these; --components-extra={} keeps them",
        removed.join(",")
    ));
    let is_person = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if plan.flags.force || !is_person || input::confirm(&format!("Delete {names}"))? {
        return Ok(());
    }
    Err(Error::Flags("bootstrap cancelled".to_owned()))
}

/// Returns the components that the header of a file of manifests names, less those that are kept.
fn removed<'a>(manifests: &'a str, kept: &[&str]) -> Vec<&'a str> {
    let is_ours = |name: &&str| name.ends_with("-controller") && *name != HELM_CONTROLLER;
    named(manifests).filter(is_ours).filter(|name| !kept.contains(name)).collect()
}

/// Returns the components that the header of a file of manifests names.
pub(super) fn named(manifests: &str) -> impl Iterator<Item = &str> {
    let names = manifests.lines().find_map(|line| line.strip_prefix("# Components: "));
    names.into_iter().flat_map(|names| names.split(',')).map(str::trim)
}

/// Returns true when the services already apply the repository; the push alone changes the installation then.
async fn is_synced(cluster: &Cluster, plan: &Plan) -> bool {
    let Some(kind) = Kind::find("kustomization") else { return false };
    let found = cluster.in_namespace(&plan.namespace).get(kind, &plan.namespace).await;
    found.is_ok_and(|object| !text(&object, "/status/lastAppliedRevision").is_empty())
}

async fn pull_secret(cluster: &Cluster, plan: &Plan) -> Result<(), Error> {
    let Some(secret) = plan.flags.choice.pull_secret()? else { return Ok(()) };
    create::apply_pull_secret(cluster, &secret).await?;
    progress::success(&format!("reconciled image pull secret {}", secret.name));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_that_are_left_out_are_found() {
        let header =
            |names: &str| format!("---\n# Flux Version: v2.9.4\n# Components: {names}\napiVersion: v1\n");
        let kept = ["source-controller", "kustomize-controller"];
        let file =
            header("source-controller,kustomize-controller,helm-controller,image-reflector-controller");
        assert_eq!(removed(&file, &kept), ["image-reflector-controller"]);
        // The source service does what Flux's has another program for.
        assert!(removed(&header("source-controller,source-watcher"), &kept).is_empty());
        assert!(removed("", &kept).is_empty());
    }
}
