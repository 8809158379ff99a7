//! The files of an archive one behind the other, and where each of them lies: they may be far larger together than what
//! anyone reads of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::FileExt;

use tempfile::{SpooledData, SpooledTempFile};

use super::UntarError;
use super::sink::{Incoming, Sink, copy};
use crate::archive::{Tree, TreeKind, walk};
use crate::path::RelPath;
use crate::room::Room;

/// Bytes of all files together that stay in memory. Typical artifacts are smaller and never touch the disk.
const IN_MEMORY_BYTES: usize = 1 << 20;
/// Bytes that names may take in memory: an archive of a few megabytes can name a million empty files. The largest Git trees
/// take half of it.
const MAX_INDEX_BYTES: u64 = 64 << 20;
/// Bytes that an entry of the index takes beside its name.
const ENTRY_BYTES: u64 = 64;

/// The place of a file among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Nothing of a file that is too large to be kept.
    start: Option<u64>,
    /// Bytes of the file.
    pub length: u64,
}

/// Unpacked files behind one another: in memory while they are few, else in a temporary file without a name, which goes with
/// the value or the process.
#[derive(Debug)]
pub struct FileStack {
    content: Content,
    size: u64,
    directories: BTreeSet<RelPath>,
}

#[derive(Debug)]
enum Content {
    Memory(Vec<u8>),
    Disk(File),
}

impl FileStack {
    /// Reads the files of a tree that `keep` wants, as an archive of them would be unpacked: where each of them lies, and what
    /// holds them. Files of more than `largest` bytes are listed, and not kept. Blocks.
    ///
    /// # Errors
    /// When the tree cannot be read, or the disk does not take it.
    pub fn of_tree(
        tree: &dyn Tree,
        keep: &dyn Fn(&RelPath) -> bool,
        largest: u64,
    ) -> io::Result<(BTreeMap<RelPath, Span>, Self)> {
        let mut sink = StackSink::new(largest);
        walk(tree, |path, kind| {
            if !keep(path) {
                return Ok(());
            }
            let TreeKind::File { executable } = kind else {
                return sink.directory(path).map_err(io::Error::other);
            };
            let mut file = tree.open(path)?;
            // Nothing of a file that is not kept needs to be read.
            let content: &mut dyn io::Read =
                if file.size > largest { &mut io::empty() } else { &mut file.reader };
            sink.file(path, Incoming { executable, size: file.size, content }).map_err(io::Error::other)
        })?;
        Ok(sink.finish())
    }

    /// Bytes of all files.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Directories that the archive names; some of them may be empty.
    pub fn directories(&self) -> impl Iterator<Item = &RelPath> {
        self.directories.iter()
    }

    /// Reads one file; blocks.
    ///
    /// # Errors
    /// When the disk fails, the file was too large to be kept, or the span is of another stack.
    pub fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        let span_start = span.start.ok_or(io::ErrorKind::FileTooLarge)?;
        let to_usize = |bytes: u64| usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory);
        match &self.content {
            Content::Memory(bytes) => {
                let (start, end) = (to_usize(span_start)?, to_usize(span_start.saturating_add(span.length))?);
                Ok(bytes.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?.to_vec())
            }
            Content::Disk(file) => {
                let mut bytes = vec![0; to_usize(span.length)?];
                file.read_exact_at(&mut bytes, span_start)?;
                Ok(bytes)
            }
        }
    }
}

/// Fills a [`FileStack`].
pub(super) struct StackSink {
    spans: BTreeMap<RelPath, Span>,
    directories: BTreeSet<RelPath>,
    index_bytes: u64,
    file: SpooledTempFile,
    size: u64,
    /// Bytes of the largest file that is kept.
    largest: u64,
    room: Room,
}

impl StackSink {
    pub(super) fn new(largest: u64) -> Self {
        let file = SpooledTempFile::new(IN_MEMORY_BYTES);
        let room = Room::for_temporary_files();
        let (spans, directories) = (BTreeMap::new(), BTreeSet::new());
        Self { spans, directories, index_bytes: 0, file, size: 0, largest, room }
    }

    /// Counts a name that is kept.
    fn index(&mut self, path: &RelPath) -> Result<(), UntarError> {
        self.index_bytes += ENTRY_BYTES + path.as_str().len() as u64;
        if self.index_bytes > MAX_INDEX_BYTES {
            Err(UntarError::Index { limit: MAX_INDEX_BYTES })
        } else {
            Ok(())
        }
    }

    pub(super) fn finish(self) -> (BTreeMap<RelPath, Span>, FileStack) {
        let content = match self.file.into_inner() {
            SpooledData::InMemory(bytes) => Content::Memory(bytes.into_inner()),
            SpooledData::OnDisk(file) => Content::Disk(file),
        };
        (self.spans, FileStack { content, size: self.size, directories: self.directories })
    }
}

impl Sink for StackSink {
    fn directory(&mut self, path: &RelPath) -> Result<(), UntarError> {
        self.index(path)?;
        self.directories.insert(path.clone());
        Ok(())
    }

    fn file(
        &mut self,
        path: &RelPath,
        Incoming { size, content, .. }: Incoming<'_>,
    ) -> Result<(), UntarError> {
        let failed = |source| UntarError::Write { name: path.to_string(), source };
        self.index(path)?;
        if size > self.largest {
            self.spans.insert(path.clone(), Span { start: None, length: size });
            // The archive is read to its end, or its checksum would not be known.
            return copy(content, &mut io::sink(), failed);
        }
        if self.size.saturating_add(size) > IN_MEMORY_BYTES as u64 {
            self.room.take(size).map_err(failed)?;
        }
        copy(content, &mut self.file, failed)?;
        let end = self.file.stream_position().map_err(failed)?;
        self.spans
            .insert(path.clone(), Span { start: Some(self.size), length: end.saturating_sub(self.size) });
        self.size = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DirectoryTree;

    #[test]
    fn a_tree_is_read_without_what_is_not_wanted() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "empty"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        for (name, text) in [("a/b", "one"), ("a/large", "more than four"), ("c", "two"), ("d", "not")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let tree = DirectoryTree::open_path(folder.path()).unwrap();
        let (spans, stack) = FileStack::of_tree(&tree, &|path| path.as_str() != "d", 4).unwrap();
        let names: Vec<&str> = spans.keys().map(RelPath::as_str).collect();
        assert_eq!(names, ["a/b", "a/large", "c"]);
        assert_eq!(stack.directories().map(RelPath::as_str).collect::<Vec<_>>(), ["a", "empty"]);
        let read = |name: &str| stack.read(spans[&RelPath::parse(name).unwrap()]);
        assert_eq!((read("a/b").unwrap(), read("c").unwrap()), (b"one".to_vec(), b"two".to_vec()));
        assert_eq!(read("a/large").unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
