//! The entries of an archive in runs, each compressed on its own, so that a run which an earlier archive has too is
//! copied instead.

use std::collections::HashMap;
use std::io;

use super::gzip::{Gzip, Part};
use super::{Sink, Tree, TreeKind, entry};
use crate::{Opened, RelPath};

/// Bytes after which a run ends. They are small because a change of one file makes one of them anew, and not
/// smaller because each begins with an empty dictionary.
const RUN_BYTES: u64 = 256 * 1024;
/// A run also ends at one name in so many, which its checksum chooses. A file that is new or has grown moves only the
/// ends up to the next such name.
const RUN_NAMES: u32 = 64;
/// Bytes that an entry counts beside its content: its header.
const HEADER_BYTES: u64 = 512;
/// Name of the root's entry.
pub(super) const ROOT: &str = ".";

/// The compressed runs of an archive and their places in it: a later archive can copy from it.
#[derive(Debug, Default)]
pub struct Runs {
    /// By the digest of the run's entries.
    by_run: HashMap<blake3::Hash, Part>,
    /// Of contents, by the begin of their ids: to look each one up in the tree again takes about as long as to copy it.
    sizes: HashMap<u128, u64>,
}

/// An earlier archive.
#[derive(Debug)]
pub struct Previous {
    /// Its runs.
    pub runs: Runs,
    /// Its bytes.
    pub file: Opened,
}

/// Writes an archive, run by run.
pub(super) struct Writer<'a, W: Sink> {
    tree: &'a dyn Tree,
    previous: Option<&'a Previous>,
    tar: tar::Builder<Gzip<W>>,
    run: Run,
    runs: Runs,
}

/// Entries that are compressed together.
#[derive(Default)]
struct Run {
    /// Path (nothing for the root), kind and size.
    entries: Vec<(Option<RelPath>, TreeKind, u64)>,
    bytes: u64,
    /// Of everything that decides about the bytes.
    hash: blake3::Hasher,
    /// True when the hash is worth something: a content without a name is not in it.
    is_named: bool,
}

impl Run {
    fn start() -> Self {
        Self { is_named: true, ..Self::default() }
    }

    /// Adds an entry; returns whether the run ends with it.
    fn add(&mut self, path: Option<RelPath>, kind: TreeKind, size: u64, id: Option<&[u8]>) -> bool {
        let name = path.as_ref().map_or(ROOT, RelPath::as_str);
        let flag = match kind {
            TreeKind::File { executable } => 1 + u8::from(executable),
            TreeKind::Directory | TreeKind::Other => 0,
        };
        // With their lengths, so that no two runs look alike.
        for part in [&[flag], name.as_bytes(), id.unwrap_or_default()] {
            self.hash.update(&(part.len() as u64).to_le_bytes());
            self.hash.update(part);
        }
        self.is_named &= id.is_some() || flag == 0;
        self.bytes += HEADER_BYTES + size;
        let mut sum = flate2::Crc::new();
        sum.update(name.as_bytes());
        self.entries.push((path, kind, size));
        self.bytes >= RUN_BYTES || sum.sum().is_multiple_of(RUN_NAMES)
    }
}

impl<'a, W: Sink> Writer<'a, W> {
    pub(super) fn new(tree: &'a dyn Tree, previous: Option<&'a Previous>, out: W) -> io::Result<Self> {
        let tar = tar::Builder::new(Gzip::new(out, previous.map(|previous| &previous.file))?);
        let mut run = Run::start();
        run.add(None, TreeKind::Directory, 0, None);
        Ok(Writer { tree, previous, tar, run, runs: Runs::default() })
    }

    pub(super) fn add(&mut self, path: &RelPath, kind: TreeKind) -> io::Result<()> {
        let (size, id) = match kind {
            TreeKind::File { .. } => {
                let id = self.tree.id(path)?;
                (self.size(path, id.as_deref())?, id)
            }
            TreeKind::Directory | TreeKind::Other => (0, None),
        };
        if self.run.add(Some(path.clone()), kind, size, id.as_deref()) { self.end_run() } else { Ok(()) }
    }

    fn size(&mut self, path: &RelPath, id: Option<&[u8]>) -> io::Result<u64> {
        let Some(id) = id.and_then(|id| id.first_chunk()) else { return self.tree.size(path) };
        let id = u128::from_le_bytes(*id);
        let known = self.previous.and_then(|previous| previous.runs.sizes.get(&id).copied());
        let size = known.map_or_else(|| self.tree.size(path), Ok)?;
        self.runs.sizes.insert(id, size);
        Ok(size)
    }

    pub(super) fn finish(mut self) -> io::Result<Runs> {
        self.end_run()?;
        // The last part, the end of the tarball, is the stream's to end.
        self.tar.into_inner()?.finish()?;
        Ok(self.runs)
    }

    fn end_run(&mut self) -> io::Result<()> {
        let run = std::mem::replace(&mut self.run, Run::start());
        if run.entries.is_empty() {
            return Ok(());
        }
        let hash = run.hash.finalize();
        let known = self.previous.filter(|_| run.is_named);
        let known = known.and_then(|previous| Some((previous.runs.by_run.get(&hash)?, &previous.file)));
        let part = match known {
            Some((part, file)) => self.tar.get_mut().copy_part(part, file)?,
            None => {
                run.entries
                    .iter()
                    .try_for_each(|(path, kind, size)| self.append(path.as_ref(), *kind, *size))?;
                self.tar.get_mut().end_part()?
            }
        };
        if run.is_named {
            self.runs.by_run.insert(hash, part);
        }
        Ok(())
    }

    fn append(&mut self, path: Option<&RelPath>, kind: TreeKind, size: u64) -> io::Result<()> {
        let (Some(path), TreeKind::File { executable }) = (path, kind) else {
            return entry::directory(&mut self.tar, path.map_or(ROOT, RelPath::as_str));
        };
        let mut file = self.tree.open(path)?;
        entry::file(&mut self.tar, path.as_str(), executable, size, &mut file.reader)
    }
}
