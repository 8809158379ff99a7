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

/// Bytes that stay in memory; typical artifacts are a few KiB and never touch the disk.
const IN_MEMORY: usize = 1 << 20;

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

/// Takes an artifact chunk by chunk, whatever it comes through (HTTP, gRPC).
pub struct Spool {
    expected: Digest,
    hasher: Hasher,
    limit: u64,
    size: u64,
    file: SpooledTempFile,
    room: Room,
}

impl Spool {
    /// A spool for an artifact of the given digest and at most `limit` bytes.
    #[must_use]
    pub fn new(expected: &Digest, limit: u64) -> Self {
        Self {
            hasher: Hasher::new(expected.algorithm()),
            expected: expected.clone(),
            limit,
            size: 0,
            file: SpooledTempFile::new(IN_MEMORY),
            room: Room::for_temporary_files(),
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// When they are too many or cannot be kept.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), SpoolError> {
        self.size = self.size.saturating_add(chunk.len() as u64);
        if self.size > self.limit {
            return Err(SpoolError::TooLarge { limit: self.limit });
        }
        self.hasher.update(chunk);
        if self.size > IN_MEMORY as u64 {
            self.room.take(chunk.len() as u64).map_err(|source| SpoolError::Io { source })?;
        }
        self.file.write_all(chunk).map_err(|source| SpoolError::Io { source })
    }

    /// Returns the artifact, if it has its digest.
    ///
    /// # Errors
    /// [`SpoolError::Mismatch`] if it is not.
    pub fn finish(mut self) -> Result<VerifiedBlob, SpoolError> {
        if self.hasher.finish() != self.expected {
            return Err(SpoolError::Mismatch { expected: self.expected });
        }
        self.file.rewind().map_err(|source| SpoolError::Io { source })?;
        Ok(VerifiedBlob { file: self.file, size: self.size })
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

    /// The archive itself, from its first byte.
    #[must_use]
    pub fn into_reader(self) -> impl io::Read {
        self.file
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
    pub fn directory(self, limits: Limits) -> Result<tempfile::TempDir, FetchError> {
        let directory = tempfile::tempdir().map_err(|source| FetchError::Unpack { source })?;
        Untar::new(limits).to_directory(self.file, directory.path())?;
        Ok(directory)
    }
}
