//! Starts a cluster with a node, prints its kubeconfig and registry, and holds it: `make cluster`.

use std::process::ExitCode;

use weir_testkit::{Cluster, hold};

#[tokio::main]
async fn main() -> ExitCode {
    let shown = |cluster: &Cluster| {
        format!(
            "export KUBECONFIG={}\nexport REGISTRY={}\n# node: {}\n",
            cluster.plane().kubeconfig_path().display(),
            cluster.registry_address(),
            cluster.path().display()
        )
    };
    hold(Cluster::start(), shown).await
}
