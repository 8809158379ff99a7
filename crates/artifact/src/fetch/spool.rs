//! Bytes on their way from a peer: counted, hashed, kept in memory while they are few.

use std::collections::BTreeMap;
use std::io::{self, Seek, Write};

use tempfile::SpooledTempFile;

use super::FetchError;
use crate::digest::{Digest, Hasher};
use crate::limits::Limits;
use crate::path::RelPath;
use crate::room::Room;
use crate::untar::{FileMap, FileStack, Span, Untar, UntarError};
use crate::work_folder::WorkFolder;

/// Bytes that stay in memory; typical artifacts are a few KiB and never touch the disk.
const IN_MEMORY: usize = 1 << 20;
/// Bytes that are hashed and written at a time, on a blocking thread: many small chunks would cost a thread each.
const BATCH: usize = 256 << 10;

/// Bytes that are hashed at once where they come in, while none is on the disk: less work than to ask another thread for it.
const INLINE: usize = 64 << 10;

/// Errors that end a download.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// More bytes than the cap.
    #[error("artifact is larger than {limit} bytes")]
    TooLarge {
        /// The cap.
        limit: u64,
    },
    /// All bytes are there, but they are not what was promised. The digest of the bytes is not shown: to know an artifact's
    /// digest is to be allowed to use it, and whoever can forge a status could ask for anybody's.
    #[error(
        "computed digest doesn't match provided '{expected}' (check whether file size exceeds max download size)"
    )]
    Mismatch {
        /// Digest promised.
        expected: Digest,
    },
    /// The temporary file could not be written.
    #[error("failed to keep artifact: {source}")]
    Io {
        /// The file system's words.
        #[source]
        source: io::Error,
    },
}

/// Takes an artifact chunk by chunk, whatever it comes through (HTTP, gRPC). The disk and the digest are no work of the
/// reactor's.
pub struct Spool {
    expected: Digest,
    limit: u64,
    size: u64,
    /// Bytes that are not kept yet.
    pending: Vec<u8>,
    /// Bytes before them; none while, and after, keeping them failed.
    kept: Option<Kept>,
}

/// The first bytes of an artifact, hashed and in their file.
struct Kept {
    hasher: Hasher,
    file: SpooledTempFile,
    size: usize,
    room: Room,
}

impl Spool {
    /// A spool for an artifact of the given digest and at most `limit` bytes.
    #[must_use]
    pub fn new(expected: &Digest, limit: u64) -> Self {
        let kept = Kept {
            hasher: Hasher::new(expected.algorithm()),
            file: SpooledTempFile::new(IN_MEMORY),
            size: 0,
            room: Room::for_temporary_files(),
        };
        Self { expected: expected.clone(), limit, size: 0, pending: Vec::new(), kept: Some(kept) }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// When they are too many or cannot be kept.
    pub async fn push(&mut self, chunk: &[u8]) -> Result<(), SpoolError> {
        self.size = self.size.saturating_add(chunk.len() as u64);
        if self.size > self.limit {
            return Err(SpoolError::TooLarge { limit: self.limit });
        }
        self.pending.extend_from_slice(chunk);
        if self.pending.len() < BATCH {
            return Ok(());
        }
        let kept = self.keep().await?;
        self.kept = Some(kept);
        Ok(())
    }

    /// Returns the artifact, if it has its digest.
    ///
    /// # Errors
    /// [`SpoolError::Mismatch`] if it is not.
    pub async fn finish(mut self) -> Result<VerifiedBlob, SpoolError> {
        let Kept { hasher, mut file, .. } = self.keep().await?;
        if hasher.finish() != self.expected {
            return Err(SpoolError::Mismatch { expected: self.expected });
        }
        file.rewind().map_err(|source| SpoolError::Io { source })?;
        Ok(VerifiedBlob { file, size: self.size })
    }

    /// Hashes and writes the pending bytes.
    async fn keep(&mut self) -> Result<Kept, SpoolError> {
        let bytes = std::mem::take(&mut self.pending);
        let kept = self.kept.take();
        let is_small = bytes.len() <= INLINE && self.size <= IN_MEMORY as u64;
        let keep = move || kept.ok_or(io::ErrorKind::BrokenPipe)?.with(&bytes);
        let kept = match is_small {
            true => keep(),
            false => tokio::task::spawn_blocking(keep).await.map_err(io::Error::other).flatten(),
        };
        kept.map_err(|source| SpoolError::Io { source })
    }
}

impl Kept {
    fn with(mut self, bytes: &[u8]) -> io::Result<Self> {
        self.hasher.update(bytes);
        self.size += bytes.len();
        if self.size > IN_MEMORY {
            self.room.take(bytes.len() as u64)?;
        }
        self.file.write_all(bytes)?;
        Ok(self)
    }
}

/// An archive whose content is what its digest promised.
pub struct VerifiedBlob {
    file: SpooledTempFile,
    size: u64,
}

impl VerifiedBlob {
    /// Bytes of the archive.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Unpacks into memory; blocks. Symlinks are left out.
    ///
    /// # Errors
    /// When the archive is not safe to unpack.
    pub fn files(self, limits: Limits) -> Result<FileMap, UntarError> {
        Untar::new(limits).to_map(self.file)
    }

    /// Unpacks for those who read a few of the files, none of more than `largest` bytes, without holding more than a little of it
    /// in memory; blocks. Symlinks are left out.
    ///
    /// # Errors
    /// When the archive is not safe to unpack or cannot be written.
    pub fn stack(
        self,
        limits: Limits,
        largest: u64,
    ) -> Result<(BTreeMap<RelPath, Span>, FileStack), UntarError> {
        Untar::new(limits).to_stack(self.file, largest)
    }

    /// Unpacks into a fresh temporary directory; blocks. Symlinks are left out.
    ///
    /// # Errors
    /// When the archive is not safe to unpack or cannot be written.
    pub fn directory(self, limits: Limits) -> Result<WorkFolder, FetchError> {
        let directory = WorkFolder::new().map_err(|source| FetchError::Unpack { source })?;
        Untar::new(limits).to_directory(self.file, directory.path())?;
        Ok(directory)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use rstest::rstest;

    use super::*;
    use crate::Algorithm;

    #[rstest]
    #[case::in_memory(3)]
    #[case::a_batch(BATCH)]
    #[case::on_disk(IN_MEMORY + BATCH + 1)]
    #[tokio::test]
    async fn what_comes_in_comes_out(#[case] size: usize, #[values(1000, 1 << 19)] chunk: usize) {
        let bytes: Vec<u8> = (0..size).map(|index| (index % 251) as u8).collect();
        let mut spool = Spool::new(&Digest::of(Algorithm::Sha256, &bytes), size as u64);
        for chunk in bytes.chunks(chunk) {
            spool.push(chunk).await.unwrap();
        }
        let mut blob = spool.finish().await.unwrap();
        let mut read = Vec::new();
        assert_eq!(blob.size(), size as u64);
        blob.file.read_to_end(&mut read).unwrap();
        assert!(read == bytes);
    }

    /// Without a runtime there is no other thread.
    #[test]
    fn a_few_bytes_need_no_other_thread() {
        let bytes = vec![7; INLINE];
        let spool = Spool::new(&Digest::of(Algorithm::Sha256, &bytes), INLINE as u64);
        let taken = async move {
            let mut spool = spool;
            spool.push(&bytes).await.unwrap();
            spool.finish().await.unwrap().size()
        };
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(pin!(taken).poll(&mut context), Poll::Ready(INLINE as u64));
    }

    #[tokio::test]
    async fn too_much_and_something_else_are_refused() {
        let mut spool = Spool::new(&Digest::of(Algorithm::Sha256, b"abc"), 3);
        spool.push(b"abd").await.unwrap();
        assert!(matches!(spool.push(b"d").await, Err(SpoolError::TooLarge { limit: 3 })));
        let mut spool = Spool::new(&Digest::of(Algorithm::Sha256, b"abc"), 3);
        spool.push(b"abd").await.unwrap();
        assert!(matches!(spool.finish().await, Err(SpoolError::Mismatch { .. })));
    }
}
