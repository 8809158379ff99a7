use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use parking_lot::Mutex;
use serde_json::Value;

use crate::{Error, Identity, Proxied, Proxy, Server};

/// Bytes of a request's body.
const MAX_BODY: usize = 1 << 20;
/// Headers in which clients show tokens.
const TOKENS: [&str; 2] = ["authorization", "x-vault-token"];

/// A stand-in of a cloud: one server with the host names of the cloud's services, and a proxy that leads there. Dropping it
/// ends it.
#[derive(Debug)]
pub struct Cloud {
    requests: Arc<Mutex<Vec<String>>>,
    ca_pem: String,
    proxy: Proxy,
    _server: Server,
}

/// The answer to a request, by what [`Cloud::requests`] has of it.
type Answers = Arc<dyn Fn(&str) -> (StatusCode, Value) + Send + Sync>;

#[derive(Clone)]
struct Shared {
    requests: Arc<Mutex<Vec<String>>>,
    answers: Answers,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Cloud {
    /// Answers requests to any of the hosts over TLS.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start(
        hosts: &[&str],
        answers: impl Fn(&str) -> (StatusCode, Value) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let identity = Identity::for_names(hosts)?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let shared = Shared { requests: Arc::clone(&requests), answers: Arc::new(answers) };
        let app = Router::new().fallback(answer).with_state(shared);
        let server = Server::start(app, Some(&identity)).await?;
        let places: Vec<String> = hosts.iter().map(|host| format!("{host}:443")).collect();
        let routes: Vec<_> = places.iter().map(|place| (place.as_str(), server.address())).collect();
        let proxy = Proxy::start(&routes).await?;
        Ok(Self { requests, ca_pem: identity.ca_pem, proxy, _server: server })
    }

    /// Returns the requests received, as `METHOD host path?query token body`.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }

    /// Returns what came to the proxy.
    #[must_use]
    pub fn proxied(&self) -> Vec<Proxied> {
        self.proxy.requests()
    }

    /// Address at which the proxy listens.
    #[must_use]
    pub fn proxy(&self) -> SocketAddr {
        self.proxy.address()
    }

    /// The CA of the server's certificate.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> impl IntoResponse {
    let head = head(&request);
    let body = axum::body::to_bytes(request.into_body(), MAX_BODY).await.unwrap_or_default();
    let line = format!("{head} {}", String::from_utf8_lossy(&body));
    let (status, body) = (shared.answers)(&line);
    shared.requests.lock().push(line);
    // Services that speak XML give it as a string.
    let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    (status, body)
}

fn head(request: &Request) -> String {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let host = request.uri().host().or_else(|| header("host")).unwrap_or_default();
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    let token = TOKENS.iter().find_map(|name| header(name)).unwrap_or_default();
    format!("{} {host} {path} {token}", request.method())
}
