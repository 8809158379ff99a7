//! What a build has looked at: the reason to build again, or not to.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::fs::{FileKind, FileSystem, RelPath};

/// What stood at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// A file with this content.
    File {
        /// SHA-256 of the content.
        sha256: [u8; 32],
    },
    /// A directory.
    Directory,
    /// Nothing, or nothing that could be reached.
    Missing,
}

/// Every path a build asked for, with what it found.
///
/// A build is a function of its options and these answers: while they hold, its result holds. What was fetched from
/// elsewhere is not among them, because nobody knows whether it is still the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSet {
    entries: BTreeMap<RelPath, Seen>,
    has_fetched: bool,
}

impl ReadSet {
    pub(crate) fn new(entries: BTreeMap<RelPath, Seen>, has_fetched: bool) -> Self {
        Self { entries, has_fetched }
    }

    /// Paths with what was found, in order of paths.
    pub fn iter(&self) -> impl Iterator<Item = (&RelPath, &Seen)> {
        self.entries.iter()
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was looked at.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the build has fetched anything from elsewhere.
    pub fn has_fetched(&self) -> bool {
        self.has_fetched
    }

    /// Whether a build from `fs` would surely find the same everywhere: never, if it has fetched anything. Reads every file
    /// of the set.
    pub fn still_holds(&self, fs: &dyn FileSystem) -> bool {
        let limit = weir_yaml::Limits::default().bytes as u64;
        !self.has_fetched
            && self.entries.iter().all(|(path, seen)| match (seen, fs.resolve(path)) {
                (Seen::Missing, found) => found.is_err(),
                (Seen::Directory, Ok((_, kind))) => kind == FileKind::Directory,
                (Seen::File { sha256 }, Ok((_, FileKind::File))) => {
                    fs.read(path, limit).is_ok_and(|content| Sha256::digest(&content).as_slice() == sha256)
                }
                _ => false,
            })
    }
}
