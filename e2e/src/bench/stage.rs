//! The cluster of a run, with the two services in it, and the servers of its sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use weir_testkit::{ControlPlane, Controller, GitServer, MemoryLimit, Registry, free_port, storage_flags};

use super::fleet::{SHARD, shard};
use crate::Usage;
use crate::installation::{Installation, NAMESPACE};

/// The two services of one project, and its name.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    /// `Weir` or `Flux`.
    pub(super) maker: &'static str,
    pub(super) source: PathBuf,
    pub(super) kustomize: PathBuf,
}

impl Programs {
    /// The name of the programs that are compared with those of others.
    pub(crate) const WEIR: &'static str = "Weir";
    /// The name of the others.
    pub(crate) const FLUX: &'static str = "Flux";
}

/// A cluster in which nothing else happens.
pub(super) struct Stage {
    // Fields drop in order: the services go before what they talk to.
    pairs: Vec<Pair>,
    pub(super) git: GitServer,
    pub(super) registry: Registry,
    pub(super) plane: ControlPlane,
}

/// The two services of one shard.
struct Pair {
    kustomize: Controller,
    source: Controller,
}

impl Stage {
    /// Starts the services of each shard, each service with so many workers.
    pub(super) async fn start(programs: &Programs, shards: usize, concurrent: usize) -> Result<Self> {
        let plane = ControlPlane::options().audit();
        let (plane, git, registry) = tokio::try_join!(plane.start(), GitServer::start(), Registry::start())?;
        Installation::with_components(&[])?.apply(&plane).await?;
        let mut pairs = Vec::new();
        for number in 0..shards {
            let mut flags = vec![format!("--concurrent={concurrent}"), "--log-level=error".to_owned()];
            if shards > 1 {
                flags.push(format!("--watch-label-selector={SHARD}={}", shard(number)));
            }
            pairs.push(Pair::start(programs, &plane, &flags).await?);
        }
        Ok(Self { pairs, git, registry, plane })
    }

    /// Process ids of the kustomize services.
    pub(super) fn kustomize(&self) -> impl Iterator<Item = u32> {
        self.pairs.iter().map(|pair| pair.kustomize.pid())
    }

    /// Process ids of the source services.
    pub(super) fn source(&self) -> impl Iterator<Item = u32> {
        self.pairs.iter().map(|pair| pair.source.pid())
    }

    /// The usage of the API server, the second of the control plane's processes.
    pub(super) fn server(&self) -> Result<Usage> {
        Usage::of(*self.plane.pids().get(1).context("no API server")?)
    }
}

impl Pair {
    async fn start(programs: &Programs, plane: &ControlPlane, flags: &[String]) -> Result<Self> {
        let mut of_source = [storage_flags()?, flags.to_vec()].concat();
        let mut of_kustomize = flags.to_vec();
        if programs.maker == Programs::WEIR {
            let (source, kustomize) = (free_port()?, free_port()?);
            let token = plane.token_file(NAMESPACE, "kustomize-controller", &["weir"]).await?;
            of_source.push(format!("--grpc-addr=127.0.0.1:{source}"));
            of_kustomize.push(format!("--grpc-addr=127.0.0.1:{kustomize}"));
            of_kustomize.push(format!("--source-grpc-addr=127.0.0.1:{source}"));
            of_kustomize.push(format!("--peer-token-file={}", token.display()));
        }
        let source =
            Controller::start(command(&programs.source, None)?, plane, NAMESPACE, &of_source).await?;
        let kustomize =
            Controller::start(command(&programs.kustomize, None)?, plane, NAMESPACE, &of_kustomize).await?;
        Ok(Self { kustomize, source })
    }
}

/// Returns the command of a controller, with the environment of its Deployment and a limit of its memory.
///
/// # Errors
/// When there is no such program.
pub(crate) fn command(program: &Path, limit: Option<&MemoryLimit>) -> Result<Command> {
    // It runs in another folder, and by the name of a link it knows which service it is.
    let path = std::path::absolute(program)?;
    path.metadata().with_context(|| format!("{} cannot be read", path.display()))?;
    let mut command = limit.map_or_else(|| Command::new(&path), |limit| limit.command(&path));
    command.env("MALLOC_ARENA_MAX", "1").env("MALLOC_TRIM_THRESHOLD_", "131072"); // docs/adr/0004
    Ok(command)
}
