//! The errors between us and a bucket, with the messages that conditions carry. None of them holds a credential: URLs
//! are shown without query and user info, and a server's text is shown without the secrets that the server got.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use url::Url;
use weir_http::Unanswered;

/// A failed operation on a bucket.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that no bucket has.
    #[error("{reason}")]
    Name {
        /// The fault in it.
        reason: &'static str,
    },
    /// An endpoint with a scheme or a path; the text is that of MinIO's client.
    #[error("Endpoint url cannot have fully qualified paths.")]
    EndpointPath,
    /// An endpoint whose host is none; the text is the whole message.
    #[error("{0}")]
    NoHost(String),
    /// An endpoint that is no address.
    #[error("invalid endpoint '{endpoint}': {reason}")]
    Endpoint {
        /// The endpoint, without its query.
        endpoint: String,
        /// The fault in it.
        reason: String,
    },
    /// A token that everybody on the way could read.
    #[error("authenticated requests are not permitted for non TLS protected (https) endpoints")]
    PlainToken,
    /// A token that others share, for a host that is not its issuer's.
    #[error(
        "the token of this identity is only sent to Azure's storage, and '{host}' is none of its hosts: use an endpoint \
         such as https://<account>.blob.core.windows.net, or a Secret with credentials of this server"
    )]
    ForeignHost {
        /// The host.
        host: String,
    },
    /// The HTTP client could not be made.
    #[error(transparent)]
    Client(#[from] weir_http::ClientError),
    /// The server refused.
    #[error("{}", refusal(code, message))]
    Refused {
        /// The status of its answer.
        status: StatusCode,
        /// Its code for what is wrong.
        code: String,
        /// Its words.
        message: String,
        /// Time for which it wants to be left alone.
        retry_after: Option<Duration>,
        /// The region in which it says that the bucket is.
        region: Option<String>,
    },
    /// No answer, or one that broke off.
    #[error("{cause}")]
    Transport {
        /// The request, and the cause.
        cause: Unanswered,
        /// True when another try may help.
        is_transient: bool,
    },
    /// Fewer bytes than the server promised.
    #[error("object '{key}' ended after {seen} of {promised} bytes: unexpected EOF")]
    Truncated {
        /// The object.
        key: String,
        /// Bytes promised.
        promised: u64,
        /// Bytes that came.
        seen: u64,
    },
    /// More bytes than the cap.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// Name of the thing.
        what: String,
        /// The cap.
        limit: u64,
    },
    /// More objects than anyone can use.
    #[error("more than {limit} objects")]
    TooManyObjects {
        /// The cap.
        limit: usize,
    },
    /// An answer that is not what it should be.
    #[error("{what} is malformed: {reason}")]
    Malformed {
        /// Kind that it should be.
        what: &'static str,
        /// The fault found.
        reason: String,
    },
    /// A request could not be signed.
    #[error("failed to sign request: {reason}")]
    Signature {
        /// Cause.
        reason: String,
    },
    /// A Secret holds something that is no credential.
    #[error("{what}: {reason}")]
    Credential {
        /// Kind that it should be.
        what: &'static str,
        /// Fault, without the value.
        reason: String,
    },
}

/// The words of a refusal, as MinIO's client puts them.
fn refusal(code: &str, message: &str) -> String {
    if message.is_empty() { format!("Error response code {code}.") } else { message.to_owned() }
}

impl Error {
    pub(crate) fn transport(method: &Method, url: &Url, error: &reqwest::Error) -> Self {
        // A refused connection or a wrong certificate is as wrong a moment later; the object's next run tries again.
        let is_transient = !error.is_connect() && !error.is_builder() && !error.is_redirect();
        let cause = Unanswered { url: shown(url), ..Unanswered::new(method, url, error) };
        Self::Transport { cause, is_transient }
    }

    pub(crate) fn malformed(what: &'static str, error: impl std::fmt::Display) -> Self {
        Self::Malformed { what, reason: error.to_string() }
    }

    /// Returns true when the server says that there is no such bucket or object.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: StatusCode::NOT_FOUND, .. })
    }

    /// Returns true when the object is no longer what was asked for.
    pub(crate) fn is_changed(&self) -> bool {
        matches!(self, Self::Refused { status: StatusCode::PRECONDITION_FAILED, .. })
    }

    /// Returns the time for which the server wants to be left alone, if it has named one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns true when content broke off on its way.
    #[must_use]
    pub fn is_broken_off(&self) -> bool {
        matches!(self, Self::Truncated { .. } | Self::Transport { is_transient: true, .. })
    }

    /// Returns true when another try may help.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Refused { status, .. } => {
                status.is_server_error() && *status != StatusCode::NOT_IMPLEMENTED
                    || matches!(*status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
            }
            Self::Transport { is_transient, .. } => *is_transient,
            _ => false,
        }
    }
}

/// A URL as errors show it (SRC-SCK-11). The question for a bucket's region has a query of ours, which users know from Flux.
pub(crate) fn shown(url: &Url) -> String {
    let ours = match url.query() {
        Some("location=") => "?location=",
        Some("location") => "?location",
        _ => "",
    };
    weir_http::shown(url) + ours
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use url::Url;

    #[rstest]
    #[case("https://u:p@h/c?sv=1&sig=hunter2", "https://h/c")]
    #[case("http://127.0.0.1:1/b/?location=", "http://127.0.0.1:1/b/?location=")]
    fn urls_are_shown_without_secrets(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(super::shown(&Url::parse(url).unwrap()), expected);
    }
}
