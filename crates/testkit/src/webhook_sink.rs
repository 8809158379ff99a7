use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::Error;
use crate::server::Server;

/// More than any notification or webhook may carry.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// A request that the sink has recorded.
#[derive(Debug, Clone)]
pub struct SinkRequest {
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The query without its question mark.
    pub query: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The body as it came.
    pub body: Bytes,
}

impl SinkRequest {
    /// The body as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header's text; empty when it is missing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The sink's answer to a request.
#[derive(Debug, Clone, Default)]
pub struct SinkAnswer {
    /// The status.
    pub status: StatusCode,
    /// Headers besides the usual ones.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

type Answer = Box<dyn Fn(&SinkRequest) -> SinkAnswer + Send>;

/// An HTTP server that records its requests and gives the answers that the test wants; `200` at first.
pub struct WebhookSink {
    server: Server,
    shared: Arc<Shared>,
}

struct Shared {
    requests: watch::Sender<Vec<SinkRequest>>,
    answer: Mutex<Answer>,
}

impl WebhookSink {
    /// Starts the sink.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start() -> Result<Self, Error> {
        let shared = Arc::new(Shared {
            requests: watch::Sender::new(Vec::new()),
            answer: Mutex::new(Box::new(|_| SinkAnswer::default())),
        });
        let app = Router::new().fallback(record).with_state(shared.clone());
        Ok(Self { server: Server::start(app, None).await?, shared })
    }

    /// The URL of a path, which starts with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address)
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<SinkRequest> {
        self.shared.requests.borrow().clone()
    }

    /// Forgets the requests so far.
    pub fn forget(&self) {
        self.shared.requests.send_modify(Vec::clear);
    }

    /// Answers with a status from now on.
    pub fn answer(&self, status: StatusCode) {
        self.answer_with(move |_| SinkAnswer { status, ..SinkAnswer::default() });
    }

    /// Answers with the result of `answer` from now on.
    pub fn answer_with(&self, answer: impl Fn(&SinkRequest) -> SinkAnswer + Send + 'static) {
        *self.shared.answer.lock() = Box::new(answer);
    }

    /// Waits until at least `count` requests have come and returns them all.
    ///
    /// # Errors
    /// [`Error::Deadline`] with what has come.
    pub async fn wait_for_requests(
        &self,
        count: usize,
        deadline: Duration,
    ) -> Result<Vec<SinkRequest>, Error> {
        let enough = |requests: &Vec<SinkRequest>| requests.len() >= count;
        self.wait(&format!("{count} requests"), deadline, enough).await
    }

    /// Waits for a request that `wanted` picks, which may have come already.
    ///
    /// # Errors
    /// [`Error::Deadline`] with what has come.
    pub async fn wait_for(
        &self,
        what: &str,
        deadline: Duration,
        wanted: impl Fn(&SinkRequest) -> bool,
    ) -> Result<SinkRequest, Error> {
        let requests = self.wait(what, deadline, |requests| requests.iter().any(&wanted)).await?;
        let found = requests.into_iter().find(|request| wanted(request));
        found.ok_or_else(|| Error::Deadline { what: what.into(), deadline, last: "it was forgotten".into() })
    }

    async fn wait(
        &self,
        what: &str,
        deadline: Duration,
        wanted: impl Fn(&Vec<SinkRequest>) -> bool,
    ) -> Result<Vec<SinkRequest>, Error> {
        let mut requests = self.shared.requests.subscribe();
        let found = tokio::time::timeout(deadline, requests.wait_for(wanted)).await;
        if let Ok(Ok(requests)) = found {
            return Ok(requests.clone());
        }
        let last: Vec<String> =
            self.requests().iter().map(|r| format!("{} {} {}", r.method, r.path, r.text())).collect();
        Err(Error::Deadline { what: format!("the sink to get {what}"), deadline, last: last.join("\n") })
    }
}

async fn record(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let seen = SinkRequest {
        method: parts.method.to_string(),
        path: parts.uri.path().into(),
        query: parts.uri.query().unwrap_or_default().into(),
        headers: parts.headers,
        body,
    };
    let answer = (shared.answer.lock())(&seen);
    shared.requests.send_modify(|requests| requests.push(seen));
    (answer.status, answer.headers, answer.body).into_response()
}
