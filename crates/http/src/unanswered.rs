use reqwest::Method;
use url::Url;

/// A request that got no answer. The text is Go's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{method} \"{url}\": {reason}")]
pub struct Unanswered {
    /// Method of the request, capitalised as Go does.
    pub method: &'static str,
    /// URL of the request, without user info and query.
    pub url: String,
    /// Cause.
    pub reason: String,
}

impl Unanswered {
    /// Describes a request by the error that its client gave.
    #[must_use]
    pub fn new(method: &Method, url: &Url, error: &reqwest::Error) -> Self {
        Self { method: capitalised(method), url: crate::shown(url), reason: crate::reason(error, url) }
    }

    /// Describes a request that was given up, as its time was over.
    #[must_use]
    pub fn late(method: &Method, url: &Url) -> Self {
        let reason = "context deadline exceeded".to_owned();
        Self { method: capitalised(method), url: crate::shown(url), reason }
    }
}

fn capitalised(method: &Method) -> &'static str {
    match *method {
        Method::HEAD => "Head",
        Method::POST => "Post",
        Method::PUT => "Put",
        _ => "Get",
    }
}
