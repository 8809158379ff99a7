//! A Git repository in the folder of a demo, served over HTTP by `git http-backend`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::error::Error;

/// Bytes of a request: more than anybody pushes to a demo.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// Name of the repository.
const NAME: &str = "fleet";
/// Settings of the repository: whoever clones it may push, and the files follow.
const SETTINGS: [(&str, &str); 4] = [
    ("http.receivepack", "true"),
    ("receive.denyCurrentBranch", "updateInstead"),
    ("user.name", "demo"),
    ("user.email", "demo@example.com"),
];

/// A repository with its files, and the server, which ends with the handle.
pub(super) struct Repository {
    folder: PathBuf,
    /// URL by which it can be cloned.
    pub(super) url: String,
    _server: JoinSet<()>,
}

impl Repository {
    /// Makes and serves an empty repository below a folder.
    pub(super) async fn serve(root: &Path) -> Result<Self, Error> {
        let folder = root.join(NAME);
        std::fs::create_dir_all(&folder)?;
        run(&folder, &["init", "-q", "-b", "main"]).await?;
        let programs = run(&folder, &["--exec-path"]).await?;
        if !Path::new(programs.trim()).join("git-http-backend").is_file() {
            return Err(Error::Demo(
                "this installation of git lacks `git http-backend`, which serves repositories".to_owned(),
            ));
        }
        for (name, value) in SETTINGS {
            run(&folder, &["config", name, value]).await?;
        }
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}/{NAME}", listener.local_addr()?);
        let app = Router::new().fallback(answer).with_state(root.to_owned());
        let mut server = JoinSet::new();
        server.spawn(async move {
            // Ends with its task only.
            let _ended = axum::serve(listener, app).await;
        });
        Ok(Self { folder, url, _server: server })
    }

    /// Writes a file, or removes it, and commits that; returns the short name of the commit.
    pub(super) async fn commit(
        &self,
        message: &str,
        files: &[(&str, Option<&str>)],
    ) -> Result<String, Error> {
        for (name, text) in files {
            let path = self.folder.join(name);
            match text {
                Some(text) => std::fs::write(path, text)?,
                None => std::fs::remove_file(path)?,
            }
        }
        run(&self.folder, &["add", "-A"]).await?;
        run(&self.folder, &["commit", "-q", "-m", message]).await?;
        Ok(run(&self.folder, &["rev-parse", "--short", "HEAD"]).await?.trim().to_owned())
    }
}

/// `git` with nobody's configuration, so that a demo is the same on every machine.
fn git() -> Command {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

async fn run(folder: &Path, arguments: &[&str]) -> Result<String, Error> {
    let output = git().arg("-C").arg(folder).args(arguments).output().await;
    let output =
        output.map_err(|cause| Error::Demo(format!("git is needed and cannot be started: {cause}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Demo(format!("git {} failed: {}", arguments.join(" "), said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

async fn answer(State(root): State<PathBuf>, request: Request) -> Response {
    match backend(&root, request).await {
        Ok(response) => response,
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Hands a request to `git http-backend`, which is a program of CGI.
async fn backend(root: &Path, request: Request) -> std::io::Result<Response> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY).await.map_err(std::io::Error::other)?;
    let text =
        |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut child = git()
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", head.method.as_str())
        .env("PATH_INFO", head.uri.path())
        .env("QUERY_STRING", head.uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", text(header::CONTENT_TYPE))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", text(header::CONTENT_ENCODING))
        .env("GIT_PROTOCOL", text(HeaderName::from_static("git-protocol")))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let pipe = child.stdin.take();
    let feed = async {
        if let Some(mut pipe) = pipe {
            // A program that has read enough closes its end early.
            let _written = pipe.write_all(&body).await;
        }
    };
    let (output, ()) = tokio::join!(child.wait_with_output(), feed);
    Ok(response(&output?.stdout))
}

/// Turns an answer of CGI (lines of a head, an empty line, the body) into one of HTTP.
fn response(output: &[u8]) -> Response {
    let Some(end) = output.windows(4).position(|window| window == b"\r\n\r\n") else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "git http-backend printed nothing").into_response();
    };
    let (head, body) = output.split_at(end);
    let head = String::from_utf8_lossy(head);
    let mut response = Response::builder();
    for (name, value) in head.split("\r\n").filter_map(|line| line.split_once(": ")) {
        response = match value.split(' ').next() {
            Some(status) if name.eq_ignore_ascii_case("status") => response.status(status),
            _ => response.header(name, value),
        };
    }
    let body = Body::from(body.get(4..).unwrap_or_default().to_vec());
    response.body(body).unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}
