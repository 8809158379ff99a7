//! Smart HTTP(S): one GET for the list, one POST per turn of the negotiation.

use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};
use parking_lot::Mutex;
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use secrecy::ExposeSecret;
use url::Url;

use crate::credentials::Credentials;
use crate::error::{Error, without_password};
use crate::operation::Operation;

/// Bytes of one request body. Fetches send a list of ids; pushes send a pack of the few objects that automation makes.
const MAX_REQUEST_BYTES: usize = 256 << 20;
/// Bytes of an error page that go into a condition.
const MAX_DETAIL_BYTES: usize = 1024;

/// The transport of one operation.
pub(super) struct HttpTransport {
    operation: Arc<Operation>,
    /// URL of the repository, once a redirect of the list has named it; later requests go there.
    base: Arc<Mutex<Url>>,
}

impl HttpTransport {
    pub(super) fn new(operation: Arc<Operation>) -> Self {
        let mut base = operation.remote.url.clone();
        // User info travels in the credentials, never in a URL that may be redirected or logged.
        let _ = base.set_password(None);
        let _ = base.set_username("");
        Self { operation, base: Arc::new(Mutex::new(base)) }
    }
}

impl SmartSubtransport for HttpTransport {
    fn action(&self, _url: &str, service: Service) -> Result<Box<dyn SmartSubtransportStream>, git2::Error> {
        Ok(Box::new(Exchange {
            operation: Arc::clone(&self.operation),
            base: Arc::clone(&self.base),
            service,
            request: Vec::new(),
            response: None,
            chunk: Bytes::new(),
        }))
    }

    fn close(&self) -> Result<(), git2::Error> {
        Ok(())
    }
}

/// One request and its answer. libgit2 writes all of the request before it reads, so the first read sends it.
struct Exchange {
    operation: Arc<Operation>,
    base: Arc<Mutex<Url>>,
    service: Service,
    request: Vec<u8>,
    response: Option<Response>,
    chunk: Bytes,
}

impl Read for Exchange {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.response.is_none() {
            self.response = Some(self.send().map_err(|error| self.operation.fail(error))?);
        }
        while self.chunk.is_empty() {
            let Some(response) = &mut self.response else { return Ok(0) };
            let url = response.url().clone();
            let next = self
                .operation
                .wait(async { response.chunk().await.map_err(|error| failed("Get", &url, &error)) });
            match next.map_err(|error| self.operation.fail(error))? {
                Some(chunk) => self.chunk = chunk,
                None => return Ok(0),
            }
        }
        let count = self.chunk.len().min(buffer.len());
        let head = self.chunk.split_to(count);
        if let Some(target) = buffer.get_mut(..count) {
            target.copy_from_slice(&head);
        }
        Ok(count)
    }
}

impl Write for Exchange {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.request.len() + bytes.len() > MAX_REQUEST_BYTES {
            let limit = MAX_REQUEST_BYTES as u64;
            return Err(self
                .operation
                .fail(Error::Limit { what: "request to the Git server".to_owned(), limit }));
        }
        self.request.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Exchange {
    fn send(&mut self) -> Result<Response, Error> {
        let (service, lists) = match self.service {
            Service::UploadPackLs => ("git-upload-pack", true),
            Service::UploadPack => ("git-upload-pack", false),
            Service::ReceivePackLs => ("git-receive-pack", true),
            Service::ReceivePack => ("git-receive-pack", false),
        };
        let base = self.base.lock().clone();
        if lists {
            let url = below(&base, "info/refs", Some(&format!("service={service}")));
            let response = self.request("Get", Method::GET, &url, |request| request)?;
            check_type(&response, &url, &format!("application/x-{service}-advertisement"))?;
            if let Some(moved) = moved_base(response.url()) {
                *self.base.lock() = moved;
            }
            return Ok(response);
        }
        let url = below(&base, service, None);
        let body = Bytes::from(std::mem::take(&mut self.request));
        let response = self.request("Post", Method::POST, &url, |request| {
            request
                .header(header::CONTENT_TYPE, format!("application/x-{service}-request"))
                .header(header::ACCEPT, format!("application/x-{service}-result"))
                .body(body.clone())
        })?;
        check_type(&response, &url, &format!("application/x-{service}-result"))?;
        Ok(response)
    }

    fn request(
        &self,
        verb: &'static str,
        method: Method,
        url: &Url,
        finish: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, Error> {
        let client = self.operation.http.as_ref();
        let client = client.ok_or_else(|| Error::Scheme { scheme: url.scheme().to_owned() })?;
        let remote = &self.operation.remote;
        if matches!(remote.credentials, Credentials::Ssh(_) | Credentials::SshAgent(_)) {
            return Err(Error::Credentials { scheme: "http".to_owned() });
        }
        let request = |url: &Url| finish(client.request(method.clone(), url.clone()));
        let request_as = |url: &Url| {
            let is_trusted = same_origin(url, &remote.url) || weir_http::is_upgrade(&remote.url, url);
            is_trusted.then(|| authorised(request(url), &remote.credentials)).flatten()
        };
        let first = request_as(url).unwrap_or_else(|| request(url));
        let answer = self.operation.wait(async {
            // A push is sent once: the list before it has shown the address.
            let again = |url: &Url| if method == Method::GET { request_as(url) } else { None };
            let response = weir_http::send_upgraded(first, url, again).await;
            let response = response.map_err(|error| failed(verb, url, &error))?;
            match response.status() {
                status if status.is_success() => Ok(response),
                status => Err(refused(status, url, response).await),
            }
        });
        answer.map_err(|error| match error {
            Error::Deadline => Error::Late { method: verb, url: without_password(url.as_str()) },
            error => error,
        })
    }
}

/// The request with credentials, if there are any for HTTP.
fn authorised(request: RequestBuilder, credentials: &Credentials) -> Option<RequestBuilder> {
    match credentials {
        Credentials::Basic { username, password } => {
            Some(request.basic_auth(username, Some(password.expose_secret())))
        }
        Credentials::Bearer(token) => Some(request.bearer_auth(token.expose_secret())),
        Credentials::None | Credentials::Ssh(_) | Credentials::SshAgent(_) => None,
    }
}

fn same_origin(a: &Url, b: &Url) -> bool {
    a.origin() == b.origin()
}

fn failed(method: &'static str, url: &Url, error: &reqwest::Error) -> Error {
    Error::Request { method, url: without_password(url.as_str()), reason: weir_http::reason(error, url) }
}

async fn refused(status: StatusCode, url: &Url, response: Response) -> Error {
    let retry_after = weir_http::asked_wait(response.headers());
    let body = weir_http::read_capped(response, MAX_DETAIL_BYTES).await.unwrap_or_default();
    let detail = String::from_utf8_lossy(&body).trim().to_owned();
    match status {
        StatusCode::UNAUTHORIZED => Error::AuthenticationRequired { detail },
        StatusCode::FORBIDDEN => Error::AuthorizationFailed { detail },
        StatusCode::NOT_FOUND => Error::RepositoryNotFound { detail },
        status => {
            let (url, status) = (without_password(url.as_str()), status.as_u16());
            Error::UnexpectedStatus { url, status, retry_after }
        }
    }
}

fn check_type(response: &Response, url: &Url, expected: &str) -> Result<(), Error> {
    let found = response
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if found.split(';').next().is_some_and(|found| found.trim() == expected) {
        return Ok(());
    }
    Err(Error::NotSmart { url: without_password(url.as_str()), content_type: found.to_owned() })
}

fn below(base: &Url, path: &str, query: Option<&str>) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url.set_query(query);
    url
}

/// The repository's URL from the URL that finally answered with its list.
fn moved_base(answered: &Url) -> Option<Url> {
    let mut base = answered.clone();
    base.set_query(None);
    let path = answered.path().strip_suffix("/info/refs")?.to_owned();
    base.set_path(&path);
    Some(base)
}
