//! Starts a control plane, prints its kubeconfig, and holds it until Ctrl-C: for trying things by hand.

use weir_testkit::ControlPlane;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plane = ControlPlane::start().await?;
    println!("export KUBECONFIG={}", plane.kubeconfig_path().display());
    tokio::signal::ctrl_c().await?;
    Ok(())
}
