//! Wires the service together.

use std::ffi::OsString;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use weir_access::Secrets;
use weir_artifact::{Algorithm, PIECE_BYTES, Store, StoreOptions};
use weir_http::Clients;
use weir_oci::Registries;
use weir_runtime::args::listen_addr;
use weir_runtime::certificate::{Certificate, Protocol, TlsFiles};
use weir_runtime::{Environment, Program, Service, ServiceError, hostname};

use crate::args::{Args, GATES};
use crate::catalog::Catalog;
use crate::helm_repository::Connector;
use crate::server::{ArtifactAccess, Gate};
use crate::source::Wiring;
use crate::storage::Storage;
use crate::{artifact_generator, bucket, git_repository, helm_chart, helm_repository, oci_repository};
use crate::{rpc, server, standby, sweep};

/// Blocking work (disk, hashing, compression) at a time beyond the number of processors only waits for the disk.
const STORAGE_THREADS_PER_PROCESSOR: usize = 2;

/// Name of this client to chart repositories, which keep statistics by it.
const USER_AGENT: &str = "flux/v2";

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
/// When a flag makes no sense, the storage path is no directory, or the service cannot start.
pub async fn run(args: Args, env: Environment) -> Result<(), ServiceError> {
    args.validate()?;
    let service = Service::start("source-controller", &args.runtime, Some(&args.events), env, &GATES).await?;
    for line in args.of_no_effect(service.gates()) {
        tracing::warn!(logger = "setup", "{line}");
    }
    let wiring = Wiring {
        service: &service,
        args: &args,
        storage: open_storage(&args)?,
        secrets: Secrets::new(service.client().clone()),
        logins: service.logins(&args.runtime.default_service_account)?,
    };
    let catalog = start_kinds(&wiring).await?;
    let storage = wiring.storage;
    rpc::serve(&service, storage.clone(), catalog.clone());
    serve_artifacts(&service, &args, &storage, &catalog).await?;
    sweep::start(&service, storage, catalog);
    service.run_until_shutdown().await
}

/// Adds the loops of all kinds of sources.
async fn start_kinds(wiring: &Wiring<'_>) -> Result<Catalog, ServiceError> {
    let service = wiring.service;
    let registries = Registries::new();
    let (logins, secrets) = (wiring.logins.clone(), wiring.secrets.clone());
    let connector = Connector { clients: Clients::new(USER_AGENT), logins, secrets };
    let mut catalog = Catalog::default();
    git_repository::start(wiring, catalog.add(service).await?)?;
    oci_repository::start(wiring, catalog.add(service).await?, registries.clone());
    bucket::start(wiring, catalog.add(service).await?);
    artifact_generator::start(wiring, catalog.add_unsharded(service).await?).await?;
    let repositories = catalog.add(service).await?;
    helm_repository::start(wiring, repositories.clone(), connector.clone());
    let charts = catalog.add(service).await?;
    helm_chart::start(wiring, (charts, repositories), &catalog, connector, registries);
    Ok(catalog)
}

/// Whoever reads a large artifact has all of its pieces open (docs/adr/0014), and some systems let a process open no more
/// than a thousand files unless it asks.
fn allow_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

fn open_storage(args: &Args) -> Result<Storage, ServiceError> {
    allow_open_files();
    let other = |error: String| ServiceError::Other(error);
    let algorithm: Algorithm = args.artifact_digest_algo.parse().map_err(|error| {
        other(format!("invalid value '{}' for --artifact-digest-algo: {error}", args.artifact_digest_algo))
    })?;
    let options = StoreOptions {
        piece_bytes: PIECE_BYTES,
        advertised: args.advertised(&hostname()),
        algorithm,
        records: args.artifact_retention_records,
        step: weir_runtime::killpoint::hit,
    };
    let store = Store::open(&args.storage_path, options).map_err(|error| other(error.to_string()))?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Storage::new(store, args.limits(), processors * STORAGE_THREADS_PER_PROCESSOR))
}

/// Serves artifacts from the moment this replica leads: only the leader's files are current (SRC-STO-14). A replica that
/// is known as standby listens at once, so that it is Ready (SRC-OPS-6).
async fn serve_artifacts(
    service: &Service,
    args: &Args,
    storage: &Storage,
    catalog: &Catalog,
) -> Result<(), ServiceError> {
    let pod = standby::pod(args.runtime.enable_leader_election);
    let is_known = pod.is_some();
    if let Some(pod) = pod {
        standby::label(service, pod);
    }
    let (mut leader, stop) = (service.leader(), service.shutdown());
    let files = args.storage_tls_cert.clone().zip(args.storage_tls_key.clone());
    let certificate = files.map(|(cert, key)| Certificate::new(TlsFiles { cert, key }, Protocol::Http1));
    if let Some(certificate) = &certificate {
        certificate.check().await.map_err(|error| ServiceError::Other(error.to_string()))?;
    }
    let access =
        args.storage_authentication.then(|| ArtifactAccess::new(service.authorizer(), catalog.clone()));
    let gate = Gate { store: storage.store().clone(), leader: leader.clone(), access };
    let Some(addr) = listen_addr(&args.storage_addr)? else { return Ok(()) };
    service.spawn_essential(async move {
        let leads = async { is_known || leader.wait_for(|leads| *leads).await.is_ok() };
        if stop.run_until_cancelled(leads).await != Some(true) {
            return Ok(());
        }
        let listener = weir_runtime::bind(addr);
        let listener = listener.map_err(|source| ServiceError::Listen { what: "artifacts", addr, source })?;
        server::serve(listener, certificate, gate, stop).await;
        Ok(())
    });
    Ok(())
}
