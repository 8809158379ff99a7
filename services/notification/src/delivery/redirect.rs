//! Redirects followed by hand: reqwest would carry the user's own headers to another host (NTF-126).

use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, Method, StatusCode};
use reqwest::Response;
use url::Url;

use crate::provider::Message;

/// Requests for one message, as in Go's client: the tenth redirect is not followed.
const MAX_REQUESTS: usize = 10;

/// Errors that leave a request without a final answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    /// No connection, no answer.
    #[error(transparent)]
    Request(#[from] reqwest::Error),
    /// A redirect that is not followed.
    #[error("{0}")]
    Redirect(&'static str),
}

/// Sends once, following redirects. Headers of ours stay with the host they were meant for.
pub(super) async fn send(client: &reqwest::Client, message: &Message) -> Result<Response, SendError> {
    let (mut url, mut method) = (message.url.clone(), message.method.clone());
    let (mut headers, mut body) = (message.headers.clone(), message.body.clone());
    for _ in 0..MAX_REQUESTS {
        let request = client.request(method.clone(), url.clone()).headers(headers.clone()).body(body.clone());
        let response = request.send().await?;
        let Some(next) = target(&url, &response)? else { return Ok(response) };
        if next.origin() != url.origin() {
            headers = keep_content_type(&headers);
        }
        // As browsers and Go do: only 307 and 308 repeat method and body.
        if !matches!(response.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
            if method != Method::HEAD {
                method = Method::GET;
            }
            body = Vec::new();
            headers.remove(CONTENT_TYPE);
        }
        url = next;
    }
    Err(SendError::Redirect("stopped after 10 redirects"))
}

fn target(from: &Url, response: &Response) -> Result<Option<Url>, SendError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let bad = SendError::Redirect("the service redirects to an invalid location");
    let Ok(next) = location.to_str().map_err(|_| ()).and_then(|text| from.join(text).map_err(|_| ())) else {
        return Err(bad);
    };
    match (from.scheme(), next.scheme()) {
        ("https", "http") => Err(SendError::Redirect("the service redirects from https to http")),
        (_, "http" | "https") => Ok(Some(next)),
        _ => Err(bad),
    }
}

fn keep_content_type(headers: &HeaderMap) -> HeaderMap {
    headers.get(CONTENT_TYPE).map(|value| (CONTENT_TYPE, value.clone())).into_iter().collect()
}
