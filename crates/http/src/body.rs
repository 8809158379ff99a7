//! Bodies that are held in memory have a cap.

use bytes::{Bytes, BytesMut};

/// Errors that end the reading of a body early.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// More bytes than the cap.
    #[error("response is larger than {limit} bytes")]
    TooLarge {
        /// The cap.
        limit: usize,
    },
    /// The connection broke.
    #[error(transparent)]
    Broken(#[from] reqwest::Error),
}

/// The whole body, if it has at most `limit` bytes.
///
/// # Errors
/// When it has more, or the connection breaks.
pub async fn read_capped(mut response: reqwest::Response, limit: usize) -> Result<Bytes, BodyError> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > limit {
            return Err(BodyError::TooLarge { limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}
