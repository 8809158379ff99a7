//! Answers and failures of HTTP requests.

use std::error::Error;

use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::Response;
use url::Url;

use super::redirect::{self, SendError};
use crate::provider::Message;
use crate::provider::client::{Reply, quoted};

/// Bytes of an answer that tells why a request failed; a forge's JSON may be longer than what is quoted of it.
const MAX_REFUSAL: usize = 64 * 1024;

/// Sends a request once and reads so many bytes of a good answer.
pub(super) async fn exchange(
    client: &reqwest::Client,
    message: &Message,
    limit: usize,
) -> Result<Reply, SendError> {
    let response = redirect::send(client, message).await?;
    let status = response.status();
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let is_busy = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let wait = text(RETRY_AFTER).filter(|_| is_busy).map(str::to_owned);
    let is_text = text(CONTENT_TYPE).is_some_and(|kind| kind.contains("text/plain"));
    let limit = if status.is_success() { limit } else { MAX_REFUSAL };
    Ok(Reply { status, wait, is_text, body: read_at_most(response, limit).await })
}

/// Reads the start of a body; what went wrong after it does not matter to the judgement.
pub(crate) async fn read_at_most(mut response: Response, limit: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(chunk.get(..limit.saturating_sub(body.len())).unwrap_or(&chunk));
        if body.len() >= limit {
            break;
        }
    }
    body
}

/// A failure that another try cannot mend: bad certificates, refused redirects, requests that cannot be built.
pub(super) fn is_final(error: &SendError) -> bool {
    match error {
        SendError::Redirect(_) => true,
        SendError::Request(error) => error.is_builder() || has_certificate_fault(error),
    }
}

/// The reason of a failed request to this URL, without its secrets.
pub(super) fn cause(error: &SendError, url: &Url) -> String {
    match error {
        SendError::Redirect(text) => (*text).to_owned(),
        SendError::Request(error) => weir_http::reason(error, url),
    }
}

/// The failure of one try in a few words.
pub(super) fn told(exchanged: &Result<Reply, SendError>, url: &Url) -> String {
    match exchanged {
        Ok(reply) if reply.body.trim_ascii().is_empty() => reply.line(),
        Ok(reply) => format!("{}: {}", reply.line(), quoted(&reply.body)),
        Err(error) => cause(error, url),
    }
}

fn has_certificate_fault(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|cause| matches!(cause.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))))
}

/// The error and its sources; an io error hides its own in `get_ref`.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| {
        let error: &'a (dyn Error + 'static) = *error;
        match error.downcast_ref::<std::io::Error>() {
            Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}
