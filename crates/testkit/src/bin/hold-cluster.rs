//! Starts a cluster with a node, prints its kubeconfig and registry, and holds it until Ctrl-C: `make cluster`.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use weir_testkit::Cluster;

#[tokio::main]
async fn main() -> ExitCode {
    match hold().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn hold() -> Result<(), Box<dyn std::error::Error>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let cluster = Cluster::start().await?;
    println!("export KUBECONFIG={}", cluster.plane().kubeconfig_path().display());
    println!("export REGISTRY={}", cluster.registry_address());
    println!("# node: {}", cluster.path().display());
    eprintln!("The cluster is ready. Ctrl-C ends it; nothing of it stays.");
    tokio::select! {
        stopped = tokio::signal::ctrl_c() => stopped?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
