//! Google Cloud Storage, by its JSON interface: its etags are those that Flux's revisions are made of.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Method, Request, Response};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::error::Error;
use crate::object::{Object, bare_etag};
use crate::page::{MAX_PAGE_BYTES, PAGE_SIZE, Page};
use crate::send::Sender;

/// Google's own server.
const ENDPOINT: &str = "https://storage.googleapis.com";
/// Characters that are escaped in names, which are one component each.
const IN_NAME: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Google Cloud Storage.
#[derive(Debug, Clone, Default)]
pub struct GcsService {
    /// An emulator's URL; none is Google.
    pub emulator: Option<Url>,
    /// Token of the requests; without one they are anonymous.
    pub token: Option<SecretString>,
}

/// A bucket at Google.
pub(crate) struct Gcs {
    sender: Sender,
    objects: Url,
    token: Option<SecretString>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listing {
    #[serde(default)]
    items: Vec<Item>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    name: String,
    #[serde(default)]
    etag: String,
    #[serde(default)]
    size: Option<String>,
    #[serde(default)]
    generation: Option<String>,
}

/// Reads a page.
pub(crate) fn read(body: &[u8]) -> Result<Page, Error> {
    let listing: Listing =
        serde_json::from_slice(body).map_err(|error| Error::malformed("listing", error))?;
    let objects = listing.items.into_iter().map(|item| Object {
        key: item.name,
        etag: bare_etag(&item.etag).to_owned(),
        size: item.size.and_then(|size| size.parse().ok()).unwrap_or_default(),
        pin: item.generation.unwrap_or_default(),
    });
    Ok(Page { objects: objects.collect(), next: listing.next_page_token })
}

impl Gcs {
    pub(crate) fn open(name: &str, service: GcsService, client: Client) -> Result<Self, Error> {
        if name.is_empty() {
            return Err(Error::Name { reason: "Bucket name cannot be empty" });
        }
        let base = service.emulator.as_ref().map_or(ENDPOINT, |url| url.as_str()).trim_end_matches('/');
        let objects = format!("{base}/storage/v1/b/{}/o", utf8_percent_encode(name, &IN_NAME));
        let objects = Url::parse(&objects).map_err(|error| Error::malformed("endpoint", error))?;
        let secrets = service.token.iter().cloned().collect();
        Ok(Self { sender: Sender::new(client, secrets), objects, token: service.token })
    }

    /// Lists one object: who may read the bucket's objects may not be allowed to read about the bucket.
    pub(crate) async fn probe(&self) -> Result<(), Error> {
        let make = || self.request(None, &[("maxResults", "1"), ("fields", "nextPageToken")]);
        self.sender.send(make).await.map(drop)
    }

    pub(crate) async fn page(&self, prefix: &str, next: Option<&str>) -> Result<Page, Error> {
        let fields = "items(name,etag,size,generation),nextPageToken";
        let mut query = vec![("prefix", prefix), ("maxResults", PAGE_SIZE), ("fields", fields)];
        query.extend(next.map(|next| ("pageToken", next)));
        let body = self.sender.body("listing", MAX_PAGE_BYTES, || self.request(None, &query)).await?;
        read(&body)
    }

    pub(crate) async fn fetch(&self, object: &Object) -> Result<Response, Error> {
        let mut query = vec![("alt", "media")];
        if !object.pin.is_empty() {
            query.push(("ifGenerationMatch", &object.pin));
        }
        self.sender.send(|| self.request(Some(&object.key), &query)).await
    }

    fn request(&self, key: Option<&str>, query: &[(&str, &str)]) -> Result<Request, Error> {
        let mut url = self.objects.clone();
        if let Some(key) = key {
            url.set_path(&format!("{}/{}", url.path(), utf8_percent_encode(key, &IN_NAME)));
        }
        url.query_pairs_mut().extend_pairs(query);
        let mut request = Request::new(Method::GET, url);
        if let Some(token) = &self.token {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))
                .map_err(|error| Error::malformed("token", error))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        Ok(request)
    }
}
