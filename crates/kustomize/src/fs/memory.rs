//! A file system in memory, for tests and for trees that were never on disk.

use std::collections::{BTreeMap, BTreeSet};

use super::{DirEntry, FileKind, FileSystem, FsError, FsPath};

/// Files by path. Directories exist where files are below them.
#[derive(Debug, Clone, Default)]
pub struct MemoryFs {
    files: BTreeMap<FsPath, Vec<u8>>,
}

impl MemoryFs {
    /// An empty file system.
    pub fn new() -> Self {
        Self::default()
    }

    /// A file system with these files.
    ///
    /// # Errors
    /// A path leads above the root.
    pub fn from_files<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, FsError> {
        let mut memory = Self::new();
        for (path, content) in files {
            memory.insert(path, content.as_bytes())?;
        }
        Ok(memory)
    }

    /// A file system with one file.
    pub(crate) fn of_file(path: FsPath, content: Vec<u8>) -> Self {
        Self { files: BTreeMap::from([(path, content)]) }
    }

    /// Writes a file.
    ///
    /// # Errors
    /// The path leads above the root.
    pub fn insert(&mut self, path: &str, content: impl Into<Vec<u8>>) -> Result<(), FsError> {
        self.files.insert(FsPath::new(path)?, content.into());
        Ok(())
    }

    fn below<'a>(&'a self, directory: &'a FsPath) -> impl Iterator<Item = &'a FsPath> {
        // Not a range: `a-b` sorts between `a` and `a/b`.
        self.files.keys().filter(move |path| *path != directory && path.is_in_or_below(directory))
    }
}

impl FileSystem for MemoryFs {
    fn read(&self, path: &FsPath, limit: u64) -> Result<Vec<u8>, FsError> {
        let Some(content) = self.files.get(path) else {
            self.resolve(path)?;
            return Err(FsError::IsDirectory { path: path.clone() });
        };
        if content.len() as u64 > limit {
            return Err(FsError::TooLarge { path: path.clone(), limit });
        }
        Ok(content.clone())
    }

    fn resolve(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError> {
        if self.files.contains_key(path) {
            return Ok((path.clone(), FileKind::File));
        }
        if *path == FsPath::root() || self.below(path).next().is_some() {
            return Ok((path.clone(), FileKind::Directory));
        }
        Err(FsError::NotFound { path: path.clone() })
    }

    fn list(&self, path: &FsPath) -> Result<Vec<DirEntry>, FsError> {
        if let (_, FileKind::File) = self.resolve(path)? {
            return Err(FsError::NotADirectory { path: path.clone() });
        }
        let mut entries = BTreeSet::new();
        for file in self.below(path) {
            let rest = file.as_str().get(path.as_str().len()..).unwrap_or_default().trim_start_matches('/');
            match rest.split_once('/') {
                Some((directory, _)) => entries.insert((directory.to_owned(), false)),
                None => entries.insert((rest.to_owned(), true)),
            };
        }
        let kind = |is_file| if is_file { FileKind::File } else { FileKind::Directory };
        Ok(entries.into_iter().map(|(name, is_file)| DirEntry { name, kind: kind(is_file) }).collect())
    }
}
