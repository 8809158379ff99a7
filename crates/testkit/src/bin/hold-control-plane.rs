//! Starts a control plane, prints its kubeconfig, and holds it: `make cluster MODE=control-plane`.

use std::process::ExitCode;

use weir_testkit::{ControlPlane, hold};

#[tokio::main]
async fn main() -> ExitCode {
    let shown = |plane: &ControlPlane| format!("export KUBECONFIG={}\n", plane.kubeconfig_path().display());
    hold(ControlPlane::start(), shown).await
}
