//! The files that a build has read: they decide if it must be done again.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::fs::{FileKind, FileSystem, FsPath};
use crate::yaml::MAX_FILE;

/// The entry found at a path.
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

/// The paths that a build has read, with the entries found.
///
/// A build is a function of its options and these answers: while they hold, its result holds. Files fetched from
/// elsewhere are not among them, because nobody knows if they are still the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSet {
    entries: BTreeMap<FsPath, Seen>,
    has_fetched: bool,
}

impl ReadSet {
    pub(crate) fn new(entries: BTreeMap<FsPath, Seen>, has_fetched: bool) -> Self {
        Self { entries, has_fetched }
    }

    /// Paths with what was found, in order of paths.
    pub fn iter(&self) -> impl Iterator<Item = (&FsPath, &Seen)> {
        self.entries.iter()
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true when nothing was looked at.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns true when the build has fetched anything from elsewhere.
    pub fn has_fetched(&self) -> bool {
        self.has_fetched
    }

    /// Returns true when a build from `fs` would surely find the same everywhere: never, if it has fetched anything.
    /// Reads every file of the set.
    pub fn still_holds(&self, fs: &dyn FileSystem) -> bool {
        !self.has_fetched
            && self.entries.iter().all(|(path, seen)| match (seen, fs.resolve(path)) {
                (Seen::Missing, found) => found.is_err(),
                (Seen::Directory, Ok((_, kind))) => kind == FileKind::Directory,
                (Seen::File { sha256 }, Ok((_, FileKind::File))) => {
                    fs.read(path, MAX_FILE).is_ok_and(|content| Sha256::digest(&content).as_slice() == sha256)
                }
                _ => false,
            })
    }
}
