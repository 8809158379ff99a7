//! `weir diff artifact` (CLI-ART09). Contents are compared, not the bytes of the tarballs: no two compressors write the same.

use clap::Args;
use weir_artifact::{Limits, Untar};
use weir_oci::Reference;

use super::content::{Content, Ignored};
use super::login::Login;
use super::{bad_url, layer, required};
use crate::error::Error;
use crate::global::Global;
use crate::output::progress;

/// Number with which [`Limits::on_disk`] sets no cap but the room on the disk.
const NO_CAP: u64 = 0;

/// The artifact to compare with files.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Are the local files those of the artifact?
  weir diff artifact oci://ghcr.io/stefanprodan/manifests/podinfo:6.2.0 --path ./kustomize")]
pub(crate) struct Diff {
    /// Place of the artifact, oci://HOST/ORG/REPOSITORY:TAG.
    url: Option<String>,
    /// Directory or file to compare it with.
    #[arg(long, default_value = "", hide_default_value = true)]
    path: String,
    #[command(flatten)]
    ignored: Ignored,
    #[command(flatten)]
    login: Login,
}

impl Diff {
    /// Compares an artifact with files.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let url = required(self.url.as_ref(), "artifact URL is required")?;
        if self.path.is_empty() {
            return Err(Error::Flags("invalid path \"\"".to_owned()));
        }
        let reference = Reference::from_url(url).map_err(bad_url)?;
        let content = Content::find(&self.path, false, false)?;
        let mut registry = self.login.open(reference.repository(), global.timeout.to_std()).await?;
        let local = content
            .packed(&self.ignored)
            .map_err(|error| Error::Artifact(format!("building artifact failed: {error}")))?;
        let remote = layer::pull(&mut registry, &reference).await?.layer;
        // A layer that is no tarball has other contents than any directory.
        match Untar::new(Limits::on_disk(NO_CAP)).is_same(local, remote) {
            Ok(true) => {
                progress::success("no changes detected");
                Ok(())
            }
            Ok(false) | Err(_) => {
                Err(Error::Artifact("the remote artifact contents differs from the local one".to_owned()))
            }
        }
    }
}
