//! Answers in XML.

use serde::de::DeserializeOwned;

use crate::error::Error;

/// Reads an answer. Entities other than the five of XML are refused, so that a short answer stays short.
pub(crate) fn parse<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T, Error> {
    // Azure puts a byte order mark in front.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| Error::malformed(what, error))?;
    quick_xml::de::from_str(text).map_err(|error| Error::malformed(what, error))
}
