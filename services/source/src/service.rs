//! Wires the service together.

use crate::args::{Args, CONCURRENT, GATES, WORKLOAD_IDENTITY};
use crate::bucket::BucketReconciler;
use crate::catalog::Catalog;
use crate::git_repository::{self, GitReconciler};
use crate::helm_chart::{self, HelmChartReconciler, IndexCache};
use crate::helm_repository::{Connector, HelmRepositoryReconciler};
use crate::oci_repository::OciReconciler;
use crate::secrets::Secrets;
use crate::storage::Storage;
use crate::verification::Verdicts;
use crate::{artifact_generator, catalog, rpc, server, standby};
use tokio::net::TcpListener;
use weir_api::{FluxObject, GitRepository, HelmChart, HelmRepository};
use weir_artifact::{Algorithm, Limits, Store, StoreOptions};
use weir_auth::{LoginOptions, Logins};
use weir_bucket::Buckets;
use weir_git::{Git, GitConfig, SshAlgorithms, Stores};
use weir_http::Clients;
use weir_oci::Registries;
use weir_runtime::args::listen_addr;
use weir_runtime::{Cache, Environment, Queue, Reconciler, Service, ServiceError};

/// Blocking work (disk, hashing, compression) at a time beyond the number of processors only waits for the disk.
const STORAGE_THREADS_PER_PROCESSOR: usize = 2;

/// Folder of Git repositories beside the artifacts. It starts with a dot: the artifact server gives nothing of such.
const GIT_STORES: &str = ".git-stores";

/// Name of this client to chart repositories, which keep statistics by it.
const USER_AGENT: &str = "flux/v2";

/// Runs the service until its environment is told to stop.
///
/// # Errors
/// When a flag makes no sense, the storage path is no directory, or the service cannot start.
pub async fn run(args: Args, env: Environment) -> Result<(), ServiceError> {
    let service = Service::start("source-controller", &args.runtime, Some(&args.events), env, &GATES).await?;
    let storage = open_storage(&args)?;
    let mut catalog = Catalog::default();
    let git_objects = catalog.add(&service).await?;
    let oci_objects = catalog.add(&service).await?;
    let repositories: Cache<HelmRepository> = catalog.add(&service).await?;
    let charts: Cache<HelmChart> = catalog.add(&service).await?;
    let bucket_objects = catalog.add(&service).await?;
    let concurrent = args.runtime.concurrent(CONCURRENT);
    let secrets = Secrets::new(service.client().clone());
    let workload_identity = service.gates().enabled(WORKLOAD_IDENTITY);
    let logins = log_in(&service, &args)?;
    start_git(&service, &args, git_objects, (&secrets, &storage, &logins))?;
    let registries = Registries::new();
    let clients = Clients::new(USER_AGENT);
    let connector = Connector { clients, logins: logins.clone(), secrets: secrets.clone() };
    let helm = (connector, storage.clone(), registries.clone());
    let oci = OciReconciler {
        registries,
        logins: logins.clone(),
        secrets: secrets.clone(),
        storage: storage.clone(),
        verdicts: Verdicts::default(),
    };
    let bucket = BucketReconciler {
        buckets: Buckets::default(),
        logins,
        secrets,
        storage: storage.clone(),
        workload_identity,
    };
    control(&service, oci_objects, oci, concurrent);
    control(&service, bucket_objects, bucket, concurrent);
    let external = catalog.add_unsharded(&service).await?;
    artifact_generator::start(&service, &args, external, storage.clone()).await?;
    start_helm(&service, &args, helm, &catalog, (repositories, charts));
    rpc::serve(&service, storage.clone(), catalog.clone());
    serve_artifacts(&service, &args, &storage);
    catalog::sweep(&service, storage, catalog);
    service.run_until_shutdown().await
}

/// Adds the loop of GitRepositories, and what keeps their bare stores small.
fn start_git(
    service: &Service,
    args: &Args,
    objects: Cache<GitRepository>,
    (secrets, storage, logins): (&Secrets, &Storage, &Logins),
) -> Result<(), ServiceError> {
    let concurrent = args.runtime.concurrent(CONCURRENT);
    let stores = Stores::new(args.storage_path.join(GIT_STORES));
    let git = GitReconciler {
        stores: stores.clone(),
        git: git_client(args, concurrent)?,
        secrets: secrets.clone(),
        storage: storage.clone(),
        verdicts: Verdicts::default(),
        logins: logins.clone(),
        objects: objects.clone(),
        requeue_dependency: args.runtime.requeue_dependency.to_std(),
        workload_identity: service.gates().enabled(WORKLOAD_IDENTITY),
    };
    git_repository::sweep(service, storage.clone(), stores, objects.clone());
    let queue = control(service, objects.clone(), git, concurrent);
    git_repository::wake(&objects, &queue);
    Ok(())
}

/// Adds the loops of chart repositories and charts. The catalog is complete: charts come from several kinds.
fn start_helm(
    service: &Service,
    args: &Args,
    (connector, storage, registries): (Connector, Storage, Registries),
    catalog: &Catalog,
    (repositories, charts): (Cache<HelmRepository>, Cache<HelmChart>),
) {
    let (limits, concurrent) = (args.helm_limits(), args.runtime.concurrent(CONCURRENT));
    let indexes = IndexCache::new(args.helm_cache_max_size, args.helm_cache_ttl.to_std());
    service.metrics().register(|registry| indexes.register(registry));
    let reconciler = HelmChartReconciler {
        connector: connector.clone(),
        secrets: connector.secrets.clone(),
        verdicts: Verdicts::default(),
        registries,
        storage: storage.clone(),
        limits,
        catalog: catalog.clone(),
        repositories: repositories.clone(),
        indexes,
        requeue: args.runtime.requeue_dependency.to_std(),
    };
    let queue = control(service, charts.clone(), reconciler, concurrent);
    helm_chart::wake(catalog, &charts, &queue);
    control(service, repositories, HelmRepositoryReconciler { connector, storage, limits }, concurrent);
}

fn git_client(args: &Args, concurrency: usize) -> Result<Git, ServiceError> {
    let other = |error: String| ServiceError::Other(error);
    let ssh = SshAlgorithms::parse(&args.ssh_kex_algos, &args.ssh_hostkey_algos);
    let ssh = ssh.map_err(|error| other(error.to_string()))?;
    Git::new(GitConfig { concurrency, ssh }).map_err(|error| other(error.to_string()))
}

/// Adds the loop of a kind.
fn control<R: Reconciler>(
    service: &Service,
    objects: Cache<R::Object>,
    reconciler: R,
    concurrent: usize,
) -> Queue {
    service.controller(&R::Object::KIND.to_lowercase(), objects, reconciler, concurrent)
}

/// Logins to registries, Git servers and buckets; one set for all kinds.
fn log_in(service: &Service, args: &Args) -> Result<Logins, ServiceError> {
    let options = LoginOptions {
        workload_identity: service.gates().enabled(WORKLOAD_IDENTITY),
        default_account: args.runtime.default_service_account.clone(),
        cache_size: args.runtime.token_cache_max_size.into(),
        cache_duration: args.runtime.token_cache_max_duration.to_std(),
    };
    let logins = Logins::new(service.client().clone(), options);
    let logins = logins.map_err(|error| ServiceError::Other(error.to_string()))?;
    service.metrics().register(|registry| logins.register(registry));
    Ok(logins)
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
        step: weir_runtime::killpoint::hit,
    };
    let store = Store::open(&args.storage_path, options).map_err(|error| other(error.to_string()))?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let limits = Limits::default().unpacking(args.untar_max_size);
    Ok(Storage::new(store, limits, processors * STORAGE_THREADS_PER_PROCESSOR))
}

/// Serves artifacts from the moment this replica leads: only the leader's files are current (SRC-STO-14). A replica that
/// is known as standby listens at once, so that it is Ready (SRC-OPS-6).
fn serve_artifacts(service: &Service, args: &Args, storage: &Storage) {
    let pod = standby::pod(args.runtime.enable_leader_election);
    let is_known = pod.is_some();
    if let Some(pod) = pod {
        standby::label(service, pod);
    }
    let (mut leader, stop) = (service.leader(), service.shutdown());
    let (addr, root, store) = (args.storage_addr.clone(), args.storage_path.clone(), storage.store().clone());
    service.spawn_graceful(async move {
        let leads = async { is_known || leader.wait_for(|leads| *leads).await.is_ok() };
        if stop.run_until_cancelled(leads).await != Some(true) {
            return;
        }
        match listen(&addr).await {
            Ok(Some(listener)) => server::serve(listener, &root, store, leader, stop).await,
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
