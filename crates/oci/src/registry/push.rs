//! Writing: blobs in one piece each, and manifests, also those that are there already and get another tag.

use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;
use reqwest::{Method, Response, header};
use url::Url;
use weir_artifact::{Algorithm, Digest};

use super::content::Content;
use super::send::{Extra, below};
use super::{Answer, Registry, manifest_path};
use crate::error::{Error, shown};
use crate::manifest::Descriptor;

/// Media type of blobs on their way.
const BLOB: &str = "application/octet-stream";

impl Registry {
    /// Uploads a blob, unless the repository has it, and returns what a manifest says about it.
    ///
    /// # Errors
    /// When the registry does not let us.
    pub async fn push_blob(&mut self, media_type: &str, content: Bytes) -> Result<Descriptor, Error> {
        let digest = Digest::of(Algorithm::Sha256, &content);
        let descriptor = Descriptor { media_type: media_type.to_owned(), digest, size: content.len() as u64 };
        self.upload(&descriptor, Content::Bytes(content)).await?;
        Ok(descriptor)
    }

    /// Uploads a file as the blob that `descriptor` describes, unless the repository has it. It is never in memory as a whole.
    ///
    /// # Errors
    /// When the registry does not let us, or the file cannot be read to the size that is described.
    pub async fn push_file(&mut self, descriptor: &Descriptor, file: File) -> Result<(), Error> {
        self.upload(descriptor, Content::File(Arc::new(file), descriptor.size)).await
    }

    async fn upload(&mut self, descriptor: &Descriptor, content: Content) -> Result<(), Error> {
        match self.request(Method::HEAD, &format!("blobs/{}", descriptor.digest)).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        let started = self.request(Method::POST, "blobs/uploads/").await?;
        let mut place = place(&started)?;
        place.query_pairs_mut().append_pair("digest", &descriptor.digest.to_string());
        let extra = Extra { content: Some((BLOB.to_owned(), content)), ..Extra::default() };
        self.request_with(extra, Method::PUT, move |_| place.clone()).await.map(drop)
    }

    /// Uploads a manifest under a tag and returns its digest.
    ///
    /// # Errors
    /// When the registry does not let us, or lacks what the manifest names.
    pub async fn push_manifest(
        &mut self,
        tag: &str,
        media_type: &str,
        manifest: Bytes,
    ) -> Result<Digest, Error> {
        let digest = Digest::of(Algorithm::Sha256, &manifest);
        let path = format!("{}/{}", self.repository.path(), manifest_path(tag)?);
        let extra =
            Extra { content: Some((media_type.to_owned(), Content::Bytes(manifest))), ..Extra::default() };
        self.request_with(extra, Method::PUT, move |base| below(base, &path)).await?;
        Ok(digest)
    }

    /// Returns the manifest of a reference (a tag or a digest) as it is, and its media type.
    ///
    /// # Errors
    /// When there is no such manifest, it is too large, or the registry does not let us.
    pub async fn raw_manifest(&mut self, reference: &str) -> Result<(String, Bytes), Error> {
        let answer = self.request(Method::GET, &manifest_path(reference)?).await?;
        let media_type = media_type(&answer.response);
        let (_, manifest) = self.manifest_body(answer).await?;
        Ok((media_type, manifest))
    }
}

/// Returns the place to which an upload goes. The header must not send us, and our credentials, to another server.
fn place(started: &Answer) -> Result<Url, Error> {
    let named = started.response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let named = named.unwrap_or_default();
    let place = started.asked.join(named).ok().filter(|url| url.origin() == started.asked.origin());
    place.ok_or_else(|| Error::Upload { registry: shown(&started.asked), next: weir_http::shown_text(named) })
}

fn media_type(answer: &Response) -> String {
    let named = answer.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    named.unwrap_or_default().to_owned()
}
