//! `weir tag artifact` (CLI-ART06).

use clap::Args;
use weir_oci::Reference;

use super::login::Login;
use super::{bad_url, failed, required};
use crate::csv::Record;
use crate::error::Error;
use crate::global::Global;
use crate::output::progress;

/// The tags to make.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Let a tag stand for a version
  weir tag artifact oci://ghcr.io/org/manifests/app:v0.0.1 --tag latest")]
pub(crate) struct Tag {
    /// Place of the artifact, oci://HOST/ORG/REPOSITORY:TAG.
    url: Option<String>,
    /// Tag to make; may be given several times.
    #[arg(long)]
    tag: Vec<Record>,
    #[command(flatten)]
    login: Login,
}

impl Tag {
    pub(super) async fn run(self, global: &Global) -> Result<(), Error> {
        let url = required(self.url.as_ref(), "artifact name is required")?;
        if Record::items(&self.tag).next().is_none() {
            return Err(Error::Flags("--tag is required".to_owned()));
        }
        let reference = Reference::from_url(url).map_err(bad_url)?;
        let registry = self.login.open(reference.repository(), global.timeout.to_std()).await?;
        let mut registry = registry.for_pushes();
        progress::action("tagging artifact");
        let name = url.trim_start_matches("oci://");
        let found = registry.raw_manifest(&reference.target()).await;
        let found = found.map_err(failed(&format!("tagging artifact failed: fetching \"{name}\": ")));
        let (media_type, manifest) = found?;
        for tag in Record::items(&self.tag) {
            let tagged = registry.push_manifest(tag, &media_type, manifest.clone()).await;
            tagged.map_err(failed("tagging artifact failed: "))?;
            progress::success(&format!("artifact tagged as {}:{tag}", reference.repository()));
        }
        Ok(())
    }
}
