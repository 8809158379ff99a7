//! Images that a node can run.

use std::path::Path;

use serde_json::Value;
use weir_image::Image;

use super::Registry;
use super::push::OCI_MANIFEST;
use crate::Error;

impl Registry {
    /// Pushes an image and returns the manifest's digest.
    ///
    /// # Errors
    /// When the registry refuses.
    pub async fn push_made_image(&self, repository: &str, tag: &str, image: &Image) -> Result<String, Error> {
        for blob in image.blobs() {
            self.push_blob(repository, blob.media_type, blob.content.to_vec()).await?;
        }
        let manifest = parse(&format!("manifest of {repository}"), image.manifest())?;
        self.push_manifest_as(repository, tag, OCI_MANIFEST, &manifest).await
    }

    /// Pushes the first image of an OCI layout and returns the manifest's digest.
    ///
    /// # Errors
    /// When the folder is no layout, or the registry refuses.
    pub async fn push_layout(&self, repository: &str, tag: &str, layout: &Path) -> Result<String, Error> {
        let index = read(&layout.join("index.json"))?;
        let manifest = read(&blob_path(layout, index.pointer("/manifests/0")))?;
        let layers = manifest.get("layers").and_then(Value::as_array).into_iter().flatten();
        for descriptor in manifest.get("config").into_iter().chain(layers) {
            let path = blob_path(layout, Some(descriptor));
            let content = std::fs::read(&path).map_err(Error::file(&path))?;
            self.push_blob(repository, text(Some(descriptor), "mediaType"), content).await?;
        }
        self.push_manifest_as(repository, tag, OCI_MANIFEST, &manifest).await
    }
}

fn blob_path(layout: &Path, descriptor: Option<&Value>) -> std::path::PathBuf {
    layout.join("blobs").join(text(descriptor, "digest").replace(':', "/"))
}

fn text<'a>(descriptor: Option<&'a Value>, field: &str) -> &'a str {
    descriptor.and_then(|it| it.get(field)).and_then(Value::as_str).unwrap_or_default()
}

fn read(path: &Path) -> Result<Value, Error> {
    let content = std::fs::read(path).map_err(Error::file(path))?;
    parse(&path.display().to_string(), &content)
}

fn parse(what: &str, content: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(content).map_err(|source| Error::NotJson { what: what.to_owned(), source })
}
