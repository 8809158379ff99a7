//! An unpacked source: what is in it, and its files.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File};
use weir_artifact::archive::walk;
use weir_artifact::{DirectoryTree, RelPath, TreeKind};

/// A source on disk. Nothing outside its directory is reached through it.
#[derive(Debug)]
pub(super) struct SourceTree {
    root: Dir,
    /// In the order of a walk: a directory before what is in it, names bytewise.
    entries: Vec<(RelPath, TreeKind)>,
    kinds: HashMap<RelPath, TreeKind>,
}

impl SourceTree {
    /// Lists the directory.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let root = Dir::open_ambient_dir(path, ambient_authority())?;
        let mut entries = Vec::new();
        walk(&DirectoryTree::new(root.try_clone()?), |path, kind| {
            entries.push((path.clone(), kind));
            Ok(())
        })?;
        let kinds = entries.iter().cloned().collect();
        Ok(Self { root, entries, kinds })
    }

    /// All entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&RelPath, TreeKind)> {
        self.entries.iter().map(|(path, kind)| (path, *kind))
    }

    /// The entries below a directory; of the root without one.
    pub(super) fn below<'s>(
        &'s self,
        directory: Option<&'s RelPath>,
    ) -> impl Iterator<Item = (&'s RelPath, TreeKind)> {
        let is_below = move |path: &RelPath| directory.is_none_or(|it| path != it && path.is_below(it));
        self.entries().filter(move |(path, _)| is_below(path))
    }

    /// The directories.
    pub(super) fn directories(&self) -> impl Iterator<Item = &str> {
        self.entries().filter(|(_, kind)| *kind == TreeKind::Directory).map(|(path, _)| path.as_str())
    }

    /// Returns the kind of an entry; none when it does not exist.
    pub(super) fn kind(&self, path: &RelPath) -> Option<TreeKind> {
        self.kinds.get(path).copied()
    }

    /// Opens a file.
    pub(super) fn file(&self, path: &RelPath) -> io::Result<File> {
        self.root.open(path)
    }
}
