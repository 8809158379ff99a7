//! The definitions against a real API server: what it takes, what it refuses, what it makes of old versions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod accepted;
mod installation;
mod migration;
mod refused;
mod versions;

use weir_testkit::{ControlPlane, repo_path};

/// The shared control plane with the kinds installed, and a namespace of one's own.
async fn world(prefix: &str) -> (&'static ControlPlane, String) {
    let plane = ControlPlane::shared().await.unwrap();
    plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
    let namespace = plane.unique_namespace(prefix).await.unwrap();
    (plane, namespace)
}

/// An error with all its causes.
fn full_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
