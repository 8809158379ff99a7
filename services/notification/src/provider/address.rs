//! Reading addresses as Go's `url.ParseRequestURI` does, with its words for what is wrong.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;
use weir_http::go_url;

use super::InitError;

/// Everything but the unreserved characters of RFC 3986.
pub(super) const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Parses an absolute http(s) URL (NTF-56).
///
/// # Errors
/// The text that Go gives.
pub fn parse(raw: &str) -> Result<Url, String> {
    let fail = |reason: &str| Err(format!("parse {raw:?}: {reason}"));
    if raw.is_empty() {
        return fail("empty url");
    }
    if raw.chars().any(|c| c.is_ascii_control()) {
        return fail("net/url: invalid control character in URL");
    }
    if raw.starts_with(':') {
        return fail("missing protocol scheme");
    }
    if go_url::scheme(raw).is_empty() {
        return fail("invalid URI for request");
    }
    match go_url::parse(raw) {
        Ok(url) if url.has_host() && matches!(url.scheme(), "http" | "https") => Ok(url),
        Ok(url) if url.has_host() => fail(&format!("unsupported protocol scheme {:?}", url.scheme())),
        Ok(_) => fail("invalid URI for request"),
        Err(text) => Err(text),
    }
}

/// As [`parse`], with the words of most chat services around the error.
///
/// # Errors
/// As [`parse`].
pub fn hook(service: &str, raw: &str) -> Result<Url, InitError> {
    parse(raw).map_err(|reason| InitError::Address(format!("invalid {service} URL {raw}: '{reason}'")))
}

/// The URL with another path and nothing after it.
pub fn with_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Encodes pairs as a form or a query, byte for byte as Go does: sorted by key.
pub fn encode_pairs(mut pairs: Vec<(Cow<'_, str>, Cow<'_, str>)>) -> String {
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let escape = |text: &str| utf8_percent_encode(text, SEGMENT).to_string().replace("%20", "+");
    let pairs = pairs.iter().map(|(key, value)| format!("{}={}", escape(key), escape(value)));
    pairs.collect::<Vec<_>>().join("&")
}
