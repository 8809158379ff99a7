use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;

use super::GitRepo;
use super::repo::git_command;
use crate::server::Server;
use crate::tls::Identity;
use crate::{Error, Folder};

/// The largest push that tests make, with room.
const MAX_BODY: usize = 512 * 1024 * 1024;

/// Credentials of `private/…` repositories.
const CREDENTIALS: &str = "user:pass";
/// Token of `token/…` repositories.
const TOKEN: &str = "Bearer token";

/// A request that the server has seen, refused ones included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRequest {
    /// The HTTP method.
    pub method: String,
    /// The path, such as `/team/app.git/info/refs`.
    pub path: String,
    /// The query without its question mark, such as `service=git-upload-pack`.
    pub query: String,
    /// When it came.
    pub at: Instant,
}

/// `git http-backend` behind a small HTTP server. Repositories below `private/` want `user:pass`, those below `token/` the
/// bearer token `token`.
#[derive(Debug)]
pub struct GitServer {
    server: Server,
    ca_pem: Option<String>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    requests: Mutex<Vec<GitRequest>>,
    answer: Mutex<Option<StatusCode>>,
    _folder: Folder,
}

impl GitServer {
    /// Serves over plain HTTP.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start() -> Result<Self, Error> {
        Self::start_with(None).await
    }

    /// Serves over HTTPS with a certificate of its own CA; see [`GitServer::ca_pem`].
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start_tls() -> Result<Self, Error> {
        Self::start_with(Some(Identity::for_loopback()?)).await
    }

    async fn start_with(identity: Option<Identity>) -> Result<Self, Error> {
        let shared = Shared::new()?;
        let app = Router::new().fallback(serve).with_state(shared.clone());
        let server = Server::start(app, identity.as_ref()).await?;
        Ok(Self { server, ca_pem: identity.map(|identity| identity.ca_pem), shared })
    }

    /// The certificate of the CA, in PEM, when it serves over HTTPS.
    #[must_use]
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// Makes a repository.
    ///
    /// # Errors
    /// When `git` is missing or the folder cannot be written.
    pub fn repo(&self, name: &str) -> Result<GitRepo, Error> {
        self.repo_as(name, "sha1")
    }

    /// Makes a repository whose objects have names of a format, for example `sha256`.
    ///
    /// # Errors
    /// As [`GitServer::repo`].
    pub fn repo_as(&self, name: &str, format: &str) -> Result<GitRepo, Error> {
        GitRepo::create_as(&self.shared.root.join(format!("{name}.git")), format)
    }

    /// The URL of a repository.
    #[must_use]
    pub fn url(&self, name: &str) -> String {
        let scheme = if self.ca_pem.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/{name}.git", self.server.address)
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<GitRequest> {
        self.shared.requests.lock().clone()
    }

    /// Starts counting anew.
    pub fn forget_requests(&self) {
        self.shared.requests.lock().clear();
    }

    /// Answers every request with a status until `None` is set.
    pub fn answer_with(&self, status: Option<StatusCode>) {
        *self.shared.answer.lock() = status;
    }
}

impl Shared {
    fn new() -> Result<Arc<Self>, Error> {
        let folder = Folder::new("git")?;
        let root = folder.path().to_owned();
        Ok(Arc::new(Self { root, requests: Mutex::default(), answer: Mutex::default(), _folder: folder }))
    }
}

async fn serve(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let seen = GitRequest {
        method: request.method().to_string(),
        path: request.uri().path().into(),
        query: request.uri().query().unwrap_or_default().into(),
        at: Instant::now(),
    };
    shared.requests.lock().push(seen.clone());
    if let Some(status) = *shared.answer.lock() {
        return (status, "the test said so\n").into_response();
    }
    let (parts, body) = request.into_parts();
    if !is_git(&parts.headers) {
        return StatusCode::NOT_FOUND.into_response();
    }
    if !is_admitted(&seen.path, &parts.headers) {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Basic realm=\"git\"")])
            .into_response();
    }
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    match run_backend(&shared, &seen, &parts.headers, &body).await {
        Ok(output) => answer(output),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Returns true for what calls itself Git, as Flux's program does with `go-git/5.x`. Hosted servers, GitHub among
/// them, have only web pages for others.
fn is_git(headers: &HeaderMap) -> bool {
    let admitted = |name: &[u8]| name.starts_with(b"git/") || name.starts_with(b"go-git/");
    headers.get(header::USER_AGENT).is_some_and(|name| admitted(name.as_bytes()))
}

fn is_admitted(path: &str, headers: &HeaderMap) -> bool {
    let wanted = match path.split('/').nth(1) {
        Some("private") => format!("Basic {}", STANDARD.encode(CREDENTIALS)),
        Some("token") => TOKEN.to_owned(),
        _ => return true,
    };
    headers.get(header::AUTHORIZATION).is_some_and(|value| value == wanted.as_str())
}

async fn run_backend(
    shared: &Shared,
    request: &GitRequest,
    headers: &HeaderMap,
    body: &[u8],
) -> std::io::Result<Vec<u8>> {
    let text =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let mut command = tokio::process::Command::from(git_command());
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &shared.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", &request.method)
        .env("PATH_INFO", &request.path)
        .env("QUERY_STRING", &request.query)
        .env("CONTENT_TYPE", text("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("REMOTE_USER", "user")
        .env("REMOTE_ADDR", "127.0.0.1");
    for (variable, name) in
        [("HTTP_CONTENT_ENCODING", "content-encoding"), ("HTTP_GIT_PROTOCOL", "git-protocol")]
    {
        if headers.contains_key(name) {
            command.env(variable, text(name));
        }
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let pipe = child.stdin.take();
    let feed = async {
        if let Some(mut pipe) = pipe {
            // A backend that has seen enough closes its end early.
            let _ = pipe.write_all(body).await;
        }
    };
    // Both at once, since a large push and its answer would fill both pipes.
    let (output, ()) = tokio::join!(child.wait_with_output(), feed);
    Ok(output?.stdout)
}

/// Turns a CGI answer (header lines, an empty line, the body) into an HTTP one.
fn answer(output: Vec<u8>) -> Response {
    let Some(end) = output.windows(4).position(|window| window == b"\r\n\r\n") else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "git http-backend said nothing").into_response();
    };
    let (head, rest) = output.split_at(end);
    let mut response = Response::builder();
    for line in String::from_utf8_lossy(head).split("\r\n") {
        let Some((name, value)) = line.split_once(": ") else { continue };
        response = match value.split(' ').next() {
            Some(status) if name.eq_ignore_ascii_case("status") => response.status(status),
            _ => response.header(name, value),
        };
    }
    let body = rest.get(4..).unwrap_or_default().to_vec();
    response.body(Body::from(body)).unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}
