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
        let method = match *method {
            Method::HEAD => "Head",
            Method::POST => "Post",
            Method::PUT => "Put",
            _ => "Get",
        };
        Self { method, url: crate::shown(url), reason: crate::reason(error, url) }
    }
}
