//! Caps on what is downloaded and unpacked. The defaults are those of consumers, who hold files in memory.

use std::time::Duration;

/// Compressed bytes of one artifact or layer. Larger configuration repositories have been seen only with binaries in
/// them.
const DOWNLOAD: u64 = 512 << 20;
/// Bytes of all files after unpacking: what fits on the temporary volumes of the stock Deployments.
const UNPACKED: u64 = 1 << 30;
/// Entries of an archive: the files of the largest Git tree that is taken (500 000), each with a directory. Their
/// list takes some 200 MiB of memory.
const ENTRIES: usize = 1_000_000;
/// Bytes of one file.
const FILE: u64 = 256 << 20;
/// Components of one path: as many as an archive is written with.
const DEPTH: usize = 128;
/// Time for one download; the default of `spec.timeout`.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Caps for one download and unpacking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Compressed bytes.
    pub download: u64,
    /// Bytes of all unpacked files together.
    pub unpacked: u64,
    /// Number of archive entries.
    pub entries: usize,
    /// Bytes of one unpacked file.
    pub file: u64,
    /// Components of one path.
    pub depth: usize,
    /// Time for a download from connect to the last byte.
    pub timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            download: DOWNLOAD,
            unpacked: UNPACKED,
            entries: ENTRIES,
            file: FILE,
            depth: DEPTH,
            timeout: TIMEOUT,
        }
    }
}

impl Limits {
    /// Limits of what goes to the disk, where [`Room`](crate::Room) guards what is free: nothing else bounds a download or a
    /// single file. `unpacked` is the cap on all files together; 0 is none, as in Flux.
    #[must_use]
    pub fn on_disk(unpacked: u64) -> Self {
        let unpacked = if unpacked == 0 { u64::MAX } else { unpacked };
        Self { download: u64::MAX, unpacked, file: unpacked, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(0, u64::MAX)]
    #[case(4 << 30, 4 << 30)]
    #[case(1 << 20, 1 << 20)]
    fn the_cap_of_the_disk_is_one_for_single_files_too(#[case] asked: u64, #[case] cap: u64) {
        let limits = Limits::on_disk(asked);
        assert_eq!((limits.unpacked, limits.file, limits.download), (cap, cap, u64::MAX));
    }
}
