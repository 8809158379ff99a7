//! Which large files are known to be what their digests say, so that they are not read whole at every run.

use crate::digest::Digest;
use cap_std::fs::{Metadata, MetadataExt};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Smaller files are read each time: that costs less than remembering them all.
const LARGE_BYTES: u64 = 16 << 20;
/// How long a file is believed. A file that is changed is noticed at once; this is for disks that forget.
const TRUSTED: Duration = Duration::from_secs(60 * 60);

/// The state of a file: nobody writes to it without changing this, since no program sets the time of the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl State {
    pub(super) fn of(metadata: &Metadata) -> State {
        State {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Large files by path, with what they were last seen to be. One per object with such an artifact.
#[derive(Debug, Default)]
pub(super) struct Verified {
    files: Mutex<HashMap<String, (State, Digest, Instant)>>,
}

impl Verified {
    /// Whether the file was seen to have this digest, and has not been touched since.
    pub(super) fn holds(&self, path: &str, state: State, digest: &Digest) -> bool {
        let files = self.files.lock();
        let known = files.get(path);
        known.is_some_and(|(known, of, since)| *known == state && of == digest && since.elapsed() < TRUSTED)
    }

    /// Notes that a file in this state has this digest.
    pub(super) fn note(&self, path: &str, state: State, digest: &Digest) {
        if state.size >= LARGE_BYTES {
            let mut files = self.files.lock();
            files.retain(|_, (.., since)| since.elapsed() < TRUSTED);
            files.insert(path.to_owned(), (state, digest.clone(), Instant::now()));
        }
    }
}
