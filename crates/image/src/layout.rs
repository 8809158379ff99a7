use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::contents::USER;
use crate::layer::digest;
use crate::{Error, Layer};

/// Media type of an image's manifest.
pub const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// The time that images carry. A real one would make every build another.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// Everything about an image but its files.
#[derive(Debug, Clone)]
pub struct ImageSettings {
    /// The image's name, such as `source-controller`.
    pub name: String,
    /// Its tag.
    pub tag: String,
    /// Absolute path of the program that runs.
    pub entrypoint: String,
}

/// An image of one layer.
#[derive(Debug, Clone)]
pub struct Image {
    settings: ImageSettings,
    layer: Arc<Layer>,
    config: Vec<u8>,
    manifest: Vec<u8>,
}

/// Bytes that an image consists of, beside its manifest.
#[derive(Debug, Clone, Copy)]
pub struct Blob<'a> {
    /// Media type, as the manifest names it.
    pub media_type: &'static str,
    /// The bytes.
    pub content: &'a [u8],
}

impl Image {
    /// Makes an image that runs as a user without rights.
    #[must_use]
    pub fn new(settings: ImageSettings, layer: Arc<Layer>) -> Self {
        let config = json!({
            "architecture": architecture(), "os": "linux", "created": CREATED,
            "config": {
                "User": format!("{USER}:{USER}"),
                "Entrypoint": [settings.entrypoint],
                "Env": ["PATH=/usr/local/bin"],
                "WorkingDir": "/",
                "Labels": {
                    "org.opencontainers.image.title": settings.name,
                    "org.opencontainers.image.version": settings.tag,
                },
            },
            "rootfs": {"type": "layers", "diff_ids": [layer.content_digest]},
            "history": [{"created": CREATED, "created_by": "weir-images"}],
        })
        .to_string()
        .into_bytes();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST_TYPE,
            "config": descriptor(CONFIG_TYPE, &config),
            "layers": [descriptor(LAYER_TYPE, &layer.compressed)],
        })
        .to_string()
        .into_bytes();
        Self { settings, layer, config, manifest }
    }

    /// The image's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// The manifest as it is stored.
    #[must_use]
    pub fn manifest(&self) -> &[u8] {
        &self.manifest
    }

    /// Digest of the manifest, by which the image is known.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(&self.manifest)
    }

    /// Configuration and layer.
    #[must_use]
    pub fn blobs(&self) -> [Blob<'_>; 2] {
        [
            Blob { media_type: CONFIG_TYPE, content: &self.config },
            Blob { media_type: LAYER_TYPE, content: &self.layer.compressed },
        ]
    }

    /// Writes the image as an OCI layout into a folder. Blobs that an earlier layout has are linked from there, so that images
    /// which share a layer take its space once.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_layout(&self, folder: &Path, earlier: Option<&Path>) -> Result<(), Error> {
        let blobs = folder.join("blobs/sha256");
        std::fs::create_dir_all(&blobs).map_err(Error::file(&blobs))?;
        for content in self.blobs().map(|blob| blob.content).into_iter().chain([self.manifest.as_slice()]) {
            let name = digest(content).replace("sha256:", "");
            let linked = earlier.map(|it| it.join("blobs/sha256").join(&name)).filter(|it| it.is_file());
            match linked {
                Some(existing) => replace_by_link(&existing, &blobs.join(name))?,
                None => write(&blobs.join(name), content)?,
            }
        }
        write(&folder.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string().as_bytes())?;
        let mut entry = descriptor(MANIFEST_TYPE, &self.manifest);
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("platform".into(), json!({"architecture": architecture(), "os": "linux"}));
            entry.insert(
                "annotations".into(),
                json!({"org.opencontainers.image.ref.name": self.settings.tag}),
            );
        }
        let index = json!({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [entry]});
        write(&folder.join("index.json"), index.to_string().as_bytes())
    }
}

fn descriptor(media_type: &str, content: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": digest(content), "size": content.len()})
}

fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    // A blob may be linked to another layout's, which must not be written through.
    remove(path)?;
    std::fs::write(path, content).map_err(Error::file(path))
}

fn replace_by_link(existing: &Path, path: &Path) -> Result<(), Error> {
    remove(path)?;
    std::fs::hard_link(existing, path).map_err(Error::file(path))
}

fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file(path)(error)),
        _ => Ok(()),
    }
}

/// The name that images have for the processor of this machine.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
