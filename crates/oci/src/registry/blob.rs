//! A layer on its way: never more bytes than promised, and at the end the digest that was promised (SRC-SCK-5).

use bytes::{Bytes, BytesMut};
use reqwest::{Method, StatusCode};
use weir_artifact::{Digest, Hasher};

use super::layers::Layers;
use super::send::{Extra, below};
use super::{Answer, Registry, mismatch, too_large};
use crate::error::Error;
use crate::manifest::Descriptor;

/// Times that a broken connection is taken up again: as many as a request is tried again.
const MAX_RESUMED: u32 = 3;

/// A layer that is being read.
pub struct Blob<'a> {
    size: u64,
    origin: Origin<'a>,
}

enum Origin<'a> {
    /// Content that the same reader has pulled a moment ago, until it is handed out.
    Memory(Option<Bytes>),
    Registry(Box<Pull<'a>>),
}

impl<'a> Blob<'a> {
    pub(super) fn kept(bytes: Bytes) -> Self {
        Blob { size: bytes.len() as u64, origin: Origin::Memory(Some(bytes)) }
    }

    pub(super) fn pulled(registry: &'a mut Registry, answer: Answer, layer: &Descriptor) -> Self {
        let pull = Pull {
            registry,
            answer,
            expected: layer.digest.clone(),
            size: layer.size,
            seen: 0,
            resumed: 0,
            hasher: Some(Hasher::new(layer.digest.algorithm())),
            kept: Layers::takes(layer.size).then(BytesMut::new),
        };
        Blob { size: layer.size, origin: Origin::Registry(Box::new(pull)) }
    }

    /// Bytes that the manifest promises.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the next bytes; nothing after the last ones, and then the content had its digest.
    ///
    /// # Errors
    /// Fails when the connection breaks for good, the time is over, or the content does not have the promised digest.
    /// Nothing read before may be used then.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match &mut self.origin {
            Origin::Memory(bytes) => Ok(bytes.take()),
            Origin::Registry(pull) => pull.next().await,
        }
    }
}

struct Pull<'a> {
    registry: &'a mut Registry,
    answer: Answer,
    expected: Digest,
    size: u64,
    seen: u64,
    resumed: u32,
    hasher: Option<Hasher>,
    /// Bytes received so far, of a layer that is small enough to be kept.
    kept: Option<BytesMut>,
}

impl Pull<'_> {
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(chunk) = self.chunk().await? else { return self.finish().map(|()| None) };
        self.seen += chunk.len() as u64;
        if self.seen > self.size {
            return Err(too_large("layer", &self.answer.asked, self.size));
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&chunk);
        }
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(&chunk);
        }
        Ok(Some(chunk))
    }

    /// Compares what has come with the digest, once.
    fn finish(&mut self) -> Result<(), Error> {
        let Some(actual) = self.hasher.take().map(Hasher::finish) else { return Ok(()) };
        if actual != self.expected {
            return Err(mismatch(&self.answer.asked, &self.expected, &actual));
        }
        if let Some(kept) = self.kept.take() {
            let reader = self.registry.reader.clone();
            self.registry.layers.keep(reader, actual, kept.freeze());
        }
        Ok(())
    }

    /// The next bytes of the connection, or of another one where it breaks (SRC-OCI-15).
    async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let chunk = self.registry.in_time(self.answer.response.chunk()).await?;
            let error = match chunk {
                Ok(chunk) => return Ok(chunk),
                // A server that promises more than the manifest has sent everything; the digest shows if it is right.
                Err(_) if self.seen == self.size => return Ok(None),
                Err(error) => Error::transport(&Method::GET, &self.answer.asked, &error),
            };
            if self.resumed >= MAX_RESUMED || !self.resume().await? {
                return Err(error);
            }
        }
    }

    /// Asks for the bytes that have not come yet; false where the registry gives none but all.
    async fn resume(&mut self) -> Result<bool, Error> {
        self.resumed += 1;
        tracing::debug!(layer = %self.expected, seen = self.seen, "layer broke off and is resumed");
        let path = format!("{}/blobs/{}", self.registry.repository.path(), self.expected);
        let locate = move |base: &url::Url| below(base, &path);
        let extra = Extra { start: self.seen, ..Extra::default() };
        self.answer = self.registry.request_with(extra, Method::GET, locate).await?;
        Ok(self.seen == 0 || self.answer.response.status() == StatusCode::PARTIAL_CONTENT)
    }
}
