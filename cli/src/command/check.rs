//! `weir check`: what an installation needs, and is it well (CLI-CHK01). Every finding comes with what mends it.

use clap::Args;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value;
use tokio::time::Instant;
use weir_api::PART_OF_LABEL;
use weir_kstatus::Status;

use crate::builtin;
use crate::cluster::{Cluster, LAST_LOOK};
use crate::csv::Record;
use crate::deployment::{assessed, rolled_out};
use crate::error::Error;
use crate::global::{DEFAULT_NAMESPACE, Global};
use crate::installation::Installation;
use crate::manifests::{HELM_CONTROLLER, SOURCE_WATCHER, component, warn_of_source_watcher};
use crate::output::progress;

/// Oldest Kubernetes: major and minor version.
const OLDEST: (u32, u32) = (1, 33);

/// The checks to make.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Before an installation
  weir check --pre

  # After it
  weir check")]
pub(crate) struct Check {
    /// Only what an installation needs.
    #[arg(long)]
    pre: bool,
    /// Components that have to be there.
    #[arg(long, value_name = "LIST")]
    components: Vec<Record>,
    /// More components that have to be there.
    #[arg(long, value_name = "LIST")]
    components_extra: Vec<Record>,
    /// Taken for compatibility; changes are watched, not polled.
    #[arg(long, hide = true)]
    poll_interval: Option<weir_api::Duration>,
}

impl Check {
    /// Makes the checks and prints them.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        progress::action("checking prerequisites");
        let cluster = &global.cluster().await?;
        let mut is_well = kubernetes(cluster).await?;
        if self.pre {
            return finish(is_well, "prerequisites checks passed");
        }
        is_well &= told(distribution(cluster).await)?;
        is_well &= told(self.controllers(cluster).await)?;
        // The wait for a Deployment may have taken all of the time.
        let cluster = &cluster.with_a_last_look();
        is_well &= told(definitions(cluster).await.map(|found| stored_versions(cluster, &found)))?;
        finish(is_well, "all checks passed")
    }

    async fn controllers(&self, cluster: &Cluster) -> Result<bool, Error> {
        progress::action("checking controllers");
        let api = builtin::namespaced::<Deployment>(&cluster.client, &cluster.namespace);
        let selector = format!("{PART_OF_LABEL}=flux");
        let deployments = cluster.in_time(api.list(&ListParams::default().labels(&selector))).await??.items;
        if deployments.is_empty() {
            progress::failure(&format!(
                "no controllers found in the '{}' namespace with the label selector '{selector}'",
                cluster.namespace
            ));
            hint_at(cluster, "weir install");
            return Ok(false);
        }
        let mut is_well = true;
        for deployment in &deployments {
            let settled = settled(cluster, &api, deployment).await?;
            is_well &= controller(settled.as_ref().unwrap_or(deployment), &cluster.namespace);
        }
        is_well &= self.components(cluster, &deployments);
        Ok(is_well)
    }

    /// Returns false when a component that has to be there is missing. Weir can do without Flux's helm-controller.
    fn components(&self, cluster: &Cluster, deployments: &[DynamicObject]) -> bool {
        let is_there =
            |name: &str| deployments.iter().any(|deployment| deployment.name_any() == component(name));
        let mut is_well = true;
        for name in Record::items(&self.components).chain(Record::items(&self.components_extra)) {
            match name.as_str() {
                SOURCE_WATCHER if is_there(name) => warn_of_source_watcher(),
                name if is_there(name) => {}
                HELM_CONTROLLER => progress::warning(
                    "helm-controller: deployment not found; without it, nobody works on HelmReleases",
                ),
                name => {
                    progress::failure(&format!("{name}: deployment not found"));
                    hint_at(cluster, &format!("weir install --components-extra {name}"));
                    is_well = false;
                }
            }
        }
        is_well
    }
}

impl Cluster {
    /// The same cluster, which there is time to ask once more.
    fn with_a_last_look(&self) -> Self {
        Self { deadline: self.deadline.max(Instant::now() + LAST_LOOK), ..self.clone() }
    }
}

/// Prints an error as a finding: who may not see one thing may see the others. When the time is over, so is the command.
fn told(checked: Result<bool, Error>) -> Result<bool, Error> {
    match checked {
        Err(error) if !matches!(error, Error::Deadline) => {
            progress::failure(&format!("checking failed: {error}"));
            Ok(false)
        }
        checked => checked,
    }
}

fn finish(is_well: bool, done: &str) -> Result<(), Error> {
    if is_well {
        progress::success(done);
        return Ok(());
    }
    Err(Error::Check)
}

/// Shows the command that mends what was found.
fn hint(command: &str) {
    progress::detail(&format!("  try: {command}"));
}

/// Shows a command of our own that mends what was found, with the namespace unless that is the default.
fn hint_at(cluster: &Cluster, command: &str) {
    match cluster.namespace.as_str() {
        DEFAULT_NAMESPACE => hint(command),
        namespace => hint(&format!("{command} -n {namespace}")),
    }
}

async fn kubernetes(cluster: &Cluster) -> Result<bool, Error> {
    let version = cluster.in_time(cluster.client.apiserver_version()).await?;
    let version =
        version.map_err(|error| Error::from(error).prefixed("Kubernetes API call failed"))?.git_version;
    let version = version.trim_start_matches('v');
    let (major, minor) = OLDEST;
    let needed = format!(">={major}.{minor}.0-0");
    let mut parts = version.split(['.', '-', '+']).map(|part| part.parse::<u32>().unwrap_or_default());
    if (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) < OLDEST {
        progress::failure(&format!("Kubernetes version {version} does not match {needed}"));
        return Ok(false);
    }
    progress::success(&format!("Kubernetes {version} {needed}"));
    Ok(true)
}

async fn definitions(cluster: &Cluster) -> Result<Vec<DynamicObject>, Error> {
    progress::action("checking crds");
    let api = builtin::all::<CustomResourceDefinition>(&cluster.client);
    let params = ListParams::default().labels(&format!("{PART_OF_LABEL}=flux"));
    Ok(cluster.in_time(api.list(&params)).await??.items)
}

async fn distribution(cluster: &Cluster) -> Result<bool, Error> {
    progress::action("checking version in cluster");
    let Some(found) = Installation::find(cluster).await? else {
        progress::failure(&format!(
            "checking failed: customresourcedefinitions.apiextensions.k8s.io \"{}\" not found",
            Installation::definition()
        ));
        hint_at(cluster, "weir install");
        return Ok(false);
    };
    if !found.distribution.is_empty() {
        progress::success(&format!("distribution: {}", found.distribution));
    }
    progress::success(&format!("bootstrapped: {}", found.is_bootstrapped));
    Ok(true)
}

/// Waits for a Deployment that is being rolled out; returns it as it is then.
async fn settled(
    cluster: &Cluster,
    api: &Api<DynamicObject>,
    deployment: &DynamicObject,
) -> Result<Option<DynamicObject>, Error> {
    if assessed(deployment).status != Status::InProgress {
        return Ok(None);
    }
    let name = deployment.name_any();
    progress::waiting(&format!("waiting for deployment {name}"));
    match rolled_out(cluster, &name).await {
        Ok(()) | Err(Error::Deadline) => {}
        Err(error) => return Err(error),
    }
    let last_look = tokio::time::timeout(LAST_LOOK, api.get_opt(&name)).await;
    Ok(last_look.ok().and_then(Result::ok).flatten())
}

fn controller(deployment: &DynamicObject, namespace: &str) -> bool {
    let name = deployment.name_any();
    let assessment = assessed(deployment);
    let is_ready = assessment.status == Status::Current;
    if is_ready {
        progress::success(&format!("{name}: deployment ready"));
    } else {
        progress::failure(&format!("{name}: deployment not ready: {}", assessment.message));
        hint(&format!("kubectl -n {namespace} describe deployment {name}"));
    }
    builtin::images(deployment).for_each(progress::action);
    is_ready
}

fn stored_versions(cluster: &Cluster, definitions: &[DynamicObject]) -> bool {
    if definitions.is_empty() {
        progress::failure(&format!("no crds found with the label selector '{PART_OF_LABEL}=flux'"));
        hint_at(cluster, "weir install");
        return false;
    }
    let mut is_well = true;
    for definition in definitions {
        match builtin::array(definition, "/status/storedVersions").last().and_then(Value::as_str) {
            Some(version) => progress::success(&format!("{}/{version}", definition.name_any())),
            None => {
                progress::failure(&format!("no stored versions for {}", definition.name_any()));
                is_well = false;
            }
        }
    }
    is_well
}
