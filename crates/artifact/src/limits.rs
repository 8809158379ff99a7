//! Caps on what is downloaded and unpacked (DESIGN §6). Services widen them by flags where a spec says so.

use std::time::Duration;

/// Compressed bytes of one artifact or layer. Larger configuration repositories have been seen only with binaries in
/// them.
const DOWNLOAD: u64 = 512 << 20;
/// Bytes of all files after unpacking: what fits on the temporary volumes of the stock Deployments.
const UNPACKED: u64 = 1 << 30;
/// Entries of an archive. A checkout of the Linux kernel has 90 000.
const ENTRIES: usize = 200_000;
/// Bytes of one file.
const FILE: u64 = 256 << 20;
/// Components of one path.
const DEPTH: usize = 64;
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
        Limits {
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
    /// The same limits with another cap on what is unpacked, whether in one file or in many; 0 is no cap, the disk decides.
    #[must_use]
    pub fn unpacking(self, unpacked: u64) -> Limits {
        let unpacked = if unpacked == 0 { u64::MAX } else { unpacked };
        Limits { unpacked, file: if unpacked > self.unpacked { unpacked } else { self.file }, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(0, u64::MAX, u64::MAX)]
    #[case(4 << 30, 4 << 30, 4 << 30)]
    #[case(1 << 20, 1 << 20, FILE)]
    fn a_wider_cap_is_one_for_single_files_too(#[case] asked: u64, #[case] unpacked: u64, #[case] file: u64) {
        let limits = Limits::default().unpacking(asked);
        assert_eq!((limits.unpacked, limits.file), (unpacked, file));
    }
}
