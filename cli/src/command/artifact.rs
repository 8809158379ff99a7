//! `weir push|pull|tag|list|build|diff artifact`: artifacts in OCI registries, as Flux's command makes and reads them
//! (CLI-ART).
//!
//! ```text
//! files ──► content (ignore rules, symlinks) ──► tarball ──► push ──► registry
//! directory ◄── pull ◄── layer ◄──────────────── login (flags, docker's configuration, cloud) ──┘
//! ```

mod build;
mod content;
mod diff;
mod keychain;
mod layer;
mod list;
mod login;
mod pull;
mod push;
mod tag;

use clap::Subcommand;

pub(crate) use self::build::Build;
pub(crate) use self::diff::Diff;
use crate::error::Error;
use crate::global::Global;

/// Things to push.
#[derive(Subcommand, Debug)]
#[command(after_help = "Examples:
  # Push a directory
  weir push artifact oci://ghcr.io/org/config/app:v1 --path ./deploy --source local --revision v1")]
pub(crate) enum Push {
    /// Pack files and push them to an OCI repository.
    Artifact(push::Push),
}

/// Things to pull.
#[derive(Subcommand, Debug)]
#[command(after_help = "Examples:
  # Unpack an artifact into a directory
  weir pull artifact oci://ghcr.io/org/manifests/app:v0.0.1 --output ./manifests")]
pub(crate) enum Pull {
    /// Pull an artifact and unpack it.
    Artifact(pull::Pull),
}

/// Things to tag.
#[derive(Subcommand, Debug)]
#[command(after_help = "Examples:
  # Let a tag stand for a version
  weir tag artifact oci://ghcr.io/org/manifests/app:v0.0.1 --tag latest")]
pub(crate) enum Tag {
    /// Give an artifact more tags.
    Artifact(tag::Tag),
}

/// Things to list.
#[derive(Subcommand, Debug)]
#[command(after_help = "Examples:
  # List the artifacts of a repository
  weir list artifacts oci://ghcr.io/org/config/app")]
pub(crate) enum List {
    /// List the tags of an OCI repository with the sources of their artifacts.
    Artifacts(list::List),
}

impl Push {
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let Self::Artifact(push) = self;
        push.run(global).await
    }
}

impl Pull {
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let Self::Artifact(pull) = self;
        pull.run(global).await
    }
}

impl Tag {
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let Self::Artifact(tag) = self;
        tag.run(global).await
    }
}

impl List {
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let Self::Artifacts(list) = self;
        list.run(global).await
    }
}

/// Returns an argument without which nothing can be done.
fn required<'a>(argument: Option<&'a String>, missing: &str) -> Result<&'a str, Error> {
    argument.map(String::as_str).ok_or_else(|| Error::Flags(missing.to_owned()))
}

/// Returns an error that says before its cause what was tried.
fn failed(tried: &str) -> impl Fn(weir_oci::Error) -> Error {
    move |error| Error::Artifact(format!("{tried}{error}"))
}

/// Returns an error of a URL.
fn bad_url(error: weir_oci::ReferenceError) -> Error {
    Error::Flags(error.to_string())
}
