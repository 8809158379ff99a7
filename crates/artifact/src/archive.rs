//! Writing a tree of files as a tarball whose bytes depend on the tree alone (SRC-STO-8, SRC-STO-9).
//!
//! No owner, no times, three modes, names in byte order, a fixed compressor and level: two machines that archive the
//! same commit advertise the same digest. Nothing but one file's buffer is held in memory.
//!
//! The entries are compressed in runs, apart from each other ([`Runs`]): the runs that an earlier archive has too are
//! copied from it (docs/adr/0007). Where the runs end is decided by the tree alone, so the bytes are the same with and
//! without.

mod entry;
mod gzip;
mod pack;
mod runs;
mod sink;

use std::io::{self, Read, Write};

pub use pack::pack;
pub use runs::{Previous, Runs};
pub use sink::Sink;

use crate::RelPath;

/// Directories that may lie inside each other: far beyond any real tree, and it ends a tree that refers to itself.
const MAX_DEPTH: usize = 128;

/// The kind of a tree's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeKind {
    /// A directory.
    Directory,
    /// A regular file; `executable` when anyone may execute it.
    File {
        /// Any execute bit.
        executable: bool,
    },
    /// Symlinks, devices, sockets, submodules: silently left out of artifacts (SRC-GIT-34).
    Other,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its name, one component.
    pub name: String,
    /// File, directory or something else.
    pub kind: TreeKind,
}

/// An opened file: its exact size and its bytes.
pub struct OpenFile<'a> {
    /// Bytes that the reader gives.
    pub size: u64,
    /// The content.
    pub reader: Box<dyn Read + 'a>,
}

/// Something that looks like a directory of files: a work directory, a commit.
pub trait Tree {
    /// The entries of a directory in any order; `None` is the root.
    ///
    /// # Errors
    /// When the directory cannot be read.
    fn list(&self, directory: Option<&RelPath>) -> io::Result<Vec<TreeEntry>>;

    /// Opens a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn open(&self, path: &RelPath) -> io::Result<OpenFile<'_>>;

    /// Bytes of a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn size(&self, path: &RelPath) -> io::Result<u64> {
        Ok(self.open(path)?.size)
    }

    /// The file of the tree to which a symbolic link in a listed directory leads; nothing when there is no such link, or it
    /// leads elsewhere.
    ///
    /// # Errors
    /// When the link cannot be read.
    fn linked(&self, _link: &RelPath) -> io::Result<Option<RelPath>> {
        Ok(None)
    }

    /// A name that no other content has, of 16 bytes and more, for example its id in Git; nothing when the tree knows none.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn id(&self, _path: &RelPath) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

/// Returns the entry at a path of a tree; `None` for the path is the root. Lists every directory on the way.
///
/// # Errors
/// When the tree cannot be read.
pub fn find(tree: &dyn Tree, path: Option<&RelPath>) -> io::Result<Option<TreeKind>> {
    let Some(path) = path else { return Ok(Some(TreeKind::Directory)) };
    let parent = path.parent();
    if find(tree, parent.as_ref())? != Some(TreeKind::Directory) {
        return Ok(None);
    }
    let entries = tree.list(parent.as_ref())?;
    Ok(entries.into_iter().find(|entry| entry.name == path.file_name()).map(|entry| entry.kind))
}

/// Visits every entry of `tree` but the [`TreeKind::Other`] ones, depth first. A directory comes before its entries, and these
/// in the byte order of their names.
///
/// # Errors
/// When the tree cannot be read, is deeper than any real one, or `visit` fails.
pub fn walk(tree: &dyn Tree, mut visit: impl FnMut(&RelPath, TreeKind) -> io::Result<()>) -> io::Result<()> {
    let mut pending = children(tree, None)?;
    while let Some((path, kind)) = pending.pop() {
        visit(&path, kind)?;
        if kind == TreeKind::Directory {
            pending.extend(children(tree, Some(&path))?);
        }
    }
    Ok(())
}

/// The entries of a directory, last one first, as a stack wants them.
fn children(tree: &dyn Tree, directory: Option<&RelPath>) -> io::Result<Vec<(RelPath, TreeKind)>> {
    if directory.is_some_and(|directory| directory.depth() >= MAX_DEPTH) {
        return Err(io::Error::other(format!("directories are nested deeper than {MAX_DEPTH}")));
    }
    let mut entries = tree.list(directory)?;
    entries.retain(|entry| entry.kind != TreeKind::Other);
    entries.sort_by(|a, b| b.name.as_bytes().cmp(a.name.as_bytes()));
    entries
        .into_iter()
        .map(|entry| {
            let path = match directory {
                Some(directory) => directory.join(&entry.name),
                None => RelPath::parse(&entry.name),
            };
            path.map(|path| (path, entry.kind)).map_err(io::Error::other)
        })
        .collect()
}

/// Writes the entries of `tree` that `keep` wants (path, and true for a directory) as gzipped tarball. A directory
/// that is not kept has no entry of its own; `keep` decides about everything below it nevertheless (SRC-IGN-3).
///
/// # Errors
/// When the tree cannot be read or `out` does not take the bytes.
pub fn write(tree: &dyn Tree, keep: &dyn Fn(&RelPath, bool) -> bool, out: impl Write) -> io::Result<()> {
    write_after(tree, keep, None, sink::Plain(out)).map(drop)
}

/// Like [`write`], with the same bytes, but copies the parts that `previous` has, too; `out` learns which parts are
/// copied, and in which pieces they may lie (docs/adr/0014). Returns the parts that the next archive can copy from
/// this one.
///
/// # Errors
/// As [`write`], and when the file of `previous` is not what it was when it was written.
pub fn write_after(
    tree: &dyn Tree,
    keep: &dyn Fn(&RelPath, bool) -> bool,
    previous: Option<&Previous>,
    out: impl Sink,
) -> io::Result<Runs> {
    let mut writer = runs::Writer::new(tree, previous, out)?;
    walk(
        tree,
        |path, kind| if keep(path, kind == TreeKind::Directory) { writer.add(path, kind) } else { Ok(()) },
    )?;
    writer.finish()
}
