//! The free space of a file system (SRC 14.6). Anything whose size an archive or a server decides stops before the
//! disk is full, so that everything else that lives there goes on. Other processes write too: a disk that is full
//! nevertheless gives the same [`io::ErrorKind::StorageFull`].

use std::io;
use std::path::{Path, PathBuf};

/// The part of a file system that is left alone, one of so many: small volumes are not lost to the reserve.
const RESERVE_PART: u64 = 20;
/// Bytes that are left alone at most: the artifacts of some hundred other objects, whatever the size of the disk.
const MAX_RESERVE_BYTES: u64 = 64 << 20;
/// Bytes that are written between two looks. A quarter of the reserve, since several threads write at a time.
const LOOK_BYTES: u64 = MAX_RESERVE_BYTES / 4;
/// Bytes that an entry takes at least, whatever its size: a block.
const BLOCK_BYTES: u64 = 4096;

/// There is less space than is wanted and kept in reserve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no space left on device: {wanted} bytes are wanted at {path}, where {free} are free and {reserve} stay in reserve; \
     give that volume more space, or limit what is unpacked"
)]
pub struct NoRoom {
    /// File that was to be written.
    pub path: String,
    /// Bytes that were to be written.
    pub wanted: u64,
    /// Bytes that are free.
    pub free: u64,
    /// Bytes that are left alone.
    pub reserve: u64,
}

/// Counts what one writer adds to a file system, and ends it in time.
#[derive(Debug)]
pub struct Room {
    path: PathBuf,
    /// Bytes that may be written before the next look.
    granted: u64,
}

impl Room {
    /// The room below a folder.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), granted: 0 }
    }

    /// The room for temporary files.
    #[must_use]
    pub fn for_temporary_files() -> Self {
        Self::at(&std::env::temp_dir())
    }

    /// To be called before an entry of this many bytes is made.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] with [`NoRoom`] when the reserve would be touched.
    pub fn entry(&mut self, bytes: u64) -> io::Result<()> {
        self.take(bytes.max(BLOCK_BYTES))
    }

    /// To be called before this many bytes are written.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] with [`NoRoom`] when the reserve would be touched.
    pub fn take(&mut self, bytes: u64) -> io::Result<()> {
        if bytes > self.granted {
            let space = rustix::fs::statvfs(&self.path)?;
            let (total, free) = (space.f_blocks, space.f_bavail);
            let in_bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
            self.granted = self.grant(bytes, in_bytes(total), in_bytes(free)).map_err(full)?;
        }
        self.granted = self.granted.saturating_sub(bytes);
        Ok(())
    }

    /// Bytes that may be written before the next look, at least those that are wanted now.
    fn grant(&self, wanted: u64, total: u64, free: u64) -> Result<u64, NoRoom> {
        // File systems that do not know their size say nothing.
        let reserve = (total / RESERVE_PART).min(MAX_RESERVE_BYTES);
        let spare = if total == 0 { u64::MAX } else { free.saturating_sub(reserve) };
        if wanted > spare {
            return Err(NoRoom { path: self.path.display().to_string(), wanted, free, reserve });
        }
        Ok(wanted.max(spare.min(LOOK_BYTES)))
    }
}

/// Returns true when it is the disk that failed, and not names that cannot be or do not go together, as of a file and
/// of a folder.
#[must_use]
pub fn is_of_disk(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, InvalidFilename, IsADirectory, NotADirectory};
    !matches!(error.kind(), AlreadyExists | InvalidFilename | IsADirectory | NotADirectory)
}

fn full(error: NoRoom) -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, error)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const MIB: u64 = 1 << 20;

    #[rstest]
    #[case::small_volume(1, 100 * MIB, 10 * MIB, Some(5 * MIB))]
    #[case::up_to_the_reserve(5 * MIB, 100 * MIB, 10 * MIB, Some(5 * MIB))]
    #[case::into_the_reserve(5 * MIB + 1, 100 * MIB, 10 * MIB, None)]
    #[case::nothing_but_reserve(1, 100 * MIB, 5 * MIB, None)]
    #[case::large_volume(1, 1 << 50, 65 * MIB, Some(MIB))]
    #[case::far_from_full(1, 1 << 50, 1 << 49, Some(LOOK_BYTES))]
    #[case::more_than_a_step(100 * MIB, 1 << 50, 1 << 49, Some(100 * MIB))]
    #[case::says_nothing(1 << 40, 0, 0, Some(1 << 40))]
    fn what_may_be_written(
        #[case] wanted: u64,
        #[case] total: u64,
        #[case] free: u64,
        #[case] granted: Option<u64>,
    ) {
        assert_eq!(Room::at(Path::new("/data")).grant(wanted, total, free).ok(), granted);
    }

    #[test]
    fn what_no_disk_holds_is_refused_with_the_place() {
        let error = Room::for_temporary_files().take(1 << 60).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let place = std::env::temp_dir().display().to_string();
        assert!(error.to_string().contains(&place), "{error}");
    }
}
