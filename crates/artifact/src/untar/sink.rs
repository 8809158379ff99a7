//! Where unpacked files go: memory or a rooted directory.

use super::UntarError;
use crate::path::RelPath;
use bytes::Bytes;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// The files of an artifact in memory, by path. Directories are only implied.
pub type FileMap = BTreeMap<RelPath, FileEntry>;

/// One unpacked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Its content.
    pub bytes: Bytes,
    /// Whether any execute bit is set.
    pub executable: bool,
}

impl FileEntry {
    pub(super) fn read(executable: bool, size: u64, content: &mut dyn Read) -> Result<FileEntry, UntarError> {
        let mut bytes = Vec::with_capacity(usize::try_from(size.min(INITIAL_BUFFER)).unwrap_or_default());
        content.read_to_end(&mut bytes).map_err(|source| UntarError::Corrupt { source })?;
        Ok(FileEntry { bytes: bytes.into(), executable })
    }
}

const FILE_MODE: u32 = 0o600;
const EXECUTABLE_MODE: u32 = 0o700;
/// Memory that a file gets before its first byte was read; the declared size is only a promise.
const INITIAL_BUFFER: u64 = 64 * 1024;

pub(super) trait Sink {
    fn directory(&mut self, path: &RelPath) -> Result<(), UntarError>;
    fn file(
        &mut self,
        path: &RelPath,
        executable: bool,
        size: u64,
        content: &mut dyn Read,
    ) -> Result<(), UntarError>;
}

#[derive(Default)]
pub(super) struct MapSink {
    pub(super) files: FileMap,
}

impl Sink for MapSink {
    fn directory(&mut self, _path: &RelPath) -> Result<(), UntarError> {
        Ok(())
    }

    fn file(
        &mut self,
        path: &RelPath,
        executable: bool,
        size: u64,
        content: &mut dyn Read,
    ) -> Result<(), UntarError> {
        self.files.insert(path.clone(), FileEntry::read(executable, size, content)?);
        Ok(())
    }
}

pub(super) struct DirectorySink<'a> {
    pub(super) root: &'a Dir,
}

impl Sink for DirectorySink<'_> {
    fn directory(&mut self, path: &RelPath) -> Result<(), UntarError> {
        self.root.create_dir_all(path).map_err(|source| UntarError::Write { name: path.to_string(), source })
    }

    fn file(
        &mut self,
        path: &RelPath,
        executable: bool,
        _size: u64,
        content: &mut dyn Read,
    ) -> Result<(), UntarError> {
        let failed = |source| UntarError::Write { name: path.to_string(), source };
        if let Some(parent) = path.parent() {
            self.directory(&parent)?;
        }
        let mode = if executable { EXECUTABLE_MODE } else { FILE_MODE };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(mode);
        let mut file = self.root.open_with(path, &options).map_err(failed)?;
        io::copy(content, &mut file).map_err(|source| UntarError::Corrupt { source })?;
        Ok(())
    }
}
