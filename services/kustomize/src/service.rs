//! Wires the service together.

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use weir_access::Secrets;
use weir_api::{Kustomization, SourceObject};
use weir_auth::Logins;
use weir_http::Profile;
use weir_kms::{KeyServers, LoginPaths};
use weir_proto::kustomize::v1::kustomizations_server::KustomizationsServer;
use weir_remote_bases::RemoteBases;
use weir_runtime::gate::{Gates, WORKLOAD_IDENTITY};
use weir_runtime::metrics::Payload;
use weir_runtime::{Cache, Cause, Environment, Index, ObjectKey, Program, Queue, Service, ServiceError};
use weir_ssa::{Notice, ObjectId, Owner};

use crate::args::{
    ADDITIVE_CEL, Args, CANCEL_HEALTH_CHECK, CONCURRENT, DIRECT_SOURCE_FETCH, DISABLE_CONFIG_WATCHERS,
    DISABLE_FAIL_FAST, EXTERNAL_ARTIFACT, GATES, GROUP_CHANGE_LOG, MIGRATE_API_VERSION, STRICT_SUBSTITUTIONS,
};
use crate::builds::Builds;
use crate::cluster::{ClusterLogins, ClusterSettings, Clusters, OwnIdentity, Trust};
use crate::fetch::{Artifacts, LocalHosts};
use crate::kustomization::{
    Keys, KustomizationReconciler, Memory, Overtaken, PruneLimit, SECRET, Settings, configs_of,
    dependencies_of, wake_by_child, wake_by_config, wake_by_confirmation, wake_by_dependency, wake_by_source,
};
use crate::metrics;
use crate::rpc::Rpc;
use crate::source::{SourceId, Sources};
use crate::variables::CONFIG_MAP;

/// Environment variables that lead artifact downloads elsewhere, for local development (KS-SRC-25).
const LOCAL_SOURCE: &str = "SOURCE_CONTROLLER_LOCALHOST";
const LOCAL_WATCHER: &str = "SOURCE_WATCHER_LOCALHOST";

/// Parses a command line of the service. It is not generic, so that the service is compiled here, once for all programs
/// that run it.
///
/// # Errors
/// When it is wrong, or asks for help or the version.
pub fn program(arguments: Vec<OsString>) -> Result<Program, clap::Error> {
    Program::parse(arguments, |args: &Args| &args.runtime, run)
}

/// Runs the service until its environment is stopped.
///
/// # Errors
/// When a flag makes no sense or the service cannot start.
pub async fn run(args: Args, env: Environment) -> Result<(), ServiceError> {
    let service =
        Service::start("kustomize-controller", &args.runtime, Some(&args.events), env, &GATES).await?;
    // Those of this shard are worked on; dependencies may belong to another one (SHA-01).
    let own: Cache<Kustomization> = service.cache_sharded().await?;
    let all: Cache<Kustomization> = service.cache().await?;
    let sources = sources(&service).await?;
    let queue: Arc<OnceLock<Queue>> = Arc::default();
    let memory = Arc::new(Memory::default());
    let logins = service.logins(&args.default_decryption_service_account)?;
    let clusters = clusters(&args, &service, &logins, Arc::clone(&queue), Arc::clone(&memory))?;
    let reconciler = KustomizationReconciler {
        settings: settings(&args, service.gates(), &service.env().runtime_namespace)?,
        client: service.client().clone(),
        kustomizations: all.clone(),
        sources: sources.clone(),
        artifacts: artifacts(&args, &service)?,
        clusters: clusters.clone(),
        memory: Arc::clone(&memory),
        announcements: Arc::default(),
        builds: builds(&args)?,
        keys: keys(&args, &service, logins),
        unnamed: metrics::unnamed(service.metrics()),
    };
    let concurrent = args.runtime.concurrent(CONCURRENT);
    let rpc = Rpc::new(reconciler.clone(), service.authorizer(), service.tasks());
    service.grpc(|server| server.add(KustomizationsServer::new(rpc)));
    let runs = service.controller("kustomization", own.clone(), reconciler, concurrent);
    let runs = queue.get_or_init(|| runs).clone();
    wake(&own, &all, &sources, &memory, &runs);
    wake_by_configs(&args, &service, &own, &memory, &runs).await?;
    let ended = service.run_until_shutdown().await;
    clusters.stopped().await;
    ended
}

fn clusters(
    args: &Args,
    service: &Service,
    logins: &Logins,
    queue: Arc<OnceLock<Queue>>,
    memory: Arc<Memory>,
) -> Result<Clusters, ServiceError> {
    let notify = move |owner: &Owner, id: &ObjectId, notice: Notice| {
        let Some(queue) = queue.get() else { return };
        let key = ObjectKey::new(owner.namespace.clone(), owner.name.clone());
        match notice {
            Notice::Status => queue.enqueue(key, Cause::Health),
            Notice::Drift if is_toolkit(id) => {}
            Notice::Drift => {
                let pause = memory.pace(&key);
                if pause.is_zero() {
                    queue.enqueue(key, Cause::Drift);
                } else {
                    queue.enqueue_after(key, Cause::Drift, pause);
                }
            }
        }
    };
    let settings = ClusterSettings {
        overridden: args.override_manager.clone(),
        default_account: args.runtime.default_service_account.clone(),
        trust: Trust { exec: args.insecure_kubeconfig_exec, tls: args.insecure_kubeconfig_tls },
    };
    let logins = logins.with_default(&args.default_kubeconfig_service_account)?;
    let is_locked =
        !settings.default_account.is_empty() && args.default_kubeconfig_service_account.is_empty();
    let own_identity = match is_locked {
        true => OwnIdentity::ForNamespace(service.env().runtime_namespace.clone()),
        false => OwnIdentity::ForAll,
    };
    let has_gate = service.gates().enabled(WORKLOAD_IDENTITY);
    let logins = ClusterLogins::new(service.client().clone(), logins, has_gate, own_identity);
    let client = service.client().clone();
    let shutdown = service.shutdown();
    let clusters = Clusters::new(client, settings, logins, shutdown, notify);
    let watching = clusters.clone();
    metrics::register(service.metrics(), move || watching.unwatched());
    Ok(clusters)
}

/// Returns true for objects of the toolkit, which the next run puts back, as Flux does. People change them on purpose: a repository
/// that `bootstrap` moves has to be read at its new place, and something that was suspended or deleted by hand is so for a while.
fn is_toolkit(id: &ObjectId) -> bool {
    id.group.ends_with(".toolkit.fluxcd.io")
}

fn settings(args: &Args, gates: &Gates, own_namespace: &str) -> Result<Settings, ServiceError> {
    let prune_limit = args.prune_limit.parse::<PruneLimit>();
    let prune_limit = prune_limit.map_err(|error| ServiceError::Other(format!("--prune-limit: {error}")))?;
    // A kind parses from any text.
    let stage = args.custom_apply_stage_kinds.iter().filter_map(|kind| kind.parse().ok());
    Ok(Settings {
        requeue_dependency: args.runtime.requeue_dependency,
        watched: (!args.runtime.watch_all_namespaces).then(|| own_namespace.to_owned()),
        no_cross_namespace_refs: args.runtime.no_cross_namespace_refs,
        has_external_artifacts: gates.enabled(EXTERNAL_ARTIFACT),
        workload_identity: gates.enabled(WORKLOAD_IDENTITY),
        adds_ready_expr: gates.enabled(ADDITIVE_CEL),
        is_strict: gates.enabled(STRICT_SUBSTITUTIONS),
        fails_fast: !gates.enabled(DISABLE_FAIL_FAST),
        concurrent_ssa: args.concurrent_ssa,
        overridden_managers: args.override_manager.clone(),
        custom_stage: stage.collect(),
        overtaken: match gates.enabled(CANCEL_HEALTH_CHECK) {
            true => Overtaken::Cancels,
            false if gates.turned_off(CANCEL_HEALTH_CHECK) => Overtaken::GoesOn,
            false => Overtaken::GivesWay,
        },
        migrates_versions: gates.enabled(MIGRATE_API_VERSION),
        groups_change_log: gates.enabled(GROUP_CHANGE_LOG),
        prune_limit,
    })
}

fn keys(args: &Args, service: &Service, logins: Logins) -> Keys {
    let (client, namespace) = (service.client(), &service.env().runtime_namespace);
    let name = args.sops_age_secret.clone();
    let paths = args.sops_vault_configmap.as_str();
    let paths = (!paths.is_empty()).then(|| LoginPaths::new(client.clone(), namespace, paths));
    Keys {
        secrets: Secrets::new(client.clone()),
        for_all: (!name.is_empty()).then(|| (namespace.clone(), name)),
        servers: KeyServers::new(logins, Profile::default(), paths),
    }
}

fn builds(args: &Args) -> Result<Builds, ServiceError> {
    let remote = (!args.no_remote_bases).then(RemoteBases::new).transpose();
    let remote = remote.map_err(|error| ServiceError::Other(error.to_string()))?;
    // The key of the service's user, which an operator mounts there, as for the git program (KS-BLD-33).
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).filter(|home| home.is_absolute());
    let remote = match home {
        Some(home) => remote.map(|remote| remote.with_ssh_folder(home.join(".ssh"))),
        None => remote,
    };
    Ok(Builds::new(remote, args.max_build_bytes))
}

fn artifacts(args: &Args, service: &Service) -> Result<Artifacts, ServiceError> {
    let stream = match args.source_grpc_addr.as_str() {
        "" => None,
        addr => Some(service.env().peers.connect(addr)?),
    };
    let host = |name| std::env::var(name).ok().filter(|host| !host.is_empty());
    let hosts = LocalHosts { source: host(LOCAL_SOURCE), watcher: host(LOCAL_WATCHER) };
    let routes = service.metrics().routes(Payload::Artifact);
    Artifacts::new(stream, hosts, args.http_retry, args.max_build_bytes, routes)
        .map_err(|error| ServiceError::Other(error.to_string()))
}

async fn sources(service: &Service) -> Result<Sources, ServiceError> {
    Ok(Sources {
        direct: service.gates().enabled(DIRECT_SOURCE_FETCH).then(|| service.client().clone()),
        git: service.cache().await?,
        oci: service.cache().await?,
        buckets: service.cache().await?,
        external: match service.gates().enabled(EXTERNAL_ARTIFACT) {
            true => Some(service.cache().await?),
            false => None,
        },
    })
}

/// Lets changes of sources, of dependencies and of children wake the Kustomizations that they concern.
fn wake(
    own: &Cache<Kustomization>,
    all: &Cache<Kustomization>,
    sources: &Sources,
    memory: &Arc<Memory>,
    queue: &Queue,
) {
    let by_source = own.index(|kustomization| [SourceId::of(kustomization)]);
    wake_by(&sources.git, &by_source, memory, queue);
    wake_by(&sources.oci, &by_source, memory, queue);
    wake_by(&sources.buckets, &by_source, memory, queue);
    if let Some(external) = &sources.external {
        wake_by(external, &by_source, memory, queue);
    }
    let by_dependency = own.index(|kustomization| dependencies_of(kustomization).collect::<Vec<_>>());
    let (units, to) = (Arc::clone(memory), queue.clone());
    all.on_change(move |change| {
        wake_by_dependency(change, &by_dependency, &units, &to);
        wake_by_child(change, &units, &to);
        wake_by_confirmation(change, &to);
    });
}

/// Lets Secrets and ConfigMaps that carry the label wake the Kustomizations that name them (KS-REC-6).
async fn wake_by_configs(
    args: &Args,
    service: &Service,
    kustomizations: &Cache<Kustomization>,
    memory: &Arc<Memory>,
    queue: &Queue,
) -> Result<(), ServiceError> {
    if service.gates().enabled(DISABLE_CONFIG_WATCHERS) {
        return Ok(());
    }
    let labels = &args.runtime.watch_configs_label_selector;
    let by_config = kustomizations.index(configs_of);
    let secrets = service.cache_metadata::<Secret>(labels).await?;
    let (named, units, to) = (by_config.clone(), Arc::clone(memory), queue.clone());
    secrets.on_change(move |change| wake_by_config(SECRET, change, &named, &units, &to));
    let config_maps = service.cache_metadata::<ConfigMap>(labels).await?;
    let (units, to) = (Arc::clone(memory), queue.clone());
    config_maps.on_change(move |change| wake_by_config(CONFIG_MAP, change, &by_config, &units, &to));
    Ok(())
}

fn wake_by<S>(
    sources: &Cache<S>,
    by_source: &Index<Kustomization, SourceId>,
    memory: &Arc<Memory>,
    queue: &Queue,
) where
    S: SourceObject + kube::Resource<DynamicType = ()>,
{
    let (named, units, to) = (by_source.clone(), Arc::clone(memory), queue.clone());
    sources.on_change(move |change| wake_by_source(change, &named, &units, &to));
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;
    use crate::kustomization::fixtures;

    fn settings_of(flags: &[&str]) -> Settings {
        let args = Args::parse_from(["kustomize-controller"].iter().chain(flags));
        let gates = Gates::parse(&GATES, &args.runtime.feature_gates.join(",")).unwrap();
        settings(&args, &gates, "flux-system").unwrap()
    }

    #[test]
    fn settings_without_flags_are_those_of_flux() {
        assert_eq!(format!("{:?}", settings_of(&[])), format!("{:?}", fixtures::settings()));
    }

    /// Each flag and gate changes its own setting, and no other.
    #[rstest]
    #[case("--requeue-dependency=7s", |it: &mut Settings| it.requeue_dependency = "7s".parse().unwrap())]
    #[case("--watch-all-namespaces=false", |it: &mut Settings| it.watched = Some("flux-system".to_owned()))]
    #[case("--no-cross-namespace-refs", |it: &mut Settings| it.no_cross_namespace_refs = true)]
    #[case("--feature-gates=ExternalArtifact=false", |it: &mut Settings| it.has_external_artifacts = false)]
    #[case("--feature-gates=ObjectLevelWorkloadIdentity=true", |it: &mut Settings| it.workload_identity = true)]
    #[case("--feature-gates=AdditiveCELDependencyCheck=true", |it: &mut Settings| it.adds_ready_expr = true)]
    #[case("--feature-gates=StrictPostBuildSubstitutions=false", |it: &mut Settings| it.is_strict = false)]
    #[case("--feature-gates=DisableFailFastBehavior=true", |it: &mut Settings| it.fails_fast = false)]
    #[case("--concurrent-ssa=9", |it: &mut Settings| it.concurrent_ssa = 9)]
    #[case("--override-manager=hand", |it: &mut Settings| it.overridden_managers = vec!["hand".to_owned()])]
    #[case("--custom-apply-stage-kinds=a.example/A,B", |it: &mut Settings|
        it.custom_stage = vec!["a.example/A".parse().unwrap(), "B".parse().unwrap()])]
    #[case("--feature-gates=CancelHealthCheckOnNewRevision=true", |it: &mut Settings| it.overtaken = Overtaken::Cancels)]
    #[case("--feature-gates=CancelHealthCheckOnNewRevision=false", |it: &mut Settings| it.overtaken = Overtaken::GoesOn)]
    #[case("--feature-gates=MigrateAPIVersion=true", |it: &mut Settings| it.migrates_versions = true)]
    #[case("--feature-gates=GroupChangeLog=true", |it: &mut Settings| it.groups_change_log = true)]
    #[case("--prune-limit=20,50%", |it: &mut Settings| it.prune_limit = "20,50%".parse().unwrap())]
    fn a_flag_changes_its_own_setting(#[case] flag: &str, #[case] change: fn(&mut Settings)) {
        let mut expected = settings_of(&[]);
        change(&mut expected);
        assert_eq!(format!("{:?}", settings_of(&[flag])), format!("{expected:?}"));
    }
}
