//! S3: Amazon's, and that of the servers that speak its language.

pub(crate) mod directory;
mod endpoint;
pub(crate) mod listing;
mod sign;

use std::time::SystemTime;

use reqwest::{Client, Method, Request, Response, StatusCode, header};
use secrecy::SecretString;
use serde::Deserialize;

use self::endpoint::Endpoint;
use crate::error::Error;
use crate::object::Object;
use crate::page::{MAX_PAGE_BYTES, PAGE_SIZE, Page};
use crate::send::Sender;
use crate::xml;

/// The region of servers that have none.
const DEFAULT_REGION: &str = "us-east-1";
/// Bytes of the answer that names a region.
const MAX_LOCATION_BYTES: usize = 64 * 1024;

/// An S3 server.
#[derive(Debug, Clone, Default)]
pub struct S3Service {
    /// `host[:port]`.
    pub endpoint: String,
    /// The bucket's region; without one it is that of the endpoint's name, or asked of the server.
    pub region: Option<String>,
    /// True when plain HTTP is spoken.
    pub insecure: bool,
    /// Keys of the requests; without them they are anonymous.
    pub keys: Option<AccessKeys>,
}

/// Keys that requests are signed with.
#[derive(Debug, Clone)]
pub struct AccessKeys {
    /// The name of the key.
    pub id: String,
    /// The key.
    pub secret: SecretString,
    /// Session token that comes with keys that expire.
    pub session_token: Option<SecretString>,
}

/// A bucket on an S3 server.
pub(crate) struct S3 {
    sender: Sender,
    endpoint: Endpoint,
    region: Option<String>,
    keys: Option<AccessKeys>,
}

impl S3 {
    pub(crate) fn open(name: &str, service: S3Service, client: Client) -> Result<Self, Error> {
        let secrets = service
            .keys
            .iter()
            .flat_map(|keys| std::iter::once(keys.secret.clone()).chain(keys.session_token.clone()));
        let endpoint = Endpoint::new(&service.endpoint, service.insecure, name)?;
        let region = service.region.filter(|region| !region.is_empty());
        let region = region.or_else(|| endpoint.region().map(str::to_owned));
        Ok(Self { sender: Sender::new(client, secrets.collect()), endpoint, region, keys: service.keys })
    }

    /// Finds the bucket's region, if it is not known, and the bucket. A region that turns out wrong is replaced by the one that the
    /// refusal names.
    pub(crate) async fn probe(&mut self) -> Result<(), Error> {
        if self.region.is_some() {
            return self.head().await;
        }
        self.region = Some(self.location().await?);
        match self.head().await {
            Err(Error::Refused { region: Some(region), .. }) if self.region.as_ref() != Some(&region) => {
                self.region = Some(region);
                self.head().await
            }
            answer => answer,
        }
    }

    async fn head(&self) -> Result<(), Error> {
        self.sender.send(|| self.request(Method::HEAD, None, &[], None)).await.map(drop)
    }

    /// Returns the region that the server names, in its answer or its refusal. Where it names none, the next request shows if the
    /// default one is right.
    async fn location(&self) -> Result<String, Error> {
        let make = || self.sign(Request::new(Method::GET, self.endpoint.location()?), DEFAULT_REGION);
        let body = match self.sender.body("location", MAX_LOCATION_BYTES, make).await {
            Ok(body) => body,
            Err(Error::Refused { status, code, region, .. }) if is_about_region(status, &code) => {
                return Ok(region.unwrap_or_else(|| DEFAULT_REGION.to_owned()));
            }
            Err(error) => return Err(error),
        };
        region_of(&body)
    }

    pub(crate) async fn page(&self, prefix: &str, next: Option<&str>) -> Result<Page, Error> {
        let is_old = self.endpoint.is_google();
        let mut query = vec![("encoding-type", "url"), ("max-keys", PAGE_SIZE), ("prefix", prefix)];
        if !is_old {
            query.push(("list-type", "2"));
        }
        query.extend(next.map(|next| (if is_old { "marker" } else { "continuation-token" }, next)));
        let make = || self.request(Method::GET, None, &query, None);
        let body = self.sender.body("listing", MAX_PAGE_BYTES, make).await?;
        listing::read(&body, is_old)
    }

    pub(crate) async fn fetch(&self, object: &Object) -> Result<Response, Error> {
        let pin = (!object.pin.is_empty()).then_some(object.pin.as_str());
        self.sender.send(|| self.request(Method::GET, Some(&object.key), &[], pin)).await
    }

    fn request(
        &self,
        method: Method,
        key: Option<&str>,
        query: &[(&str, &str)],
        etag: Option<&str>,
    ) -> Result<Request, Error> {
        let region = self.region.as_deref().unwrap_or(DEFAULT_REGION);
        let mut request = Request::new(method, self.endpoint.url(region, key, query)?);
        if let Some(etag) = etag {
            let value = format!("\"{etag}\"").parse().map_err(|error| Error::malformed("etag", error))?;
            request.headers_mut().insert(header::IF_MATCH, value);
        }
        self.sign(request, region)
    }

    fn sign(&self, mut request: Request, region: &str) -> Result<Request, Error> {
        if let Some(keys) = &self.keys {
            sign::sign(&mut request, keys, region, SystemTime::now())?;
        }
        Ok(request)
    }
}

/// Returns the region in the answer to `GetBucketLocation`. Amazon's oldest two have other names there.
///
/// # Errors
/// When the answer is no such document.
pub fn region_of(answer: &[u8]) -> Result<String, Error> {
    #[derive(Deserialize)]
    struct Location {
        #[serde(rename = "$text", default)]
        region: String,
    }
    let Location { region } = xml::parse("location", answer)?;
    Ok(match region.as_str() {
        "" => DEFAULT_REGION.to_owned(),
        "EU" => "eu-west-1".to_owned(),
        _ => region,
    })
}

/// Returns true for a refusal that does not keep a caller from the bucket itself.
fn is_about_region(status: StatusCode, code: &str) -> bool {
    matches!(code, "AccessDenied" | "AuthorizationHeaderMalformed" | "InvalidRegion")
        || status == StatusCode::NOT_IMPLEMENTED
}
