//! The errors between us and a registry, with the messages that conditions carry. None of them holds a credential:
//! URLs are those of our own requests, not those that redirects led to, and a server's text is shown without the
//! secrets that the server knows (SRC-SCK-11).

use std::io::{self, ErrorKind};
use std::time::Duration;

use reqwest::{Method, Response, StatusCode};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use url::Url;
use weir_http::Unanswered;

use crate::reference::TAG_CHARACTERS;

/// Characters of an error page that go into a message.
const MAX_PAGE: usize = 512;
/// Bytes of an error that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// Query of the first page of tags.
pub(crate) const FIRST_PAGE: &str = "n=1000";
/// Codes of errors about the size of a page: that of the distribution specification, and Quay's.
const PAGE_SIZE_CODES: [&str; 2] = ["PAGINATION_NUMBER_INVALID: ", "TOO_MANY_TAGS_REQUESTED: "];
/// Parameters of our own requests, which are no secrets and which users know from Flux. Others are shown as [`REDACTED`].
const SHOWN_PARAMETERS: [&str; 7] = ["scope", "service", "mount", "from", "digest", "n", "last"];
const REDACTED: &str = "REDACTED";
/// Status of proxies before a registry when they gave up on it.
const CLIENT_CLOSED: u16 = 499;
/// Words of the C libraries (glibc, musl) about a name that could not be looked up now; the error has no kind.
const RESOLVER_LATER: [&str; 2] = ["Temporary failure in name resolution", "Try again"];

/// A failed request to a registry.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The registry refused, with a reason.
    #[error("{method} {url}: {words}")]
    Refused {
        /// Method of the request.
        method: Method,
        /// URL of the request, without user info and secret parameters.
        url: String,
        /// The registry's words.
        words: String,
        /// The status of its answer.
        status: StatusCode,
        /// Time for which it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// No answer.
    #[error("{cause}")]
    Transport {
        /// The request, and the cause.
        cause: Unanswered,
        /// True when another try may help.
        is_transient: bool,
    },
    /// No answer, or none that helps, on any of the ways to try.
    #[error("{}", causes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unreachable {
        /// Error of each.
        causes: Vec<Self>,
    },
    /// The client could not be made.
    #[error(transparent)]
    Client(#[from] weir_http::ClientError),
    /// The challenge cannot be met safely (DEP-OCI-5).
    #[error("registry '{host}' asks for credentials to be sent to '{realm}', which is not trusted")]
    Realm {
        /// The registry.
        host: String,
        /// The token server that it names.
        realm: String,
    },
    /// The token server answers without a token.
    #[error("token server of '{host}' gave no token")]
    NoToken {
        /// The registry.
        host: String,
    },
    /// A body beyond its cap.
    #[error("{what} of '{url}' is larger than {limit} bytes")]
    TooLarge {
        /// Expected form.
        what: &'static str,
        /// URL of the request, without user info and secret parameters.
        url: String,
        /// The cap.
        limit: u64,
    },
    /// More tags or pages than anyone can use.
    #[error("more than {limit} tags in '{repository}'")]
    TooManyTags {
        /// The repository.
        repository: String,
        /// The cap.
        limit: usize,
    },
    /// A list that goes on elsewhere: we and our credentials do not follow (IR-12).
    #[error("list '{list}' goes on at '{next}', which is not on the same registry")]
    NextPage {
        /// The page before.
        list: String,
        /// Address of the next page.
        next: String,
    },
    /// A header of a list from which no next page can be read.
    #[error("failed to parse link header: missing '{missing}' in: {header}")]
    Link {
        /// The sign that is not there.
        missing: char,
        /// The header.
        header: String,
    },
    /// An upload that goes on elsewhere: we and our credentials do not follow.
    #[error("upload to '{registry}' goes on at '{next}', which is not on the same registry")]
    Upload {
        /// The registry.
        registry: String,
        /// Address of the next request.
        next: String,
    },
    /// A list without an end.
    #[error("list '{list}' leads in a circle")]
    Circle {
        /// The page that came again.
        list: String,
    },
    /// An answer that is not what it should be.
    #[error("{what} of '{url}' is malformed: {reason}")]
    Malformed {
        /// Kind that it should be.
        what: &'static str,
        /// URL of the request, without user info and secret parameters.
        url: String,
        /// The fault found.
        reason: String,
    },
    /// Content that does not have its digest (SRC-SCK-5).
    #[error("content of '{url}' has digest '{actual}', expected '{expected}'")]
    DigestMismatch {
        /// URL of the request, without user info and secret parameters.
        url: String,
        /// Digest in the request.
        expected: String,
        /// Its digest.
        actual: String,
    },
    /// An answer to HEAD that does not say what was asked.
    #[error("HEAD {url}: response did not include Docker-Content-Digest header")]
    NoDigest {
        /// URL of the request, without user info and secret parameters.
        url: String,
    },
    /// A text that is no tag.
    #[error("tag can only contain the characters `{TAG_CHARACTERS}`: {tag}")]
    Tag {
        /// The text.
        tag: String,
    },
    /// A digest that cannot be verified.
    #[error(transparent)]
    Digest(#[from] weir_artifact::DigestError),
    /// An index without an image for this platform.
    #[error("no child with platform linux/amd64 in index {index}")]
    NoPlatform {
        /// The index, with its repository.
        index: String,
    },
    /// The time given for the operation is over.
    #[error("context deadline exceeded")]
    Deadline,
}

impl Error {
    /// Returns true when the registry says that there is no such thing.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: StatusCode::NOT_FOUND, .. })
    }

    /// Returns true when the registry has no pages as large as the one that was asked for.
    pub(crate) fn refuses_page_size(&self) -> bool {
        let has_code = |words: &str| PAGE_SIZE_CODES.iter().any(|code| words.starts_with(code));
        matches!(self, Self::Refused { words, .. } if has_code(words))
    }

    /// Returns true when another try may help (SRC-OCI-15).
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Refused { status, .. } => {
                status.is_server_error()
                    || matches!(*status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
                    || status.as_u16() == CLIENT_CLOSED
            }
            Self::Transport { is_transient, .. } => *is_transient,
            Self::Unreachable { causes } => causes.iter().any(Self::is_transient),
            _ => false,
        }
    }

    /// Returns the time for which the registry wants to be left alone, if it has named one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            Self::Unreachable { causes } => causes.iter().find_map(Self::retry_after),
            _ => None,
        }
    }

    /// Returns the refusal in an answer, without the `secrets` that the server got and may repeat (SRC-SCK-11).
    pub(crate) async fn refused(
        method: &Method,
        url: &Url,
        answer: Response,
        secrets: &[SecretString],
    ) -> Self {
        let (status, retry_after) = (answer.status(), weir_http::asked_wait(answer.headers()));
        let body = weir_http::read_capped(answer, MAX_ERROR_BYTES).await.unwrap_or_default();
        Self::Refused {
            method: method.clone(),
            url: shown(url),
            words: words(method, status, &body, secrets),
            status,
            retry_after,
        }
    }

    /// Returns the same without the secrets that the server got and repeated (SRC-SCK-11).
    pub(crate) fn without(self, secrets: &[SecretString]) -> Self {
        match self {
            Self::Malformed { what, url, reason } => Self::Malformed {
                what,
                url,
                reason: weir_http::redact(&reason, secrets, weir_http::REDACTED),
            },
            other => other,
        }
    }

    pub(crate) fn transport(method: &Method, url: &Url, error: &reqwest::Error) -> Self {
        let is_transient = match error.is_connect() {
            true => error.is_timeout() || may_connect_later(error),
            false => error.is_body() || (!error.is_timeout() && !error.is_redirect()),
        };
        let cause = Unanswered { url: shown(url), ..Unanswered::new(method, url, error) };
        Self::Transport { cause, is_transient }
    }

    /// Returns the error of a request without an answer when the time of its handle was over.
    pub(crate) fn late(method: &Method, url: &Url) -> Self {
        let cause = Unanswered { url: shown(url), ..Unanswered::late(method, url) };
        Self::Transport { cause, is_transient: false }
    }
}

/// Returns true when a connection that was not made may be made soon: it broke off, or the name server was not there. A
/// port that refuses, an unknown name and a bad certificate stay as they are for longer than we wait.
fn may_connect_later(error: &dyn std::error::Error) -> bool {
    let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let broke_off = matches!(
            kind,
            Some(
                ErrorKind::ConnectionReset
                    | ErrorKind::ConnectionAborted
                    | ErrorKind::BrokenPipe
                    | ErrorKind::UnexpectedEof
                    | ErrorKind::TimedOut
            )
        );
        broke_off || RESOLVER_LATER.iter().any(|words| cause.to_string().ends_with(words))
    })
}

/// A URL as errors show it (SRC-SCK-11), with its parameters in order, as Go writes them.
pub(crate) fn shown(url: &Url) -> String {
    let mut parameters: Vec<_> = url.query_pairs().collect();
    parameters.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (key, value) in &parameters {
        let is_shown = SHOWN_PARAMETERS.contains(&&**key);
        query.append_pair(key, if is_shown { value } else { REDACTED });
    }
    let (plain, query) = (weir_http::shown(url), query.finish());
    if query.is_empty() { plain } else { format!("{plain}?{query}") }
}

#[derive(Deserialize)]
struct Diagnostics {
    errors: Vec<Diagnostic>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Diagnostic {
    code: String,
    message: String,
    detail: Value,
}

/// The words of an answer: its structured errors if it has them, else its status and the start of its page.
fn words(method: &Method, status: StatusCode, body: &[u8], secrets: &[SecretString]) -> String {
    let clean = |words: String| weir_http::redact(&words, secrets, weir_http::REDACTED);
    let diagnostics = serde_json::from_slice::<Diagnostics>(body).map(|body| body.errors).unwrap_or_default();
    let lines: Vec<String> = diagnostics.iter().map(Diagnostic::words).collect();
    match lines.as_slice() {
        [] => {
            let page = clean(String::from_utf8_lossy(body).trim().to_owned());
            let page: String = page.chars().take(MAX_PAGE).collect();
            let rest = match (page.is_empty(), method) {
                (false, _) => format!(": {page}"),
                (true, &Method::HEAD) => " (HEAD responses have no body, use GET for details)".to_owned(),
                (true, _) => String::new(),
            };
            format!("unexpected status code {status}{rest}")
        }
        [only] => clean(only.clone()),
        several => clean(format!("multiple errors returned: {}", several.join("; "))),
    }
}

impl Diagnostic {
    fn words(&self) -> String {
        let detail =
            if self.detail.is_null() { String::new() } else { format!("; {}", go_value(&self.detail)) };
        format!("{}: {}{detail}", self.code, self.message)
    }
}

/// A JSON value as Go prints it with `%v`.
fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => format!("[{}]", values.iter().map(go_value).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let mut pairs: Vec<_> =
                map.iter().map(|(key, value)| format!("{key}:{}", go_value(value))).collect();
            pairs.sort();
            format!("map[{}]", pairs.join(" "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://u:p@h/v2/a/tags/list?n=1000", "https://h/v2/a/tags/list?n=1000")]
    #[case(
        "https://ghcr.io/token?service=ghcr.io&scope=repository%3Ao%2Fa%3Apull&account=x",
        "https://ghcr.io/token?account=REDACTED&scope=repository%3Ao%2Fa%3Apull&service=ghcr.io"
    )]
    #[case(
        "https://h/v2/a/blobs/uploads/1?_state=s&digest=sha256:a#f",
        "https://h/v2/a/blobs/uploads/1?_state=REDACTED&digest=sha256%3Aa"
    )]
    fn urls(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(shown(&Url::parse(url).unwrap()), expected);
    }

    #[rstest]
    #[case(
        404,
        r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown","detail":{"Tag":"v9"}}]}"#,
        "MANIFEST_UNKNOWN: manifest unknown; map[Tag:v9]"
    )]
    #[case(
        401,
        r#"{"errors":[{"code":"UNAUTHORIZED","message":"authentication required","detail":null}]}"#,
        "UNAUTHORIZED: authentication required"
    )]
    #[case(
        400,
        r#"{"errors":[{"code":"A","message":"a"},{"code":"B","message":"b","detail":["x",1]}]}"#,
        "multiple errors returned: A: a; B: b; [x 1]"
    )]
    #[case(502, "<html>bad gateway", "unexpected status code 502 Bad Gateway: <html>bad gateway")]
    #[case(404, "", "unexpected status code 404 Not Found")]
    #[case(403, "you are hunter2?", "unexpected status code 403 Forbidden: you are <redacted>?")]
    #[case(
        403,
        r#"{"errors":[{"code":"DENIED","message":"hunter2","detail":{"sent":"Bearer hunter2"}}]}"#,
        "DENIED: <redacted>; map[sent:Bearer <redacted>]"
    )]
    fn answers(#[case] status: u16, #[case] body: &str, #[case] expected: &str) {
        let status = StatusCode::from_u16(status).unwrap_or_default();
        assert_eq!(words(&Method::GET, status, body.as_bytes(), &["hunter2".into()]), expected);
    }

    #[derive(Debug, thiserror::Error)]
    #[error("client error (Connect)")]
    struct Connect(#[source] io::Error);

    /// IR-13.
    #[rstest]
    #[case(io::Error::from(ErrorKind::ConnectionReset), true)]
    #[case(io::Error::from(ErrorKind::UnexpectedEof), true)]
    #[case(io::Error::from(ErrorKind::TimedOut), true)]
    #[case(
        io::Error::other("failed to lookup address information: Temporary failure in name resolution"),
        true
    )]
    #[case(io::Error::other("failed to lookup address information: Try again"), true)]
    #[case(io::Error::other("failed to lookup address information: Name or service not known"), false)]
    #[case(io::Error::from(ErrorKind::ConnectionRefused), false)]
    #[case(io::Error::from(ErrorKind::InvalidData), false)]
    fn connections_that_may_be_made_later(#[case] error: io::Error, #[case] expected: bool) {
        assert_eq!(may_connect_later(&Connect(error)), expected);
    }

    /// The way in is looked for with https and http; one that may work later is reason enough to ask again.
    #[rstest]
    #[case(&[true, false], true)]
    #[case(&[false, true], true)]
    #[case(&[false, false], false)]
    fn ways_that_may_be_found_later(#[case] causes: &[bool], #[case] expected: bool) {
        let cause = |is_transient: &bool| Error::Transport {
            cause: Unanswered { method: "Get", url: String::new(), reason: String::new() },
            is_transient: *is_transient,
        };
        assert_eq!(
            Error::Unreachable { causes: causes.iter().map(cause).collect() }.is_transient(),
            expected
        );
    }

    #[test]
    fn answers_to_head() {
        let expected =
            "unexpected status code 404 Not Found (HEAD responses have no body, use GET for details)";
        assert_eq!(words(&Method::HEAD, StatusCode::NOT_FOUND, b"", &[]), expected);
    }
}
