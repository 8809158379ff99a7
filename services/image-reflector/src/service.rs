//! Puts the service together.

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use weir_api::{ImagePolicy, ImageRepository};
use weir_oci::Registries;
use weir_proto::image::v1::reflector_server::ReflectorServer;
use weir_runtime::gate::WORKLOAD_IDENTITY;
use weir_runtime::metrics::ObjectGauge;
use weir_runtime::{
    Cache, Cause, Change, Environment, Index, ObjectKey, Program, Queue, Service, ServiceError,
};

use crate::{
    access::Accesses,
    args::{self, Args},
    feed::Feed,
    image_policy::{self, Selector, Settings},
    image_repository::Scanner,
    rpc::Rpc,
    tag_store::TagStore,
    visited::Visited,
};

/// Bytes in a KiB, the unit of the threshold's flag.
const KIB: usize = 1024;

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
/// When a flag is refused, a port is taken, or storage or cluster cannot be used.
pub async fn run(args: Args, env: Environment) -> Result<(), ServiceError> {
    let service =
        Service::start("image-reflector-controller", &args.runtime, Some(&args.events), env, &args::GATES)
            .await?;
    for (flag, advice) in args.old_flags() {
        tracing::warn!("the flag --{flag} {advice}");
    }
    let store = open_store(&args).await?;
    let repositories: Cache<ImageRepository> = service.cache_sharded().await?;
    let policies: Cache<ImagePolicy> = service.cache_sharded().await?;
    let by_repository = policies.index(|policy| [image_policy::repository_key(policy)]);
    // A policy may select from a repository of another shard.
    let all_repositories: Cache<ImageRepository> = service.cache().await?;
    let logins = service.logins(&args.runtime.default_service_account)?;
    let accesses = Arc::new(Accesses::new(service.client().clone(), logins, args.aws_autologin_for_ecr));
    let (registries, policy_queue) = (Registries::new(), Arc::new(OnceLock::new()));
    let visited = Visited::default();
    let workload_identity = service.gates().enabled(WORKLOAD_IDENTITY);
    let concurrent = args.runtime.concurrent(args::CONCURRENT);
    let scanner = Scanner {
        accesses: accesses.clone(),
        registries: registries.clone(),
        store: store.clone(),
        visited: visited.clone(),
        tags: ObjectGauge::new(
            service.metrics(),
            "weir_image_scan_tags",
            "Tags that the last scan has found",
        ),
        policies: by_repository.clone(),
        policy_queue: policy_queue.clone(),
        workload_identity,
    };
    service.controller("imagerepository", repositories.clone(), scanner, concurrent);
    let selector = Selector {
        client: service.client().clone(),
        accesses,
        registries,
        store: store.clone(),
        repositories: all_repositories.clone(),
        scanned: repositories,
        visited,
        settings: Settings {
            no_cross_namespace_refs: args.runtime.no_cross_namespace_refs,
            workload_identity,
            requeue_dependency: args.runtime.requeue_dependency.to_std(),
        },
    };
    let queue = service.controller("imagepolicy", policies.clone(), selector, concurrent);
    // Set once, here: the scanner runs later.
    let _ = policy_queue.set(queue.clone());
    wake_policies(&all_repositories, by_repository, queue);
    let feed = Feed::new(&policies);
    spawn_collector(&service, &args, store.clone(), all_repositories.clone());
    let (authorizer, shutdown) = (service.authorizer(), service.shutdown());
    let rpc = Rpc { repositories: all_repositories, policies, store, feed, authorizer, shutdown };
    service.grpc(|server| server.add(ReflectorServer::new(rpc)));
    service.run_until_shutdown().await
}

async fn open_store(args: &Args) -> Result<TagStore, ServiceError> {
    let path = args.storage_path.clone();
    let threshold =
        usize::try_from(args.storage_compression_threshold).unwrap_or(usize::MAX).saturating_mul(KIB);
    let opened = tokio::task::spawn_blocking(move || TagStore::open(&path, threshold)).await;
    let opened = opened.map_err(|error| ServiceError::Other(error.to_string()))?;
    opened.map_err(|error| ServiceError::Other(error.to_string()))
}

/// Starts the removal of tags that no repository has any more, unless it is switched off.
fn spawn_collector(service: &Service, args: &Args, store: TagStore, repositories: Cache<ImageRepository>) {
    if args.gc_interval > 0 {
        let interval = Duration::from_secs(u64::from(args.gc_interval) * 60);
        service.spawn(collect_garbage(service.leader(), store, repositories, interval));
    }
}

/// A scan with another result concerns the policies that select from it (IP-3). So do a repository that is new or gone, and the first
/// scan or refusal of one that was edited: another image may have the same tags.
fn wake_policies(
    repositories: &Cache<ImageRepository>,
    policies: Index<ImagePolicy, ObjectKey>,
    queue: Queue,
) {
    repositories.on_change(move |change: &Change<ImageRepository>| {
        let revision = |repository: &Option<Arc<ImageRepository>>| {
            let status = repository.as_ref()?.status.as_ref()?;
            status.last_scan_result.as_ref().map(|last| last.revision.clone())
        };
        // Before the first scan there is nothing that an edit could change.
        let generation = |repository: &Option<Arc<ImageRepository>>| {
            let observed = repository.as_ref()?.status.as_ref()?.observed_generation;
            Some(observed).filter(|observed| *observed > 0)
        };
        let is_news = match (&change.old, &change.new) {
            // One that has been scanned was there before this service.
            (None, new) => revision(new).is_none(),
            (Some(_), None) => true,
            (old, new) => {
                let is_edited = generation(old).is_some() && generation(old) != generation(new);
                is_edited || revision(old) != revision(new)
            }
        };
        let Some(repository) = change.latest().filter(|_| is_news) else { return };
        queue.wake(policies.naming(&ObjectKey::of(&**repository)), Cause::Dependency);
    });
}

/// Removes tags of repositories that are gone without having been finalized here (IR-29), while this replica leads.
async fn collect_garbage(
    mut leader: watch::Receiver<bool>,
    store: TagStore,
    repositories: Cache<ImageRepository>,
    interval: Duration,
) {
    if leader.wait_for(|leads| *leads).await.is_err() {
        return;
    }
    loop {
        #[expect(clippy::disallowed_methods, reason = "the garbage collector is no run")]
        tokio::time::sleep(interval).await;
        collect(&store, &repositories).await;
    }
}

/// Removes tags of repositories that are gone. While some repositories may not be seen, none of them counts as gone.
async fn collect(store: &TagStore, repositories: &Cache<ImageRepository>) {
    if !repositories.is_whole() {
        return;
    }
    let repositories = repositories.clone();
    let collected = store.blocking(move |store| store.collect_garbage(|key| repositories.knows_of(key)));
    if let Err(error) = collected.await {
        tracing::warn!(%error, "tag database not cleaned up");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tags_stay_while_repositories_may_not_be_seen() {
        let folder = tempfile::tempdir().unwrap();
        let store = TagStore::open(folder.path(), KIB).unwrap();
        let key = ObjectKey::new("apps", "web");
        store.write(&key, &["1.0".to_owned()]).unwrap();
        // Of such a kind nothing is known yet.
        collect(&store, &Cache::default()).await;
        assert_eq!(store.keys().unwrap(), [key]);
    }
}
