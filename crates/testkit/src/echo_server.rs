use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::{Error, SinkAnswer, SinkRequest, WebhookSink};

/// A registry, token server and Git server that refuses everything and repeats all of its input, as pages for
/// debugging and talkative messages do.
pub struct EchoServer {
    sink: WebhookSink,
}

impl EchoServer {
    /// Starts a server whose registry wants user and password.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start() -> Result<Self, Error> {
        let sink = WebhookSink::start().await?;
        sink.answer_with(|request| answer(request, "Basic realm=\"echo\""));
        Ok(Self { sink })
    }

    /// Starts a server whose registry sends callers to its token server.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start_with_tokens() -> Result<Self, Error> {
        let sink = WebhookSink::start().await?;
        let challenge = format!("Bearer realm=\"{}\",service=\"echo\"", sink.url("/token"));
        sink.answer_with(move |request| answer(request, &challenge));
        Ok(Self { sink })
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> String {
        self.sink.url("").replace("http://", "")
    }

    /// The URL of a Git repository that is refused with an HTTP status, or with a line of Git's protocol where that is 200.
    #[must_use]
    pub fn git_url(&self, status: u16) -> String {
        self.sink.url(&format!("/{status}/app.git"))
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<SinkRequest> {
        self.sink.requests()
    }
}

fn answer(request: &SinkRequest, challenge: &str) -> SinkAnswer {
    let said = format!("you sent {}", repeated(request));
    let path: Vec<&str> = request.path.split('/').skip(1).collect();
    match path.as_slice() {
        ["v2", ""] => with_header(StatusCode::UNAUTHORIZED, header::WWW_AUTHENTICATE, challenge, ""),
        ["v2", ..] => {
            let error = json!({"code": "DENIED", "message": said, "detail": {"sent": repeated(request)}});
            let body = json!({"errors": [error]}).to_string();
            with_header(StatusCode::FORBIDDEN, header::CONTENT_TYPE, "application/json", &body)
        }
        ["200", _, "info", "refs"] => {
            let refusal = format!("ERR {said}");
            let service = "001e# service=git-upload-pack\n0000";
            let body = format!("{service}{:04x}{refusal}", refusal.len() + 4);
            let kind = "application/x-git-upload-pack-advertisement";
            with_header(StatusCode::OK, header::CONTENT_TYPE, kind, &body)
        }
        [status, _, "info", "refs"] => {
            let status = status.parse().ok().and_then(|status| StatusCode::from_u16(status).ok());
            SinkAnswer {
                status: status.unwrap_or(StatusCode::NOT_FOUND),
                body: said.into(),
                ..SinkAnswer::default()
            }
        }
        _ => SinkAnswer { status: StatusCode::FORBIDDEN, body: said.into(), ..SinkAnswer::default() },
    }
}

/// Returns everything that was sent, and the basic authentication in the clear.
fn repeated(request: &SinkRequest) -> String {
    let SinkRequest { method, path, query, headers, body } = request;
    let header = request.header("authorization");
    let clear = header.strip_prefix("Basic ").and_then(|login| STANDARD.decode(login).ok());
    let clear = String::from_utf8_lossy(&clear.unwrap_or_default()).into_owned();
    let proxy = headers.get("proxy-authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let body = String::from_utf8_lossy(body);
    format!("{header} ({clear}) {proxy} {method} {path}?{query} {body}")
}

fn with_header(status: StatusCode, name: header::HeaderName, value: &str, body: &str) -> SinkAnswer {
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
    SinkAnswer { status, headers, body: body.to_owned().into() }
}
