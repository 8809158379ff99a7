//! Writing a tree of files as a tarball whose bytes depend on the tree alone (SRC-STO-8, SRC-STO-9).
//!
//! No owner, no times, three modes, names in byte order, a fixed compressor and level: two machines that archive the
//! same commit advertise the same digest. Nothing but one file's buffer is held in memory.

use crate::RelPath;
use flate2::{Compression, GzBuilder, write::GzEncoder};
use std::io::{self, Read, Write};

/// Level of compression. Part of the artifact's bytes: a change gives every artifact a new digest.
const LEVEL: u32 = 6;
/// "Unknown" in the gzip header's operating system byte, so that no platform leaves its mark.
const OPERATING_SYSTEM: u8 = 255;
const FILE_MODE: u32 = 0o600;
const EXECUTABLE_MODE: u32 = 0o700;
const DIRECTORY_MODE: u32 = 0o750;
/// Bytes of a name that fit the header; longer ones go into a PAX record.
const MAX_HEADER_NAME: usize = 100;
/// Directories that may lie inside each other: far beyond any real tree, and it ends a tree that refers to itself.
const MAX_DEPTH: usize = 128;

/// What an entry of a tree is.
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
    /// What it is.
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
}

/// Visits every entry of `tree` but the [`TreeKind::Other`] ones, depth first, the entries of each directory in the
/// byte order of their names, a directory before what is in it.
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

/// Writes the entries of `tree` that `keep` wants (path, whether it is a directory) as gzipped tarball. A directory
/// that is not kept has no entry of its own; what is below it is asked for nevertheless (SRC-IGN-3).
///
/// # Errors
/// When the tree cannot be read or `out` does not take the bytes.
pub fn write(tree: &dyn Tree, keep: &dyn Fn(&RelPath, bool) -> bool, out: impl Write) -> io::Result<()> {
    let gzip =
        GzBuilder::new().mtime(0).operating_system(OPERATING_SYSTEM).write(out, Compression::new(LEVEL));
    let mut tar = tar::Builder::new(gzip);
    append(&mut tar, ".", tar::EntryType::Directory, DIRECTORY_MODE, 0, &mut io::empty())?;
    walk(tree, |path, kind| {
        if !keep(path, kind == TreeKind::Directory) {
            return Ok(());
        }
        let executable = match kind {
            TreeKind::File { executable } => executable,
            TreeKind::Directory | TreeKind::Other => {
                return append(
                    &mut tar,
                    path.as_str(),
                    tar::EntryType::Directory,
                    DIRECTORY_MODE,
                    0,
                    &mut io::empty(),
                );
            }
        };
        let mode = if executable { EXECUTABLE_MODE } else { FILE_MODE };
        let mut file = tree.open(path)?;
        append(&mut tar, path.as_str(), tar::EntryType::Regular, mode, file.size, &mut file.reader)
    })?;
    let mut out = tar.into_inner().and_then(GzEncoder::finish)?;
    out.flush()
}

fn append(
    tar: &mut tar::Builder<impl Write>,
    name: &str,
    kind: tar::EntryType,
    mode: u32,
    size: u64,
    content: &mut dyn Read,
) -> io::Result<()> {
    let mut short = name;
    if name.len() > MAX_HEADER_NAME {
        tar.append_pax_extensions([("path", name.as_bytes())])?;
        let mut end = MAX_HEADER_NAME;
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        short = name.get(..end).unwrap_or_default();
    }
    let mut header = tar::Header::new_ustar();
    if let Some(field) = header.as_old_mut().name.get_mut(..short.len()) {
        field.copy_from_slice(short.as_bytes());
    }
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    header.set_cksum();
    let mut counted = Exactly { inner: content, left: size };
    tar.append(&header, &mut counted)?;
    if counted.left != 0 {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("{name} shrank while it was archived"),
        ));
    }
    Ok(())
}

/// Gives exactly `left` bytes, also when the file grows meanwhile: the header has promised its size.
struct Exactly<'a> {
    inner: &'a mut dyn Read,
    left: u64,
}

impl Read for Exactly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let Some(buffer) = buffer.get_mut(..wanted) else { return Ok(0) };
        let count = self.inner.read(buffer)?;
        self.left -= count as u64;
        Ok(count)
    }
}
