//! The files of an archive as a [`Tree`], wherever they lie.

use std::collections::BTreeMap;
use std::io;

use super::UntarError;
use super::sink::{DirectorySink, FileEntry, Incoming, Sink};
use crate::archive::{OpenFile, Tree, TreeEntry, TreeKind};
use crate::directory::DirectoryTree;
use crate::path::RelPath;
use crate::work_folder::WorkFolder;

/// Bytes of all files together that stay in memory, one tree of them for each worker. Typical artifacts are a few KiB, and
/// making and removing a folder for each costs the file system more than all else that is done with them.
const IN_MEMORY_BYTES: u64 = 1 << 20;
/// Files and directories that stay in memory, so that finding the entries of a directory may look at them all.
const IN_MEMORY_ENTRIES: usize = 256;

/// An unpacked archive: a small one is in memory, any other in a temporary folder that goes with the value.
pub struct Unpacked {
    place: Place,
}

enum Place {
    Memory(Small),
    Folder { tree: DirectoryTree, _folder: WorkFolder },
}

/// Files, and directories without content, by path.
#[derive(Default)]
struct Small {
    entries: BTreeMap<RelPath, Option<FileEntry>>,
    bytes: u64,
}

impl Small {
    /// Returns true when a file (with its declared size) or a directory can be added here. A name that comes twice is
    /// left to a file system, but for directories: some of it would be refused there.
    fn takes(&self, path: &RelPath, file: Option<u64>) -> bool {
        let fits = self.entries.len() + path.depth() <= IN_MEMORY_ENTRIES
            && self.bytes.saturating_add(file.unwrap_or_default()) <= IN_MEMORY_BYTES;
        let is_file = |path: &RelPath| matches!(self.entries.get(path), Some(Some(_)));
        let is_new = !self.entries.contains_key(path);
        fits && (is_new || (file.is_none() && !is_file(path)))
            && !parents(path).any(|parent| is_file(&parent))
    }

    fn add(&mut self, path: &RelPath, file: Option<FileEntry>) {
        for parent in parents(path) {
            self.entries.entry(parent).or_default();
        }
        self.bytes = file.iter().fold(self.bytes, |sum, file| sum.saturating_add(file.bytes.len() as u64));
        self.entries.insert(path.clone(), file);
    }

    fn write(&self, sink: &mut DirectorySink) -> Result<(), UntarError> {
        for (path, file) in &self.entries {
            match file {
                None => sink.directory(path)?,
                Some(file) => {
                    let (executable, size) = (file.executable, file.bytes.len() as u64);
                    sink.file(path, Incoming { executable, size, content: &mut file.bytes.as_ref() })?;
                }
            }
        }
        Ok(())
    }
}

fn parents(path: &RelPath) -> impl Iterator<Item = RelPath> {
    std::iter::successors(path.parent(), RelPath::parent)
}

/// Fills an [`Unpacked`]: memory first, the disk from the entry on that memory does not take.
#[derive(Default)]
pub(super) struct UnpackedSink {
    small: Small,
    folder: Option<(DirectorySink, WorkFolder)>,
}

impl UnpackedSink {
    pub(super) fn finish(self) -> Unpacked {
        let place = match self.folder {
            Some((sink, folder)) => {
                Place::Folder { tree: DirectoryTree::new(sink.into_root()), _folder: folder }
            }
            None => Place::Memory(self.small),
        };
        Unpacked { place }
    }

    /// The folder, if it is needed for what comes next.
    fn folder(
        &mut self,
        path: &RelPath,
        file: Option<u64>,
    ) -> Result<Option<&mut DirectorySink>, UntarError> {
        if self.folder.is_none() && !self.small.takes(path, file) {
            let failed = |source| UntarError::Write { name: path.to_string(), source };
            let folder = WorkFolder::new().map_err(failed)?;
            let mut sink = DirectorySink::open(folder.path()).map_err(failed)?;
            std::mem::take(&mut self.small).write(&mut sink)?;
            self.folder = Some((sink, folder));
        }
        Ok(self.folder.as_mut().map(|(sink, _)| sink))
    }
}

impl Sink for UnpackedSink {
    fn directory(&mut self, path: &RelPath) -> Result<(), UntarError> {
        match self.folder(path, None)? {
            Some(folder) => folder.directory(path),
            None => {
                self.small.add(path, None);
                Ok(())
            }
        }
    }

    fn file(&mut self, path: &RelPath, file: Incoming<'_>) -> Result<(), UntarError> {
        if let Some(folder) = self.folder(path, Some(file.size))? {
            return folder.file(path, file);
        }
        self.small.add(path, Some(FileEntry::read(file)?));
        Ok(())
    }
}

impl Tree for Unpacked {
    fn list(&self, directory: Option<&RelPath>) -> io::Result<Vec<TreeEntry>> {
        let small = match &self.place {
            Place::Memory(small) => small,
            Place::Folder { tree, .. } => return tree.list(directory),
        };
        if directory.is_some_and(|directory| !matches!(small.entries.get(directory), Some(None))) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let children = small.entries.iter().filter(|(path, _)| path.parent().as_ref() == directory);
        let entry = |(path, file): (&RelPath, &Option<FileEntry>)| TreeEntry {
            name: path.file_name().to_owned(),
            kind: file
                .as_ref()
                .map_or(TreeKind::Directory, |file| TreeKind::File { executable: file.executable }),
        };
        Ok(children.map(entry).collect())
    }

    fn open(&self, path: &RelPath) -> io::Result<OpenFile<'_>> {
        let small = match &self.place {
            Place::Memory(small) => small,
            Place::Folder { tree, .. } => return tree.open(path),
        };
        let file = small.entries.get(path).and_then(Option::as_ref).ok_or(io::ErrorKind::NotFound)?;
        Ok(OpenFile { size: file.bytes.len() as u64, reader: Box::new(file.bytes.as_ref()) })
    }
}
