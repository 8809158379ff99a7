//! Wires the service together.

use crate::args::{Args, CONCURRENT, GATES, WORKLOAD_IDENTITY};
use crate::git_repository::GitReconciler;
use crate::oci_repository::OciReconciler;
use crate::secrets::Secrets;
use crate::source::Source;
use crate::storage::Storage;
use crate::verification::Verdicts;
use crate::{rpc, server};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};
use tokio::net::TcpListener;
use weir_api::{FluxObject, GitRepository, OciRepository};
use weir_artifact::{Algorithm, Store, StoreOptions};
use weir_auth::TokenCache;
use weir_git::{Git, GitConfig};
use weir_oci::Registries;
use weir_runtime::args::listen_addr;
use weir_runtime::{Cache, Environment, Service, ServiceError};

/// How often directories of objects that are gone are looked for, beside the start (SRC-STO-13).
const SWEEP: Duration = Duration::from_secs(60 * 60);
/// Blocking work (disk, hashing, compression) at a time beyond the number of processors only waits for the disk.
const STORAGE_THREADS_PER_PROCESSOR: usize = 2;

/// Runs the service until its environment is told to stop.
///
/// # Errors
/// When a flag makes no sense, the storage path is no directory, or the service cannot start.
pub async fn run(args: Args, env: Environment) -> Result<(), ServiceError> {
    let service = Service::start("source-controller", &args.runtime, Some(&args.events), env, &GATES).await?;
    let storage = open_storage(&args)?;
    let git_objects: Cache<GitRepository> = service.cache_sharded().await?;
    let oci_objects: Cache<OciRepository> = service.cache_sharded().await?;
    let concurrent = args.runtime.concurrent(CONCURRENT);
    let secrets = Secrets::new(service.client().clone());
    let workload_identity = service.gates().enabled(WORKLOAD_IDENTITY);
    let git = GitReconciler {
        git: Git::new(GitConfig { concurrency: concurrent })
            .map_err(|error| ServiceError::Other(error.to_string()))?,
        secrets: secrets.clone(),
        storage: storage.clone(),
        verdicts: Verdicts::default(),
        workload_identity,
    };
    let oci = OciReconciler {
        registries: Registries::new(),
        logins: TokenCache::new(
            args.runtime.token_cache_max_size.into(),
            args.runtime.token_cache_max_duration.to_std(),
        ),
        secrets,
        storage: storage.clone(),
        workload_identity,
    };
    service.controller("gitrepository", git_objects.clone(), git, concurrent);
    service.controller("ocirepository", oci_objects.clone(), oci, concurrent);
    rpc::serve(&service, storage.clone(), git_objects.clone(), oci_objects.clone());
    serve_artifacts(&service, &args, &storage);
    sweep(&service, storage, git_objects, oci_objects);
    service.run_until_shutdown().await
}

fn open_storage(args: &Args) -> Result<Storage, ServiceError> {
    let other = |error: String| ServiceError::Other(error);
    let algorithm: Algorithm = args.artifact_digest_algo.parse().map_err(|error| {
        other(format!("invalid value '{}' for --artifact-digest-algo: {error}", args.artifact_digest_algo))
    })?;
    let hostname = std::env::var("HOSTNAME").unwrap_or_else(|_| "localhost".to_owned());
    let options = StoreOptions {
        advertised: args.advertised(&hostname),
        algorithm,
        records: args.artifact_retention_records,
    };
    let store = Store::open(&args.storage_path, options).map_err(|error| other(error.to_string()))?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Storage::new(store, processors * STORAGE_THREADS_PER_PROCESSOR))
}

/// Serves artifacts from the moment this replica leads: only the leader's files are current (SRC-STO-14).
fn serve_artifacts(service: &Service, args: &Args, storage: &Storage) {
    let (mut leader, stop) = (service.leader(), service.shutdown());
    let (addr, root, store) = (args.storage_addr.clone(), args.storage_path.clone(), storage.store().clone());
    service.spawn_graceful(async move {
        let leads = async { leader.wait_for(|leads| *leads).await.is_ok() };
        if stop.run_until_cancelled(leads).await != Some(true) {
            return;
        }
        match listen(&addr).await {
            Ok(Some(listener)) => server::serve(listener, &root, store, stop).await,
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%error, addr, "artifacts cannot be served");
                stop.cancel();
            }
        }
    });
}

async fn listen(addr: &str) -> std::io::Result<Option<TcpListener>> {
    match listen_addr(addr).map_err(std::io::Error::other)? {
        Some(addr) => TcpListener::bind(addr).await.map(Some),
        None => Ok(None),
    }
}

/// Removes what belongs to no object, now and every hour.
fn sweep(service: &Service, storage: Storage, git: Cache<GitRepository>, oci: Cache<OciRepository>) {
    let mut leader = service.leader();
    service.spawn(async move {
        if leader.wait_for(|leads| *leads).await.is_err() {
            return;
        }
        let mut hours = tokio::time::interval(SWEEP);
        loop {
            hours.tick().await;
            git.synced().await;
            oci.synced().await;
            sweep_kind(&storage, &git).await;
            sweep_kind(&storage, &oci).await;
        }
    });
}

async fn sweep_kind<S: Source>(storage: &Storage, objects: &Cache<S>) {
    let live: BTreeSet<_> = objects.list().iter().filter_map(|object| object.location().ok()).collect();
    let store = storage.store().clone();
    let kind = <S as FluxObject>::KIND.to_lowercase();
    let swept = storage.blocking(move || store.sweep(&kind, &live, SystemTime::now())).await;
    match swept {
        Ok(Ok(0)) => {}
        Ok(Ok(count)) => tracing::info!(kind = S::KIND, count, "removed artifacts of objects that are gone"),
        Ok(Err(error)) => tracing::warn!(kind = S::KIND, %error, "storage was not swept"),
        Err(error) => tracing::warn!(kind = S::KIND, %error, "storage was not swept"),
    }
}
