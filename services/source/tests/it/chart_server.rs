//! A chart repository over HTTP, whose files a test puts there, and packages made by hand.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::{Compression, write::GzEncoder};
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;
use weir_artifact::{Algorithm, Digest};

/// The server stops when this is dropped.
pub struct ChartServer {
    address: SocketAddr,
    state: Arc<Mutex<Shown>>,
    _serving: JoinSet<()>,
}

#[derive(Default)]
struct Shown {
    files: BTreeMap<String, Vec<u8>>,
    requests: Vec<(String, Option<String>)>,
    /// Requests whose answer is that nothing has changed.
    unchanged: usize,
}

async fn answer(State(state): State<Arc<Mutex<Shown>>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let credentials = request.headers().get(header::AUTHORIZATION);
    let credentials = credentials.map(|value| value.to_str().unwrap().to_owned());
    let mut state = state.lock();
    state.requests.push((path.clone(), credentials.clone()));
    if path.starts_with("/private/") && credentials.as_deref() != Some("Basic dXNlcjpwYXNz") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let Some(content) = state.files.get(&path).cloned() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mark = format!("\"{}\"", Digest::of(Algorithm::Sha256, &content).hex());
    if request.headers().get(header::IF_NONE_MATCH).is_some_and(|known| known == mark.as_str()) {
        state.unchanged += 1;
        return StatusCode::NOT_MODIFIED.into_response();
    }
    ([(header::ETAG, mark)], content).into_response()
}

impl ChartServer {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::<Mutex<Shown>>::default();
        let routes = Router::new().fallback(answer).with_state(state.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { address, state, _serving: serving }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn put(&self, path: &str, content: impl Into<Vec<u8>>) {
        self.state.lock().files.insert(path.to_owned(), content.into());
    }

    /// Puts an index below `path` with these versions of `app`, and their packages beside it.
    pub fn publish(&self, path: &str, versions: &[&str]) {
        let mut entries = Vec::new();
        for version in versions {
            self.put(&format!("{path}/app-{version}.tgz"), chart("app", version, &[]));
            entries.push(json!({
                "apiVersion": "v2", "name": "app", "version": version, "created": "2026-01-01T00:00:00Z",
                "urls": [format!("app-{version}.tgz")],
            }));
        }
        let index =
            json!({"apiVersion": "v1", "generated": "2026-01-01T00:00:00Z", "entries": {"app": entries}});
        self.put(&format!("{path}/index.yaml"), index.to_string());
    }

    /// Returns the requested paths, with the credentials of each request.
    pub fn requests(&self) -> Vec<(String, Option<String>)> {
        self.state.lock().requests.clone()
    }

    /// Returns how often the answer was that nothing has changed.
    pub fn unchanged(&self) -> usize {
        self.state.lock().unchanged
    }

    pub fn count(&self, path: &str) -> usize {
        self.requests().iter().filter(|(asked, _)| asked == path).count()
    }
}

/// Shows the chart's version in the cluster.
const TEMPLATE: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}'}
data: {version: '{{ .Chart.Version }}'}
";

/// A packaged chart with a template, default values, and more files.
pub fn chart(name: &str, version: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let description = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    let mut files = vec![
        ("Chart.yaml", description.as_str()),
        ("values.yaml", "replicas: 1\nimage: {tag: a}\n"),
        ("templates/cm.yaml", TEMPLATE),
    ];
    files.extend(more);
    let files: Vec<(String, &[u8])> =
        files.into_iter().map(|(path, text)| (format!("{name}/{path}"), text.as_bytes())).collect();
    package(&files)
}

/// A gzipped tarball; names are written as they are.
pub fn package(files: &[(String, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, *content).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}
