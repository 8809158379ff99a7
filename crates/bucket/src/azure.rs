//! Azure Blob Storage.

pub(crate) mod listing;
mod shared_key;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{AUTHORIZATION, HeaderValue, IF_MATCH};
use reqwest::{Client, Method, Request, Response};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::error::{Error, shown};
use crate::object::Object;
use crate::page::{MAX_PAGE_BYTES, PAGE_SIZE, Page};
use crate::send::Sender;

/// Version of the interface that is spoken.
const VERSION: &str = "2021-12-02";
/// Characters that are escaped in names of blobs.
const IN_PATH: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// An account of Azure Blob Storage.
#[derive(Debug, Clone)]
pub struct AzureService {
    /// The account's URL, `https://<account>.blob.core.windows.net`; its query goes along with every request.
    pub endpoint: String,
    /// Identity of the requests.
    pub access: AzureAccess,
}

/// How a container is accessed.
#[derive(Debug, Clone, Default)]
pub enum AzureAccess {
    /// By nobody in particular.
    #[default]
    Anonymous,
    /// With the account's key, in base64.
    AccountKey(SecretString),
    /// With a shared access signature: a query, with or without its `?`.
    Signature(SecretString),
    /// With a token of the identity platform.
    Token(SecretString),
}

/// A container.
pub(crate) struct Azure {
    sender: Sender,
    container: Url,
    access: Access,
}

enum Access {
    Anonymous,
    Key(shared_key::SharedKey),
    Token(SecretString),
}

impl Azure {
    pub(crate) fn open(name: &str, service: AzureService, client: Client) -> Result<Self, Error> {
        if name.is_empty() || name.contains(['/', '\\', '?', '#', '%']) || matches!(name, "." | "..") {
            return Err(Error::Name { reason: "Bucket name contains invalid characters" });
        }
        let mut container = endpoint(&service.endpoint)?;
        container.set_path(&format!("{}/{name}", container.path().trim_end_matches('/')));
        let mut secrets: Vec<SecretString> =
            container.query_pairs().map(|(_, value)| value.into_owned().into()).collect();
        let access = match service.access {
            AzureAccess::Anonymous => Access::Anonymous,
            AzureAccess::AccountKey(key) => {
                secrets.push(key.clone());
                Access::Key(shared_key::SharedKey::new(&container, &key)?)
            }
            AzureAccess::Signature(signature) => {
                let query = signature.expose_secret().trim().trim_start_matches('?');
                for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
                    container.query_pairs_mut().append_pair(&name, &value);
                    if name == "sig" {
                        secrets.push(value.into_owned().into());
                    }
                }
                Access::Anonymous
            }
            AzureAccess::Token(_) if container.scheme() != "https" => return Err(Error::PlainToken),
            AzureAccess::Token(token) => {
                secrets.push(token.clone());
                Access::Token(token)
            }
        };
        // Words like "2021-12-02" or "r" of a signature are no secrets and would make messages unreadable.
        secrets.retain(|secret| secret.expose_secret().len() > 20);
        Ok(Self { sender: Sender::new(client, secrets), container, access })
    }

    /// Lists one blob: who may read the blobs may not be allowed to read about the container.
    pub(crate) async fn probe(&self) -> Result<(), Error> {
        let query = [("restype", "container"), ("comp", "list"), ("maxresults", "1")];
        self.sender.send(|| self.request(None, &query, None)).await.map(drop)
    }

    pub(crate) async fn page(&self, prefix: &str, next: Option<&str>) -> Result<Page, Error> {
        let mut query = vec![("restype", "container"), ("comp", "list"), ("maxresults", PAGE_SIZE)];
        if !prefix.is_empty() {
            query.push(("prefix", prefix));
        }
        query.extend(next.map(|next| ("marker", next)));
        let body = self.sender.body("listing", MAX_PAGE_BYTES, || self.request(None, &query, None)).await?;
        listing::read(&body)
    }

    pub(crate) async fn fetch(&self, object: &Object) -> Result<Response, Error> {
        let pin = (!object.pin.is_empty()).then_some(object.pin.as_str());
        self.sender.send(|| self.request(Some(&object.key), &[], pin)).await
    }

    fn request(
        &self,
        key: Option<&str>,
        query: &[(&str, &str)],
        etag: Option<&str>,
    ) -> Result<Request, Error> {
        let mut url = self.container.clone();
        if let Some(key) = key {
            url.set_path(&format!("{}/{}", url.path(), utf8_percent_encode(key, &IN_PATH)));
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = Request::new(Method::GET, url);
        let headers = request.headers_mut();
        headers.insert("x-ms-version", HeaderValue::from_static(VERSION));
        if let Some(etag) = etag {
            let value = format!("\"{etag}\"").parse().map_err(|error| Error::malformed("etag", error))?;
            headers.insert(IF_MATCH, value);
        }
        let authorization = match &self.access {
            Access::Anonymous => return Ok(request),
            Access::Token(token) => format!("Bearer {}", token.expose_secret()),
            Access::Key(key) => key.sign(&mut request, jiff::Timestamp::now())?,
        };
        let mut value =
            HeaderValue::from_str(&authorization).map_err(|error| Error::malformed("credential", error))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
        Ok(request)
    }
}

fn endpoint(text: &str) -> Result<Url, Error> {
    let refuse = |reason: String| {
        // Text in front of a query or user info is no secret.
        let plain = Url::parse(text).map(|url| shown(&url));
        let endpoint = plain.unwrap_or_else(|_| text.split(['?', '@']).next().unwrap_or_default().to_owned());
        Error::Endpoint { endpoint, reason }
    };
    let url = Url::parse(text).map_err(|error| refuse(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(refuse("it must be a URL with scheme https or http".to_owned()));
    }
    Ok(url)
}
