//! The body of a request that writes: bytes, or a file that is read piece by piece.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, Stream};
use reqwest::{Body, RequestBuilder, header};

/// Bytes of a file that are read at once.
const PIECE: usize = 256 * 1024;

/// The body of a request. Every try of the request sends it from the start.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// Bytes in memory.
    Bytes(Bytes),
    /// A file of this many bytes.
    File(Arc<File>, u64),
}

impl Content {
    /// Returns the request with this body.
    pub(super) fn sent_with(&self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Self::Bytes(bytes) => request.body(bytes.clone()),
            // Registries want to know the size before the first byte.
            Self::File(file, size) => request
                .header(header::CONTENT_LENGTH, *size)
                .body(Body::wrap_stream(pieces(Arc::clone(file), *size))),
        }
    }
}

/// Reads a file at positions of its own: another try may still be reading it.
fn pieces(file: Arc<File>, size: u64) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::try_unfold(0, move |at| {
        let file = Arc::clone(&file);
        async move {
            if at >= size {
                return Ok(None);
            }
            let reading = tokio::task::spawn_blocking(move || piece(&file, at, size));
            let piece = reading.await.map_err(io::Error::other)??;
            let next = at + piece.len() as u64;
            Ok(Some((piece, next)))
        }
    })
}

fn piece(file: &File, at: u64, size: u64) -> io::Result<Bytes> {
    let left = usize::try_from(size.saturating_sub(at)).unwrap_or(PIECE);
    let mut piece = vec![0; left.min(PIECE)];
    file.read_exact_at(&mut piece, at)?;
    Ok(piece.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use futures::TryStreamExt;

    use super::*;

    /// CLI-ART03: no more of a layer than a piece is in memory.
    #[tokio::test]
    async fn a_file_comes_in_pieces() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 2 * PIECE + 1]).unwrap();
        let file = Arc::new(file);
        let read =
            |size: u64| pieces(Arc::clone(&file), size).map_ok(|piece| piece.len()).try_collect::<Vec<_>>();
        let lengths: Vec<_> = read(2 * PIECE as u64 + 1).await.unwrap();
        assert_eq!(lengths, [PIECE, PIECE, 1]);
        let longer: io::Result<Vec<_>> = read(2 * PIECE as u64 + 2).await;
        assert!(longer.is_err(), "a file that has become shorter is no blob");
    }
}
