//! Puts the service together.

use std::ffi::OsString;
use std::sync::Arc;

use weir_access::Secrets;
use weir_api::{GitRepository, ImagePolicy, ImageUpdateAutomation};
use weir_git::{Git, GitConfig, SshAlgorithms};
use weir_proto::image::v1::automation_server::AutomationServer;
use weir_runtime::gate::WORKLOAD_IDENTITY;
use weir_runtime::metrics::Payload;
use weir_runtime::{
    Cache, Cause, Change, Environment, ObjectKey, Program, Queue, Service, ServiceError, condition,
};

use crate::{
    args::{self, Args},
    git_source,
    image_update_automation::{self, Automation, Settings, engine_of},
    metrics::AutomationMetrics,
    resolution::{self, Resolutions},
    rpc,
};

/// Parses a command line of the service. It is not generic, so that the service is compiled here, once for all programs
/// that run it.
///
/// # Errors
/// When it is wrong, or asks for help or the version.
pub fn program(arguments: Vec<OsString>) -> Result<Program, clap::Error> {
    Program::parse(arguments, |args: &Args| &args.runtime, run)
}

/// Runs the service until it is stopped.
///
/// # Errors
/// When a flag is refused, a port is taken or the cluster cannot be watched.
pub async fn run(args: Args, env: Environment) -> Result<(), ServiceError> {
    let service =
        Service::start("image-automation-controller", &args.runtime, Some(&args.events), env, &args::GATES)
            .await?;
    let automations: Cache<ImageUpdateAutomation> = service.cache_sharded().await?;
    let policies: Cache<ImagePolicy> = service.cache().await?;
    let repositories: Cache<GitRepository> = service.cache().await?;
    let git = git(&args)?;
    let resolutions = Resolutions::new(service.metrics().routes(Payload::Resolution));
    let automation = Arc::new(Automation {
        client: service.client().clone(),
        secrets: Secrets::new(service.client().clone()),
        git,
        logins: service.logins(&args.runtime.default_service_account)?,
        policies: policies.clone(),
        repositories: repositories.clone(),
        resolutions: resolutions.clone(),
        metrics: AutomationMetrics::new(service.metrics()),
        settings: Settings {
            no_cross_namespace_refs: args.runtime.no_cross_namespace_refs,
            workload_identity: service.gates().enabled(WORKLOAD_IDENTITY),
            force_push_branch: service.gates().enabled(args::FORCE_PUSH_BRANCH),
            all_branch_references: service.gates().enabled(args::ALL_BRANCH_REFERENCES),
        },
    });
    let concurrent = args.runtime.concurrent(args::CONCURRENT);
    let reconciler = image_update_automation::AutomationReconciler(automation.clone());
    let queue = service.controller("imageupdateautomation", automations.clone(), reconciler, concurrent);
    let by_namespace = automations.index(|automation| automation.metadata.namespace.clone());
    let wake = resolution::waker(by_namespace, queue.clone());
    wake_for_policies(&policies, wake.clone(), resolutions.clone());
    wake_for_repositories(&repositories, &automations, &queue);
    wake_for_engines(&automations, &queue);
    if !args.image_reflector_grpc_addr.is_empty() {
        let follower = resolutions.follow(&args.image_reflector_grpc_addr, service.env(), wake)?;
        service.spawn(follower);
    }
    let rpc = rpc::Rpc::new(automation, automations, service.authorizer());
    service.grpc(|server| server.add(AutomationServer::new(rpc)));
    service.run_until_shutdown().await
}

/// The Git client: as many operations at once as there are runs, with the algorithms of the flags.
fn git(args: &Args) -> Result<Git, ServiceError> {
    let other = |error: &dyn std::error::Error| ServiceError::Other(error.to_string());
    let ssh = SshAlgorithms::parse(&args.ssh_kex_algos, &args.ssh_hostkey_algos);
    let ssh = ssh.map_err(|error| other(&error))?;
    let concurrency = args.runtime.concurrent(args::CONCURRENT);
    Git::new(GitConfig { concurrency, ssh, ..GitConfig::default() }).map_err(|error| other(&error))
}

/// A new selection may concern any automation of its namespace (IU-1).
fn wake_for_policies(
    policies: &Cache<ImagePolicy>,
    wake: impl Fn(&str) + Send + Sync + 'static,
    resolutions: Resolutions,
) {
    policies.on_change(move |change: &Change<ImagePolicy>| {
        let Some(policy) = change.latest().filter(|_| is_selection(change)) else { return };
        // The first list holds what is known already.
        if change.old.is_some() {
            resolutions.watched();
        }
        wake(&ObjectKey::of(&**policy).namespace);
    });
}

/// True when a policy selects something new. One that is gone leaves nothing to write: the next run sees that, as with Flux.
fn is_selection(change: &Change<ImagePolicy>) -> bool {
    let latest = |policy: &Option<Arc<ImagePolicy>>| {
        policy.as_ref().and_then(|policy| policy.status.as_ref()?.latest_ref.clone())
    };
    let selected = latest(&change.new);
    selected.is_some() && selected != latest(&change.old)
}

/// A changed spec of a repository concerns those that name it, a new repository those that failed without it; its
/// artifacts do not matter (IU-1).
fn wake_for_repositories(
    repositories: &Cache<GitRepository>,
    automations: &Cache<ImageUpdateAutomation>,
    queue: &Queue,
) {
    let (by_repository, queue) =
        (automations.index(|automation| [git_source::repository_key(automation)]), queue.clone());
    repositories.on_change(move |change: &Change<GitRepository>| {
        let Some(new) = &change.new else { return };
        let is_changed =
            change.old.as_ref().is_some_and(|old| old.metadata.generation != new.metadata.generation);
        let mut concerned = by_repository.naming(&ObjectKey::of(&**new));
        concerned.retain(|automation| is_changed || change.old.is_none() && has_failed(automation));
        queue.wake(concerned, Cause::Config);
    });
}

/// Another language of the message's template is looked at now, as a changed spec is: the automation may be Stalled for the last one.
fn wake_for_engines(automations: &Cache<ImageUpdateAutomation>, queue: &Queue) {
    let queue = queue.clone();
    automations.on_change(move |change: &Change<ImageUpdateAutomation>| {
        let (Some(old), Some(new)) = (&change.old, &change.new) else { return };
        if engine_of(old) != engine_of(new) {
            queue.enqueue(ObjectKey::of(&**new), Cause::Spec);
        }
    });
}

fn has_failed(automation: &ImageUpdateAutomation) -> bool {
    let ready = automation.status.as_ref().and_then(|status| condition::find(&status.conditions, "Ready"));
    ready.is_some_and(|ready| ready.status == "False")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// IU-1.
    #[rstest]
    #[case::new(None, Some(Some("1")), true)]
    #[case::new_without(None, Some(None), false)]
    #[case::first(Some(None), Some(Some("1")), true)]
    #[case::moved(Some(Some("1")), Some(Some("2")), true)]
    #[case::same(Some(Some("1")), Some(Some("1")), false)]
    #[case::lost(Some(Some("1")), Some(None), false)]
    #[case::deleted(Some(Some("1")), None, false)]
    fn selections(
        #[case] old: Option<Option<&str>>,
        #[case] new: Option<Option<&str>>,
        #[case] expected: bool,
    ) {
        let policy = |tag: Option<&str>| {
            let latest = tag.map(|tag| json!({"name": "r/app", "tag": tag}));
            let policy = json!({
                "metadata": {"name": "app"},
                "spec": {"imageRepositoryRef": {"name": "app"}, "policy": {}},
                "status": {"latestRef": latest},
            });
            Arc::new(serde_json::from_value::<ImagePolicy>(policy).unwrap())
        };
        assert_eq!(is_selection(&Change { old: old.map(policy), new: new.map(policy) }), expected);
    }
}
