//! `weir diff`: compares what is there with what is here.

mod kustomization;

use clap::Subcommand;

use super::artifact;
use crate::error::Error;
use crate::global::Global;

/// Things to compare.
#[derive(Subcommand, Debug)]
#[command(after_help = "Examples:
  # The changes that local files would make
  weir diff kustomization apps --path clusters/prod/apps

  # Local files and an artifact
  weir diff artifact oci://ghcr.io/stefanprodan/manifests/podinfo:6.2.0 --path ./kustomize")]
pub(crate) enum Diff {
    /// Compare an artifact in a registry with local files.
    Artifact(artifact::Diff),
    /// Compare the objects of a Kustomization, built from local files, with those of the cluster.
    #[command(alias = "ks")]
    Kustomization(kustomization::Kustomization),
}

impl Diff {
    /// Compares; a difference is an error.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        match self {
            Self::Artifact(artifact) => artifact.run(global).await,
            Self::Kustomization(kustomization) => kustomization.run(global).await,
        }
    }
}
