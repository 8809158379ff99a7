use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use parking_lot::Mutex;
use serde_json::{Value, json};
use weir_auth::{Caller, LoginOptions, Logins};
use weir_http::Profile;
use weir_testkit::{ControlPlane, Identity, Proxied, Proxy, Server};

pub(crate) const NAMESPACE: &str = "default";
const MAX_BODY: usize = 1 << 20;

/// A cloud of one host, and the way to it.
pub(crate) struct Cloud {
    requests: Arc<Mutex<Vec<String>>>,
    pub(crate) profile: Profile,
    proxy: Proxy,
    _server: Server,
}

/// The answer to a request: by method, path and body.
type Answers = Arc<dyn Fn(&str) -> (StatusCode, Value) + Send + Sync>;

#[derive(Clone)]
struct Shared {
    requests: Arc<Mutex<Vec<String>>>,
    answers: Answers,
}

impl Cloud {
    /// Answers requests to any of the hosts; `answers` is given `METHOD host path body`.
    pub(crate) async fn start(
        hosts: &[&str],
        answers: impl Fn(&str) -> (StatusCode, Value) + Send + Sync + 'static,
    ) -> Self {
        let identity = Identity::for_names(hosts).unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let shared = Shared { requests: requests.clone(), answers: Arc::new(answers) };
        let app = Router::new().fallback(answer).with_state(shared);
        let server = Server::start(app, Some(&identity)).await.unwrap();
        let places: Vec<String> = hosts.iter().map(|host| format!("{host}:443")).collect();
        let routes: Vec<_> = places.iter().map(|place| (place.as_str(), server.address())).collect();
        let proxy = Proxy::start(&routes).await.unwrap();
        let address = format!("http://{}", proxy.address()).parse().unwrap();
        let profile = Profile {
            ca: Some(identity.ca_pem.into()),
            proxy: Some(weir_http::Proxy { address, credentials: None }),
            ..Profile::default()
        };
        Self { requests, profile, proxy, _server: server }
    }

    /// Returns the requests received, as `METHOD host path authorization body`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }

    pub(crate) fn proxied(&self) -> Vec<Proxied> {
        self.proxy.requests()
    }

    pub(crate) fn caller<'a>(&'a self, account: Option<&'a str>) -> Caller<'a> {
        Caller {
            kind: "OCIRepository",
            namespace: NAMESPACE,
            name: "app",
            account,
            http: &self.profile,
            timeout: Duration::from_secs(20),
        }
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> impl IntoResponse {
    let head = head(&request);
    let body = axum::body::to_bytes(request.into_body(), MAX_BODY).await.unwrap();
    let line = format!("{head} {}", String::from_utf8_lossy(&body));
    let (status, body) = (shared.answers)(&line);
    shared.requests.lock().push(line);
    // Services that speak XML give it as a string.
    let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    (status, body)
}

fn head(request: &Request) -> String {
    let header = |name: &str| {
        let value = request.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let host = request.uri().host().map_or_else(|| header("host"), str::to_owned);
    format!("{} {host} {} {}", request.method(), request.uri().path(), header("authorization"))
}

pub(crate) async fn plane() -> &'static ControlPlane {
    ControlPlane::shared().await.unwrap()
}

pub(crate) async fn logins(workload_identity: bool, default_account: &str) -> Logins {
    with(workload_identity, default_account, 100).await
}

/// Logins that keep so many.
pub(crate) async fn logins_keeping(cache_size: u64) -> Logins {
    with(false, "", cache_size).await
}

async fn with(workload_identity: bool, default_account: &str, cache_size: u64) -> Logins {
    let options = LoginOptions {
        workload_identity,
        default_account: default_account.to_owned(),
        cache_size,
        cache_duration: Duration::from_secs(3600),
    };
    Logins::new(plane().await.client().unwrap(), options).unwrap()
}

/// A ServiceAccount with annotations.
pub(crate) async fn account(name: &str, annotations: Value) {
    let object = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": name, "annotations": annotations},
    });
    plane().await.apply(NAMESPACE, object).await.unwrap();
}

/// The claims of the Kubernetes token that stands behind `marker` in a request.
pub(crate) fn claims(request: &str, marker: &str) -> Value {
    use base64::Engine;
    let (_, rest) = request.split_once(marker).unwrap_or_else(|| panic!("no {marker} in {request}"));
    let token = rest.split(['&', '"', ' ']).next().unwrap();
    let part = token.split('.').nth(1).unwrap_or_else(|| panic!("no token in {request}"));
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}
