use std::collections::BTreeMap;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::{Method, RequestBuilder, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{PASSWORD, Registry, USER};
use crate::Error;

pub(super) const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
const FLUX_CONFIG: &str = "application/vnd.cncf.flux.config.v1+json";
const FLUX_CONTENT: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";
const IMAGE_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const IMAGE_LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// A list of a hundred thousand tags; tests push a few.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// A Flux artifact as `flux push artifact` makes it.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The content layer, usually a tar.gz.
    pub layer: Vec<u8>,
    /// The layer's media type.
    pub layer_media_type: String,
    /// Annotations of the manifest.
    pub annotations: BTreeMap<String, String>,
}

impl Artifact {
    /// An artifact of the given files, with the annotations that `flux push artifact` writes.
    ///
    /// # Errors
    /// When the files cannot be packed.
    pub fn of_files(files: &[(&str, &str)]) -> Result<Self, Error> {
        Ok(Self::of_layer(pack(files)?))
    }

    /// An artifact with any bytes as its content.
    #[must_use]
    pub fn of_layer(layer: Vec<u8>) -> Self {
        let annotations = [
            ("org.opencontainers.image.created", "2026-01-01T00:00:00Z"),
            ("org.opencontainers.image.source", "https://example.com/repo"),
            ("org.opencontainers.image.revision", "main@sha1:1111111111111111111111111111111111111111"),
        ];
        Self {
            layer,
            layer_media_type: FLUX_CONTENT.into(),
            annotations: annotations.map(|(key, value)| (key.into(), value.into())).into(),
        }
    }

    /// The same artifact with one more or another annotation.
    #[must_use]
    pub fn annotated(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }
}

#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    tags: Option<Vec<String>>,
}

impl Registry {
    /// Pushes the files as a Flux artifact and returns the manifest's digest.
    ///
    /// # Errors
    /// When the registry refuses.
    pub async fn push_artifact(
        &self,
        repository: &str,
        tag: &str,
        files: &[(&str, &str)],
    ) -> Result<String, Error> {
        self.push_artifact_with(repository, tag, Artifact::of_files(files)?).await
    }

    /// Pushes any bytes as the content layer of a Flux artifact and returns the manifest's digest.
    ///
    /// # Errors
    /// When the registry refuses.
    pub async fn push_artifact_layer(
        &self,
        repository: &str,
        tag: &str,
        layer: Vec<u8>,
    ) -> Result<String, Error> {
        self.push_artifact_with(repository, tag, Artifact::of_layer(layer)).await
    }

    /// Pushes a Flux artifact and returns the manifest's digest.
    ///
    /// # Errors
    /// When the registry refuses.
    pub async fn push_artifact_with(
        &self,
        repository: &str,
        tag: &str,
        artifact: Artifact,
    ) -> Result<String, Error> {
        let config = self.push_blob(repository, FLUX_CONFIG, b"{}".to_vec()).await?;
        let layer = self.push_blob(repository, &artifact.layer_media_type, artifact.layer).await?;
        let manifest = json!({
            "schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": [layer],
            "annotations": artifact.annotations,
        });
        self.push_manifest(repository, tag, &manifest).await
    }

    /// Pushes a container image whose content depends on its tag only, and returns the manifest's digest.
    ///
    /// # Errors
    /// When the registry refuses.
    pub async fn push_image(&self, repository: &str, tag: &str) -> Result<String, Error> {
        let layer = pack(&[("tag", tag)])?;
        let config = json!({
            "architecture": "amd64", "os": "linux", "config": {},
            "rootfs": {"type": "layers", "diff_ids": [digest(tag.as_bytes())]},
        });
        let config = self.push_blob(repository, IMAGE_CONFIG, config.to_string().into_bytes()).await?;
        let layer = self.push_blob(repository, IMAGE_LAYER, layer).await?;
        let manifest =
            json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": [layer]});
        self.push_manifest(repository, tag, &manifest).await
    }

    /// The tags of a repository; none when there is no such repository.
    ///
    /// # Errors
    /// When the registry refuses.
    pub async fn tags(&self, repository: &str) -> Result<Vec<String>, Error> {
        let what = format!("list tags of {repository}");
        let request = self.request(Method::GET, &format!("/v2/{repository}/tags/list"));
        let Some(body) = read_if_there(&what, request).await? else { return Ok(Vec::new()) };
        let tags: Tags =
            serde_json::from_slice(&body).map_err(|error| Error::NotJson { what, source: error })?;
        Ok(tags.tags.unwrap_or_default())
    }

    /// Deletes the manifest that a tag points at, and with it the tag.
    ///
    /// # Errors
    /// When the registry refuses.
    pub async fn delete(&self, repository: &str, digest: &str) -> Result<(), Error> {
        let what = format!("delete {repository}@{digest}");
        let request = self.request(Method::DELETE, &format!("/v2/{repository}/manifests/{digest}"));
        accepted(&what, request).await.map(drop)
    }

    pub(super) async fn push_blob(
        &self,
        repository: &str,
        media_type: &str,
        content: Vec<u8>,
    ) -> Result<Value, Error> {
        let what = format!("push a blob to {repository}");
        let digest = digest(&content);
        let size = content.len();
        let start = self.request(Method::POST, &format!("/v2/{repository}/blobs/uploads/"));
        let response = accepted(&what, start).await?;
        let location = response.headers().get(http::header::LOCATION).and_then(|value| value.to_str().ok());
        let location = location.unwrap_or_default().to_owned();
        let separator = if location.contains('?') { '&' } else { '?' };
        let upload = self
            .authenticated(self.client.put(format!("{location}{separator}digest={digest}")))
            .header(http::header::CONTENT_TYPE, "application/octet-stream")
            .body(content);
        accepted(&what, upload).await?;
        Ok(json!({"mediaType": media_type, "size": size, "digest": digest}))
    }

    /// Pushes a manifest as it is and returns its digest.
    ///
    /// # Errors
    /// When the registry refuses.
    pub async fn push_manifest(
        &self,
        repository: &str,
        tag: &str,
        manifest: &Value,
    ) -> Result<String, Error> {
        self.push_manifest_as(repository, tag, OCI_MANIFEST, manifest).await
    }

    /// Pushes an index of manifests that are there, each for an architecture of Linux, and returns its digest.
    ///
    /// # Errors
    /// When the registry refuses.
    pub async fn push_index(
        &self,
        repository: &str,
        tag: &str,
        manifests: &[(&str, &str)],
    ) -> Result<String, Error> {
        let mut entries = Vec::new();
        for (architecture, digest) in manifests {
            let known = self.manifest(repository, digest, OCI_MANIFEST).await?.unwrap_or_default();
            entries.push(json!({
                "mediaType": OCI_MANIFEST, "digest": digest, "size": known.len(),
                "platform": {"architecture": architecture, "os": "linux"},
            }));
        }
        let index = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries});
        self.push_manifest_as(repository, tag, OCI_INDEX, &index).await
    }

    pub(super) async fn push_manifest_as(
        &self,
        repository: &str,
        tag: &str,
        media_type: &str,
        manifest: &Value,
    ) -> Result<String, Error> {
        let what = format!("push {repository}:{tag}");
        let body = manifest.to_string();
        let digest = digest(body.as_bytes());
        let request = self
            .request(Method::PUT, &format!("/v2/{repository}/manifests/{tag}"))
            .header(http::header::CONTENT_TYPE, media_type)
            .body(body);
        accepted(&what, request).await?;
        Ok(digest)
    }

    /// A manifest as it was pushed; nothing when there is none.
    pub(super) async fn manifest(
        &self,
        repository: &str,
        tag: &str,
        media_type: &str,
    ) -> Result<Option<Vec<u8>>, Error> {
        let what = format!("read {repository}:{tag}");
        let request = self.request(Method::GET, &format!("/v2/{repository}/manifests/{tag}"));
        read_if_there(&what, request.header(http::header::ACCEPT, media_type)).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.authenticated(self.client.request(method, format!("http://{}{path}", self.address())))
    }

    fn authenticated(&self, request: RequestBuilder) -> RequestBuilder {
        if self.with_auth { request.basic_auth(USER, Some(PASSWORD)) } else { request }
    }
}

/// A tar.gz of the files, in the order given, the same bytes every time.
fn pack(files: &[(&str, &str)]) -> Result<Vec<u8>, Error> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, path, content.as_bytes()).map_err(Error::file(*path))?;
    }
    tar.into_inner().and_then(GzEncoder::finish).map_err(Error::file("artifact.tar.gz"))
}

pub(super) fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(content)))
}

/// Sends a request; a refusal is an error.
async fn accepted(what: &str, request: RequestBuilder) -> Result<Response, Error> {
    let response = request.send().await.map_err(Error::http(what))?;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status().as_u16();
    let body = read(response).await.unwrap_or_default();
    Err(Error::Status { what: what.into(), status, body: String::from_utf8_lossy(&body).into_owned() })
}

/// Sends a request for something that may not be there, and returns it.
async fn read_if_there(what: &str, request: RequestBuilder) -> Result<Option<Vec<u8>>, Error> {
    match accepted(what, request).await {
        Ok(response) => read(response).await.map(Some).map_err(Error::http(what)),
        Err(Error::Status { status: 404, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads an answer up to [`MAX_ANSWER`].
async fn read(mut response: Response) -> reqwest::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            break;
        }
    }
    Ok(body)
}
