//! The manifests attached to a manifest: signatures, attestations. Found by the referrers API, or under a tag where a
//! registry does not have it (SRC-OCI-25).

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use oci_client::manifest::OciImageManifest;
use reqwest::{Method, Response, StatusCode, header};
use serde::Deserialize;
use weir_artifact::Digest;

use super::send::below;
use super::{Answer, Registry, link, too_large};
use crate::error::{Error, shown};
use crate::manifest::{self, Descriptor};

/// Media type of lists of manifests.
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// Pages of a list. A thousand signatures fit on one.
const MAX_PAGES: usize = 10;
/// Layers of one attached manifest. Cosign's old layout has one for each signature.
const MAX_LAYERS: usize = 100;

/// A manifest that refers to another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referrer {
    /// Type that it declares.
    pub artifact_type: String,
    /// Its digest.
    pub digest: Digest,
}

/// A layer of an attached manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its media type.
    pub media_type: String,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Content, which has its digest.
    pub content: Bytes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    #[serde(default)]
    manifests: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Entry {
    digest: String,
    artifact_type: String,
}

impl Registry {
    /// Returns the manifests that refer to a manifest, in the registry's order.
    ///
    /// # Errors
    /// When the registry does not let us or its list is malformed. A manifest that nothing refers to has an empty list.
    pub async fn referrers(&mut self, subject: &Digest) -> Result<Vec<Referrer>, Error> {
        let first = format!("{}/referrers/{subject}", self.repository.path());
        let mut answer = match self.request_at(Method::GET, move |base| below(base, &first)).await {
            Ok(answer) if is_index(&answer.response) => answer,
            Err(error) if !lacks_referrers(&error) => return Err(error),
            _ => return self.referrers_by_tag(subject).await,
        };
        let mut found = Vec::new();
        for _ in 0..MAX_PAGES {
            let next = link::next(&answer)?;
            found.extend(self.index(answer).await?);
            match next {
                Some(next) => answer = self.request_at(Method::GET, move |_| next.clone()).await?,
                None => break,
            }
        }
        Ok(found)
    }

    async fn referrers_by_tag(&mut self, subject: &Digest) -> Result<Vec<Referrer>, Error> {
        match self.request(Method::GET, &format!("manifests/{}", tag_of(subject))).await {
            Ok(answer) => self.index(answer).await,
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    async fn index(&mut self, answer: Answer) -> Result<Vec<Referrer>, Error> {
        let (url, body) = self.manifest_body(answer).await?;
        let malformed = |reason: String| {
            let url = shown(&url);
            Error::Malformed { what: "list of referrers", url, reason }.without(&self.told())
        };
        let index: Index = serde_json::from_slice(&body).map_err(|error| malformed(error.to_string()))?;
        let read = |Entry { digest, artifact_type }| {
            let digest = Digest::parse(&digest).map_err(|error| malformed(error.to_string()))?;
            Ok(Referrer { artifact_type, digest })
        };
        index.manifests.into_iter().map(read).collect()
    }

    /// The digest of the manifest where cosign kept the signatures of `subject` before its third version; nothing when
    /// there is none.
    ///
    /// # Errors
    /// When the registry does not let us.
    pub async fn cosign_signatures(&mut self, subject: &Digest) -> Result<Option<Digest>, Error> {
        match self.resolve(&format!("{}.sig", tag_of(subject))).await {
            Ok(digest) => Ok(Some(digest)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The layers of an attached manifest with their content, together of at most `limit` bytes.
    ///
    /// # Errors
    /// Fails when one of them is not there, too large, or does not have its digest.
    pub async fn attachments(&mut self, digest: &Digest, limit: u64) -> Result<Vec<Attachment>, Error> {
        let (url, body) = self.manifest_bytes(digest).await?;
        let told = self.told();
        let malformed =
            |reason: String| Error::Malformed { what: "manifest", url: shown(&url), reason }.without(&told);
        let manifest: OciImageManifest =
            serde_json::from_slice(&body).map_err(|error| malformed(error.to_string()))?;
        let mut attachments = Vec::new();
        let mut left = limit;
        for layer in manifest.layers.iter().take(MAX_LAYERS) {
            let descriptor = manifest::descriptor(layer).map_err(&malformed)?;
            let left_over = left.checked_sub(descriptor.size);
            left = left_over.ok_or_else(|| too_large("attached content", &url, limit))?;
            attachments.push(Attachment {
                content: self.whole_blob(&descriptor).await?,
                annotations: layer.annotations.clone().unwrap_or_default(),
                media_type: descriptor.media_type,
            });
        }
        Ok(attachments)
    }

    async fn whole_blob(&mut self, layer: &Descriptor) -> Result<Bytes, Error> {
        let mut blob = self.blob(layer).await?;
        let mut content = BytesMut::new();
        while let Some(chunk) = blob.next().await? {
            content.extend_from_slice(&chunk);
        }
        Ok(content.freeze())
    }
}

/// Returns the name of the tag that belongs to a manifest.
fn tag_of(subject: &Digest) -> String {
    subject.to_string().replace(':', "-")
}

fn is_index(response: &Response) -> bool {
    let media_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    media_type.is_some_and(|media_type| media_type.starts_with(INDEX))
}

/// Returns true when an answer is that of a registry that does not know the API; those disagree on how to say so.
fn lacks_referrers(error: &Error) -> bool {
    let unknown = [
        StatusCode::NOT_FOUND,
        StatusCode::BAD_REQUEST,
        StatusCode::METHOD_NOT_ALLOWED,
        StatusCode::NOT_ACCEPTABLE,
    ];
    matches!(error, Error::Refused { status, .. } if unknown.contains(status))
}
