//! Objects of a bucket: their entries in a listing, and their content on its way.

use bytes::Bytes;
use reqwest::{Method, Response, header};

use crate::error::Error;

/// Header in which Google names the generation of what it sends.
const GENERATION: &str = "x-goog-generation";

/// An object as the listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its name, exactly as the server has it.
    pub key: String,
    /// Tag that changes with its content, without quotes; size and time of change where a server has none.
    pub etag: String,
    /// Its bytes.
    pub size: u64,
    /// Value that pins the content in a request: the etag, or the generation (Google). Empty when there is none.
    pub(crate) pin: String,
}

impl Object {
    /// An object of which only the key is known: the newest content is meant.
    #[must_use]
    pub fn newest(key: &str) -> Self {
        Self { key: key.to_owned(), etag: String::new(), size: 0, pin: String::new() }
    }

    /// The same object, whatever its content is by now.
    pub(crate) fn unpinned(&self) -> Self {
        Self { pin: String::new(), ..self.clone() }
    }
}

/// An etag without its quotes and without the mark of a weak one. Lists and answers of one server write it differently
/// (DEV 6).
pub(crate) fn bare_etag(etag: &str) -> &str {
    let etag = etag.trim();
    etag.strip_prefix("W/").unwrap_or(etag).trim_matches('"')
}

/// The content of an object that is being read.
pub struct Download {
    response: Response,
    key: String,
    etag: String,
    promised: Option<u64>,
    seen: u64,
    limit: u64,
}

impl Download {
    pub(crate) fn new(response: Response, object: &Object, limit: u64) -> Self {
        let value = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        // Of the generation that the listing shows the answer may have an etag of another kind.
        let is_generation = !object.pin.is_empty() && value(GENERATION) == Some(object.pin.as_str());
        let etag = value(header::ETAG.as_str()).filter(|_| !is_generation);
        let etag = etag.map_or_else(|| object.etag.clone(), |etag| bare_etag(etag).to_owned());
        // The listing knows the size of what it was pinned to, should the answer's length be wrong. (What Google pins by
        // generation may come unpacked, and so larger or smaller.)
        let is_listed = !etag.is_empty() && bare_etag(&object.pin) == etag;
        let promised = if is_listed { Some(object.size) } else { response.content_length() };
        Self { response, key: object.key.clone(), etag, promised, seen: 0, limit }
    }

    /// The etag of this content.
    #[must_use]
    pub fn etag(&self) -> &str {
        &self.etag
    }

    /// The next bytes; nothing after the last ones, and then all that was promised has come.
    ///
    /// # Errors
    /// Fails when the connection breaks, or there are more bytes than the cap. Nothing read before may be used then.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let url = self.response.url().clone();
        if self.promised.is_some_and(|promised| promised > self.limit) {
            return Err(self.too_large());
        }
        match self.response.chunk().await.map_err(|error| Error::transport(&Method::GET, &url, &error))? {
            Some(chunk) => {
                self.seen += chunk.len() as u64;
                if self.seen > self.limit { Err(self.too_large()) } else { Ok(Some(chunk)) }
            }
            None => match self.promised {
                Some(promised) if promised != self.seen => {
                    Err(Error::Truncated { key: self.key.clone(), promised, seen: self.seen })
                }
                _ => Ok(None),
            },
        }
    }

    /// The whole content, for small objects.
    ///
    /// # Errors
    /// As [`Download::next`].
    pub async fn read(mut self) -> Result<Vec<u8>, Error> {
        let mut content = Vec::new();
        while let Some(chunk) = self.next().await? {
            content.extend_from_slice(&chunk);
        }
        Ok(content)
    }

    fn too_large(&self) -> Error {
        Error::TooLarge { what: format!("object '{}'", self.key), limit: self.limit }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::of_the_listed_generation("17", Some("17"), "listed")]
    #[case::of_another_generation("17", Some("18"), "answer")]
    #[case::of_no_generation("17", None, "answer")]
    #[case::not_pinned("", Some("17"), "answer")]
    #[case::pinned_by_etag("listed", None, "answer")]
    fn content_has_the_etag_of_what_it_is(
        #[case] pin: &str,
        #[case] generation: Option<&str>,
        #[case] expected: &str,
    ) {
        let mut answer = axum::http::Response::builder().header(header::ETAG, "\"answer\"");
        if let Some(generation) = generation {
            answer = answer.header(GENERATION, generation);
        }
        let object = Object { key: "a".to_owned(), etag: "listed".to_owned(), size: 3, pin: pin.to_owned() };
        let download = Download::new(answer.body("").unwrap().into(), &object, 10);
        assert_eq!(download.etag(), expected);
    }

    #[rstest]
    #[case("\"0x8D4BCC2E4835CD0\"", "0x8D4BCC2E4835CD0")]
    #[case("0x8D4BCC2E4835CD0", "0x8D4BCC2E4835CD0")]
    #[case("W/\"abc\"", "abc")]
    #[case("\"d41d8cd98f00b204e9800998ecf8427e-2\"", "d41d8cd98f00b204e9800998ecf8427e-2")]
    #[case("", "")]
    fn etags_are_compared_without_dress(#[case] written: &str, #[case] bare: &str) {
        assert_eq!(bare_etag(written), bare);
    }
}
