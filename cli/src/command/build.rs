//! `weir build`: prints what a directory, or a Kustomization over a directory, comes to; packs artifacts.

mod directory;
mod files;
pub(crate) mod kustomization;
pub(crate) mod remote;

use clap::{Args, Subcommand};

pub(crate) use self::directory::Directory;
pub(crate) use self::kustomization::Kustomization;
use super::artifact;
use crate::output::progress;

/// The build to run.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  # Print the resources of an overlay
  weir build clusters/prod

  # Bases may use files beside them, and resources keep their order
  weir build clusters/prod --load-restrictor none --reorder none

  # Write each resource into a file of its own
  mkdir -p rendered && weir build clusters/prod --output rendered

  # Bases may be URLs of Git repositories, and files those of HTTP servers
  weir build clusters/prod --allow-remote-bases

  # Print what the service would apply, with the local files instead of those of the source
  weir build kustomization apps --path clusters/prod/apps")]
pub(crate) struct Build {
    #[command(subcommand)]
    object: Option<Object>,
    #[command(flatten)]
    directory: Directory,
}

#[derive(Subcommand, Debug)]
enum Object {
    /// Build local files as a Kustomization of the cluster, or of a file, would be built.
    #[command(alias = "ks")]
    Kustomization(Kustomization),
    /// Pack files as an artifact.
    Artifact(artifact::Build),
}

/// Shows a warning of the build engine, as kustomize does: on stderr, before the build has come to its end.
fn show_warning(warning: &weir_kustomize::Warning) {
    progress::detail(&warning.to_string());
}

/// The inputs of a build.
pub(crate) enum Start {
    /// Nothing but files.
    Directory(Directory),
    /// Files that are packed.
    Artifact(artifact::Build),
    /// Perhaps a cluster.
    Kustomization(Kustomization),
}

impl Build {
    /// The build that the command line asks for.
    pub(crate) fn start(self) -> Start {
        match self.object {
            Some(Object::Kustomization(kustomization)) => Start::Kustomization(kustomization),
            Some(Object::Artifact(artifact)) => Start::Artifact(artifact),
            None => Start::Directory(self.directory),
        }
    }
}
