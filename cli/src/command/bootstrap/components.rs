//! The manifests of the services: in the repository, and, until the repository installs them, in the cluster
//! (CLI-BST03, CLI-BST04).

use super::plan::Plan;
use super::work_tree::WorkTree;
use crate::apply;
use crate::cluster::Cluster;
use crate::command::create;
use crate::error::Error;
use crate::kind::{Kind, text};
use crate::manifests::VERSION;
use crate::output::progress;

/// File with the manifests of the services.
const FILE: &str = "gotk-components.yaml";
/// File that says what of the folder is applied.
pub(super) const KUSTOMIZATION: &str = "kustomization.yaml";

/// Commits and pushes the manifests, and applies them if nothing else does yet.
pub(super) async fn reconcile(cluster: &Cluster, plan: &Plan, tree: &mut WorkTree) -> Result<(), Error> {
    progress::action("generating component manifests");
    let manifests = plan.flags.choice.yaml(&plan.namespace)?;
    progress::success("generated component manifests");
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
            None => plan.flags.choice.objects(&plan.namespace)?,
        };
        apply::apply(cluster, &objects, |_| {}).await?;
        progress::success("installed components");
    }
    pull_secret(cluster, plan).await?;
    progress::success("reconciled components");
    Ok(())
}

/// Returns true when the services already apply the repository; the push alone changes the installation then.
async fn is_synced(cluster: &Cluster, plan: &Plan) -> bool {
    let Some(kind) = Kind::find("kustomization") else { return false };
    let found = cluster.in_namespace(&plan.namespace).get(kind, &plan.namespace).await;
    found.is_ok_and(|object| !text(&object, "/status/lastAppliedRevision").is_empty())
}

async fn pull_secret(cluster: &Cluster, plan: &Plan) -> Result<(), Error> {
    let choice = &plan.flags.choice;
    let (Some(name), Some(login)) = (&choice.image_pull_secret, &choice.registry_creds) else {
        return Ok(());
    };
    create::apply_pull_secret(cluster, name, &choice.registry_host(), login).await?;
    progress::success(&format!("reconciled image pull secret {name}"));
    Ok(())
}
