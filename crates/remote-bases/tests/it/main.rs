#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Builds with remote bases from real servers: `git http-backend`, `sshd`, and HTTP servers of this process.

mod files;
mod links;
mod repositories;
mod ssh;
mod time;

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_kustomize::{FsPath, LoadRestriction, MemoryFs, Options, build};
use weir_remote_bases::{Fetcher, RemoteBases};

const PATIENCE: Duration = Duration::from_secs(60);

fn bases() -> RemoteBases {
    RemoteBases::new().unwrap()
}

fn fetcher() -> Fetcher {
    bases().for_build(PATIENCE, CancellationToken::new())
}

/// Builds a kustomization on a thread of its own, as its callers do: the YAML, or the message.
async fn built_with(fetcher: Fetcher, kustomization: &str) -> Result<String, String> {
    let fs = MemoryFs::from_files([("kustomization.yaml", kustomization), ("secret", "local")]).unwrap();
    let options = Options {
        load_restriction: LoadRestriction::None,
        remote: Some(Arc::new(fetcher)),
        ..Options::gitops()
    };
    let build = move || build(&fs, &FsPath::root(), &options).and_then(|output| output.to_yaml());
    tokio::task::spawn_blocking(build).await.unwrap().map_err(|error| error.to_string())
}

async fn built(kustomization: &str) -> Result<String, String> {
    built_with(fetcher(), kustomization).await
}

/// Builds one resource.
async fn resource(reference: &str) -> Result<String, String> {
    built(&format!("resources: ['{reference}']\n")).await
}

fn config_map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\ndata:\n  k: {value}\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}
