use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Registry;
use super::push::{OCI_INDEX, OCI_MANIFEST};
use crate::{CosignSignature, Error};

const EMPTY: &str = "application/vnd.oci.empty.v1+json";

impl Registry {
    /// Pushes signatures of the layout that cosign had before its third version.
    ///
    /// # Errors
    /// When the registry refuses.
    pub async fn push_cosign(
        &self,
        repository: &str,
        subject: &str,
        signatures: &[CosignSignature],
    ) -> Result<(), Error> {
        let media_type = "application/vnd.dev.cosign.simplesigning.v1+json";
        let mut layers = Vec::new();
        for signature in signatures {
            let mut layer = self.push_blob(repository, media_type, signature.payload.clone()).await?;
            if let Some(layer) = layer.as_object_mut() {
                layer.insert("annotations".into(), json!(signature.annotations));
            }
            layers.push(layer);
        }
        let config =
            self.push_blob(repository, "application/vnd.oci.image.config.v1+json", b"{}".to_vec()).await?;
        let manifest =
            json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": layers});
        let tag = format!("{}.sig", subject.replace(':', "-"));
        self.push_manifest(repository, &tag, &manifest).await.map(drop)
    }

    /// Attaches content to a manifest, and lists it under the tag that clients read when the registry has no
    /// referrers API.
    ///
    /// # Errors
    /// When the registry refuses.
    pub async fn attach(
        &self,
        repository: &str,
        subject: &str,
        artifact_type: &str,
        media_type: &str,
        content: &[u8],
    ) -> Result<(), Error> {
        let config = self.push_blob(repository, EMPTY, b"{}".to_vec()).await?;
        let layer = self.push_blob(repository, media_type, content.to_vec()).await?;
        let manifest = json!({
            "schemaVersion": 2, "mediaType": OCI_MANIFEST, "artifactType": artifact_type, "config": config,
            "layers": [layer],
            "subject": {"mediaType": OCI_MANIFEST, "digest": subject, "size": 0},
        });
        let digest = self.push_manifest(repository, &unique_tag(&manifest), &manifest).await?;
        let entry = json!({
            "mediaType": OCI_MANIFEST, "digest": digest, "size": manifest.to_string().len(),
            "artifactType": artifact_type,
        });
        let tag = subject.replace(':', "-");
        let mut entries = self.index(repository, &tag).await?;
        entries.push(entry);
        let index = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries});
        self.push_manifest_as(repository, &tag, OCI_INDEX, &index).await.map(drop)
    }

    /// The entries of an index; none when there is no such tag.
    async fn index(&self, repository: &str, tag: &str) -> Result<Vec<Value>, Error> {
        let Some(body) = self.manifest(repository, tag, OCI_INDEX).await? else { return Ok(Vec::new()) };
        let index: BTreeMap<String, Value> = serde_json::from_slice(&body)
            .map_err(|source| Error::NotJson { what: format!("index {tag}"), source })?;
        Ok(index.get("manifests").and_then(Value::as_array).cloned().unwrap_or_default())
    }
}

fn unique_tag(manifest: &Value) -> String {
    super::push::digest(manifest.to_string().as_bytes()).replace("sha256:", "attached-")
}
