//! Answers and failures of HTTP requests.

use std::error::Error;

use reqwest::Response;

use super::redirect::SendError;

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

/// The innermost cause, without the URL.
pub(super) fn cause(error: &SendError) -> String {
    match error {
        SendError::Redirect(text) => (*text).to_owned(),
        SendError::Request(error) => innermost(error),
    }
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
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
