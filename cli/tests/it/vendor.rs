//! A stand-in for the APIs of GitHub, GitLab, Gitea and Bitbucket Server, as far as a bootstrap asks for it, with a Git server
//! behind the same host.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};
use weir_testkit::{GitServer, Identity, Server};

/// Bytes of a request; pushes of tests are smaller.
const MAX_BODY: usize = 64 << 20;

/// Entries of a page at most.
const MAX_PAGE: usize = 50;

/// The stand-in. It has no repository before one is made.
pub(crate) struct StandIn {
    server: Server,
    ca: String,
    shared: Arc<Shared>,
}

struct Shared {
    git: GitServer,
    client: reqwest::Client,
    state: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    requests: Vec<String>,
    has_repository: bool,
    keys: Vec<Value>,
    tokens: Vec<Value>,
}

impl StandIn {
    pub(crate) async fn start() -> Self {
        let identity = Identity::for_names(&["127.0.0.1"]).unwrap();
        let shared = Arc::new(Shared {
            git: GitServer::start().await.unwrap(),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            state: Mutex::default(),
        });
        let app = Router::new().fallback(serve).with_state(Arc::clone(&shared));
        let server = Server::start(app, Some(&identity)).await.unwrap();
        Self { server, ca: identity.ca_pem, shared }
    }

    pub(crate) fn host(&self) -> String {
        self.server.address().to_string()
    }

    pub(crate) fn ca(&self) -> &str {
        &self.ca
    }

    pub(crate) fn git(&self) -> &GitServer {
        &self.shared.git
    }

    /// Gives the repository keys or tokens of many clusters before those that are made.
    pub(crate) fn fill(&self, entries: &[Value]) {
        let mut known = self.shared.state.lock();
        known.keys = entries.to_vec();
        known.tokens = entries.to_vec();
    }

    /// The requests to the API since the last look: method, path, token and body.
    pub(crate) fn requests(&self) -> String {
        std::mem::take(&mut self.shared.state.lock().requests).join("\n")
    }
}

async fn serve(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY).await.unwrap();
    let path = parts.uri.path_and_query().unwrap().as_str().to_owned();
    if !path.starts_with("/api/") && !path.starts_with("/rest/") {
        return pass_on(&shared, parts, body, &path).await;
    }
    let token = parts.headers.get("authorization").map_or("", |value| value.to_str().unwrap()).to_owned();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut known = shared.state.lock();
    let shown = if body.is_null() { String::new() } else { format!(" {body}") };
    known.requests.push(format!("{} {path} [{token}]{shown}", parts.method));
    let (status, answer) = known.answer(&parts.method, &path, body);
    (status, answer.to_string()).into_response()
}

/// Hands a request to the Git server.
async fn pass_on(
    shared: &Shared,
    parts: axum::http::request::Parts,
    body: axum::body::Bytes,
    path: &str,
) -> Response {
    let base = shared.git.url("x");
    let url = format!("{}{path}", base.trim_end_matches("/x.git"));
    let mut request = shared.client.request(parts.method, url).body(body);
    for (name, value) in parts.headers.iter().filter(|(name, _)| *name != "host") {
        request = request.header(name, value);
    }
    let answer = request.send().await.unwrap();
    let mut response = Response::builder().status(answer.status());
    for (name, value) in answer.headers().iter().filter(|(name, _)| *name != "transfer-encoding") {
        response = response.header(name, value);
    }
    response.body(Body::from_stream(answer.bytes_stream())).unwrap()
}

impl Known {
    fn answer(&mut self, method: &Method, path: &str, body: Value) -> (StatusCode, Value) {
        let bare = path.split('?').next().unwrap();
        let last = bare.rsplit('/').next().unwrap();
        let is_bitbucket = path.starts_with("/rest/");
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let number = |name: &str| {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
            value.parse::<usize>().ok()
        };
        let size = number("per_page").or(number("limit")).unwrap_or(20).min(MAX_PAGE);
        let start = number("start").or(number("page").map(|page| (page - 1) * size)).unwrap_or_default();
        let listed = |values: &Vec<Value>| {
            let page: Vec<_> = values.iter().skip(start).take(size).collect();
            match (is_bitbucket, start + size < values.len()) {
                (false, _) => json!(page),
                (true, true) => json!({ "values": page, "isLastPage": false, "nextPageStart": start + size }),
                (true, false) => json!({ "values": page, "isLastPage": true, "nextPageStart": null }),
            }
        };
        match (method.as_str(), last) {
            ("GET", "keys" | "deploy_keys" | "ssh") => (StatusCode::OK, listed(&self.keys)),
            ("POST", "keys" | "deploy_keys" | "ssh") => {
                let mut key = body;
                let inner = if is_bitbucket { &mut key["key"] } else { &mut key };
                inner["id"] = json!(self.keys.len() + 1);
                self.keys.push(key.clone());
                (StatusCode::CREATED, key)
            }
            ("GET", "deploy_tokens") => (StatusCode::OK, listed(&self.tokens)),
            ("POST", "deploy_tokens") => {
                self.tokens.push(json!({ "name": body["name"] }));
                (StatusCode::CREATED, json!({ "username": "gitlab+deploy-token-1", "token": "deploy" }))
            }
            ("GET", "projects") => (StatusCode::OK, listed(&vec![json!({ "name": "org", "key": "ORG" })])),
            ("GET", "user") => (StatusCode::OK, json!({ "login": "org", "username": "org" })),
            ("GET", "groups") => (StatusCode::OK, listed(&Vec::new())),
            ("GET", _) if bare.contains("/groups/") => (StatusCode::OK, json!({ "id": 5 })),
            ("GET", _) if bare.contains("/teams/") => {
                (StatusCode::NOT_FOUND, json!({ "message": "Not Found" }))
            }
            ("GET", _) if self.has_repository => (StatusCode::OK, json!({ "id": 7 })),
            ("GET", _) => (StatusCode::NOT_FOUND, json!({ "message": "Not Found" })),
            ("POST", "repos" | "projects") => {
                self.has_repository = true;
                (StatusCode::CREATED, json!({ "id": 7 }))
            }
            _ if bare.contains("forbidden") => (StatusCode::FORBIDDEN, json!({ "message": "no access" })),
            _ => (StatusCode::OK, json!({})),
        }
    }
}
