//! `weir pull artifact` (CLI-ART05).

use std::path::Path;

use clap::Args;
use weir_artifact::{Limits, Untar};
use weir_oci::Reference;

use super::content::reason;
use super::login::Login;
use super::push::{REVISION, SOURCE};
use super::{bad_url, layer, required};
use crate::error::Error;
use crate::global::Global;
use crate::output::progress;

/// Number with which [`Limits::on_disk`] sets no cap but the room on the disk.
const NO_CAP: u64 = 0;

/// The artifact to pull.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Unpack an artifact into a directory
  weir pull artifact oci://ghcr.io/org/manifests/app:v0.0.1 --output ./manifests")]
pub(crate) struct Pull {
    /// Place of the artifact, oci://HOST/ORG/REPOSITORY:TAG.
    url: Option<String>,
    /// Directory for its content.
    #[arg(short, long, default_value = "", hide_default_value = true)]
    output: String,
    #[command(flatten)]
    login: Login,
}

impl Pull {
    pub(super) async fn run(self, global: &Global) -> Result<(), Error> {
        let url = required(self.url.as_ref(), "artifact URL is required")?;
        let output = Path::new(&self.output);
        let reason = match (self.output.as_str(), std::fs::metadata(output)) {
            ("", _) => return Err(Error::Flags("output path cannot be empty".to_owned())),
            (_, Ok(metadata)) if metadata.is_dir() => None,
            (_, Ok(_)) => Some("not a directory".to_owned()),
            (_, Err(error)) => Some(reason(output, &error)),
        };
        if let Some(reason) = reason {
            return Err(Error::Flags(format!("invalid output path \"{}\": {reason}", self.output)));
        }
        let reference = Reference::from_url(url).map_err(bad_url)?;
        let mut registry = self.login.open(reference.repository(), global.timeout.to_std()).await?;
        progress::action(&format!("pulling artifact from {}", url.trim_start_matches("oci://")));
        let mut pulled = layer::pull(&mut registry, &reference).await?;
        if !pulled.is_archive()? {
            return Err(Error::Artifact(format!("open {}: is a directory", self.output)));
        }
        let untar = Untar::new(Limits::on_disk(NO_CAP)).permissions();
        untar.to_directory(pulled.layer, output).map_err(|error| Error::Artifact(error.to_string()))?;
        for (key, word) in [(SOURCE, "source"), (REVISION, "revision")] {
            if let Some(value) = pulled.manifest.annotations.get(key).filter(|value| !value.is_empty()) {
                progress::success(&format!("{word} {value}"));
            }
        }
        progress::success(&format!("digest {}@{}", reference.repository(), pulled.manifest.digest));
        progress::success(&format!("artifact content extracted to {}", self.output));
        Ok(())
    }
}
