//! `weir push artifact` (CLI-ART03).

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use jiff::Timestamp;
use serde_json::json;
use weir_artifact::{Algorithm, Hasher};
use weir_oci::{Descriptor, Reference, Registry};

use super::content::{Content, Ignored};
use super::login::Login;
use super::{bad_url, failed, layer, required};
use crate::error::Error;
use crate::given::Given;
use crate::global::Global;
use crate::output::{manifest, print, progress};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.cncf.flux.config.v1+json";
const CONTENT: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";
/// Configuration of every artifact, as Flux writes it: there is no image to configure.
const NO_IMAGE: &str = r#"{"architecture":"","created":"0001-01-01T00:00:00Z","os":"","rootfs":{"type":"layers","diff_ids":null},"config":{}}"#;
/// Annotations that say where an artifact comes from; sources and `list artifacts` show them.
pub(super) const CREATED: &str = "org.opencontainers.image.created";
pub(super) const SOURCE: &str = "org.opencontainers.image.source";
pub(super) const REVISION: &str = "org.opencontainers.image.revision";

/// The artifact to push.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Push manifests, named by the commit they come from
  weir push artifact \"oci://ghcr.io/org/config/app:$(git rev-parse --short HEAD)\" --path ./deploy \\
    --source \"$(git config --get remote.origin.url)\" --revision \"main@sha1:$(git rev-parse HEAD)\"

  # Push what another program builds
  weir build ./deploy | weir push artifact oci://ghcr.io/org/config/app:v1 -f - --source local --revision v1")]
pub(crate) struct Push {
    /// Place of the artifact, oci://HOST/ORG/REPOSITORY:TAG.
    url: Option<String>,
    /// Directory or file to push; - is standard input.
    #[arg(short = 'f', long, default_value = "", hide_default_value = true)]
    path: String,
    /// Address of the source, for example the URL of the Git repository.
    #[arg(long, default_value = "", hide_default_value = true)]
    source: String,
    /// Revision of the source, BRANCH@sha1:COMMIT or TAG@sha1:COMMIT.
    #[arg(long, default_value = "", hide_default_value = true)]
    revision: String,
    /// Annotation of the artifact; may be given several times.
    #[arg(short, long, value_name = "KEY=VALUE")]
    annotations: Vec<String>,
    /// Print the digest as a document instead of a message.
    #[arg(short, long, value_parser = formats())]
    output: Option<String>,
    /// Set the time of the artifact to 1970, so that the same files have the same digest.
    #[arg(long)]
    reproducible: bool,
    /// Put the targets of symbolic links into the artifact.
    #[arg(long)]
    resolve_symlinks: bool,
    /// Taken for compatibility.
    #[arg(long, hide = true)]
    debug: bool,
    #[command(flatten)]
    ignored: Ignored,
    #[command(flatten)]
    login: Login,
}

impl Push {
    pub(super) async fn run(mut self, global: &Global) -> Result<(), Error> {
        self.output.drop_empty();
        let url = required(self.url.as_ref(), "artifact URL is required")?;
        for (value, flag) in [(&self.source, "--source"), (&self.revision, "--revision")] {
            if value.is_empty() {
                return Err(Error::Flags(format!("{flag} is required")));
            }
        }
        if self.path.is_empty() {
            return Err(Error::Flags("invalid path \"\"".to_owned()));
        }
        let reference = Reference::from_url(url).map_err(bad_url)?;
        if reference.digest().is_some() {
            let reason = format!(
                "artifact tag parsing failed: {url} names a digest; the registry gives it, only a tag is chosen"
            );
            return Err(Error::Flags(reason));
        }
        let content = Content::find(&self.path, self.resolve_symlinks, true)?;
        let mut annotations = self.annotations()?;
        let registry = self.login.open(reference.repository(), global.timeout.to_std()).await?;
        if self.output.is_none() {
            progress::action(&format!("pushing artifact to {}", url.trim_start_matches("oci://")));
        }
        self.check_created(&mut annotations)?;
        let failed = |reason: &dyn std::fmt::Display| {
            Error::Artifact(format!("pushing artifact failed: error creating layer: {reason}"))
        };
        let mut packed = content.packed(&self.ignored).map_err(|error| failed(&error))?;
        layer::check_size(packed.metadata()?.len()).map_err(|error| failed(&error))?;
        let layer = described(&mut packed).map_err(|error| failed(&error))?;
        let digest = push(registry.for_pushes(), &reference, (&layer, packed), &annotations).await?;
        self.report(&reference, &digest)
    }

    /// The annotations of the flags, and those that every artifact has.
    fn annotations(&self) -> Result<BTreeMap<String, String>, Error> {
        let always = [(CREATED, &self.created()), (SOURCE, &self.source), (REVISION, &self.revision)];
        let mut annotations: BTreeMap<String, String> =
            always.into_iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
        for annotation in &self.annotations {
            let Some((key, value)) = annotation.split_once('=') else {
                let reason = format!("invalid annotation {annotation}, must be in the format key=value");
                return Err(Error::Flags(reason));
            };
            annotations.insert(key.to_owned(), value.to_owned());
        }
        Ok(annotations)
    }

    fn created(&self) -> String {
        let created = if self.reproducible { Timestamp::UNIX_EPOCH } else { Timestamp::now() };
        created.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// Refuses a time of the flags that is none; an empty one is the time of the push.
    fn check_created(&self, annotations: &mut BTreeMap<String, String>) -> Result<(), Error> {
        let created = annotations.entry(CREATED.to_owned()).or_default();
        if created.is_empty() {
            *created = self.created();
        } else if created.parse::<Timestamp>().is_err() {
            let layout = "2006-01-02T15:04:05Z07:00";
            return Err(Error::Artifact(format!(
                "pushing artifact failed: invalid created timestamp {created:?}: parsing time {created:?} as {layout:?}: \
                 cannot parse {created:?} as \"2006\""
            )));
        }
        Ok(())
    }

    fn report(&self, reference: &Reference, digest: &str) -> Result<(), Error> {
        let repository = reference.repository().to_string();
        let place = format!("{repository}@{digest}");
        let tag = reference.tag().unwrap_or_default();
        let document = json!({
            "url": format!("oci://{place}"), "repository": repository, "tag": tag, "digest": digest,
        });
        match self.output.as_deref() {
            Some("json") => print(&format!("{document:#}\n")),
            Some(_) => print(manifest::document(&document)?.trim_start_matches("---\n")),
            None => {
                progress::success(&format!("artifact successfully pushed to {place}"));
                Ok(())
            }
        }
    }
}

/// Reads a form of the output, which may be empty.
fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(["json", "yaml", ""].map(|form| PossibleValue::new(form).hide(form.is_empty())))
}

/// Returns the entry of a layer in the manifest.
fn described(layer: &mut File) -> io::Result<Descriptor> {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    let size = io::copy(layer, &mut hasher)?;
    Ok(Descriptor { media_type: CONTENT.to_owned(), digest: hasher.finish(), size })
}

/// Pushes layer, configuration and manifest, and returns the digest of the manifest.
async fn push(
    mut registry: Registry,
    reference: &Reference,
    (layer, content): (&Descriptor, File),
    annotations: &BTreeMap<String, String>,
) -> Result<String, Error> {
    let failed = failed("pushing artifact failed: pushing artifact failed: ");
    registry.push_file(layer, content).await.map_err(|error| match error {
        weir_oci::Error::Unreachable { .. } => {
            Error::Artifact(format!("error setting up transport: {error}"))
        }
        error => failed(error),
    })?;
    let config = registry.push_blob(CONFIG, NO_IMAGE.into()).await.map_err(&failed)?;
    let entry = |it: &Descriptor| json!({ "mediaType": it.media_type, "size": it.size, "digest": it.digest.to_string() });
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": entry(&config),
        "layers": [entry(layer)],
        "annotations": annotations,
    });
    let manifest = manifest.to_string().into_bytes();
    let pushed = registry.push_manifest(&reference.target(), MANIFEST, manifest.into()).await;
    Ok(pushed.map_err(failed)?.to_string())
}
