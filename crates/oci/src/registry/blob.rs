//! A layer on its way: never more bytes than promised, and at the end the digest that was promised (SRC-SCK-5).

use super::mismatch;
use crate::error::Error;
use crate::manifest::Descriptor;
use bytes::Bytes;
use reqwest::{Method, Response};
use tokio::time::Instant;
use weir_artifact::{Digest, Hasher};

/// A layer that is being read.
pub struct Blob {
    response: Response,
    expected: Digest,
    size: u64,
    seen: u64,
    hasher: Option<Hasher>,
    deadline: Instant,
}

impl Blob {
    pub(super) fn new(response: Response, layer: &Descriptor, deadline: Instant) -> Blob {
        Blob {
            response,
            expected: layer.digest.clone(),
            size: layer.size,
            seen: 0,
            hasher: Some(Hasher::new(layer.digest.algorithm())),
            deadline,
        }
    }

    /// Bytes that the manifest promises.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The next bytes; nothing after the last ones, and then the content was what its digest says.
    ///
    /// # Errors
    /// When the connection breaks, the time is over, or the content is not what was promised. What was read before must
    /// not be used then.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let url = self.response.url().clone();
        let chunk = tokio::time::timeout_at(self.deadline, self.response.chunk())
            .await
            .map_err(|_| Error::Deadline)?;
        match chunk.map_err(|error| Error::transport(&Method::GET, &url, &error))? {
            Some(chunk) => {
                self.seen += chunk.len() as u64;
                if self.seen > self.size {
                    return Err(Error::TooLarge { what: "layer", url: url.to_string(), limit: self.size });
                }
                if let Some(hasher) = &mut self.hasher {
                    hasher.update(&chunk);
                }
                Ok(Some(chunk))
            }
            None => match self.hasher.take().map(Hasher::finish) {
                Some(actual) if actual != self.expected => Err(mismatch(&url, &self.expected, &actual)),
                _ => Ok(None),
            },
        }
    }
}
