//! Destinations of unpacked files: memory or a rooted directory.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;

use bytes::Bytes;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};

use super::UntarError;
use crate::path::RelPath;
use crate::room::Room;

/// The files of an artifact in memory, by path. Directories are only implied.
pub type FileMap = BTreeMap<RelPath, FileEntry>;

/// One unpacked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Its content.
    pub bytes: Bytes,
    /// True when any execute bit is set.
    pub executable: bool,
}

impl FileEntry {
    pub(super) fn read(file: Incoming<'_>) -> Result<Self, UntarError> {
        let Incoming { executable, size, content } = file;
        let mut bytes = Vec::with_capacity(usize::try_from(size.min(INITIAL_BUFFER)).unwrap_or_default());
        content.read_to_end(&mut bytes).map_err(|source| UntarError::Corrupt { source })?;
        Ok(Self { bytes: bytes.into(), executable })
    }
}

const FILE_MODE: u32 = 0o600;
const EXECUTABLE_MODE: u32 = 0o700;
/// Bits of a mode that an entry may get: none that change who runs a program.
const PERMISSIONS: u32 = 0o777;
/// Memory that a file gets before its first byte was read; the declared size is only a promise.
const INITIAL_BUFFER: u64 = 64 * 1024;
/// Bytes that are copied at a time.
const COPY_BUFFER: usize = 16 * 1024;

/// A file that comes out of an archive.
pub(super) struct Incoming<'c> {
    pub(super) executable: bool,
    /// Bytes of it, as the archive says.
    pub(super) size: u64,
    pub(super) content: &'c mut dyn Read,
}

pub(super) trait Sink {
    fn directory(&mut self, path: &RelPath) -> Result<(), UntarError>;
    fn file(&mut self, path: &RelPath, file: Incoming<'_>) -> Result<(), UntarError>;

    /// Takes the permission bits of the entry that came last.
    fn permissions(&mut self, _path: &RelPath, _mode: u32) -> Result<(), UntarError> {
        Ok(())
    }
}

#[derive(Default)]
pub(super) struct MapSink {
    pub(super) files: FileMap,
}

impl Sink for MapSink {
    fn directory(&mut self, _path: &RelPath) -> Result<(), UntarError> {
        Ok(())
    }

    fn file(&mut self, path: &RelPath, file: Incoming<'_>) -> Result<(), UntarError> {
        self.files.insert(path.clone(), FileEntry::read(file)?);
        Ok(())
    }
}

/// A folder that is filled as long as there is room.
pub(super) struct DirectorySink {
    root: Dir,
    room: Room,
    /// True when entries get the permission bits that the archive has.
    keeps_permissions: bool,
}

impl DirectorySink {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let root = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self { root, room: Room::at(path), keeps_permissions: false })
    }

    pub(super) fn keeping_permissions(self, keeps_permissions: bool) -> Self {
        Self { keeps_permissions, ..self }
    }

    pub(super) fn into_root(self) -> Dir {
        self.root
    }
}

impl Sink for DirectorySink {
    fn directory(&mut self, path: &RelPath) -> Result<(), UntarError> {
        let made = self.room.entry(0).and_then(|()| self.root.create_dir_all(path));
        made.map_err(|source| UntarError::Write { name: path.to_string(), source })
    }

    fn file(&mut self, path: &RelPath, file: Incoming<'_>) -> Result<(), UntarError> {
        let failed = |source| UntarError::Write { name: path.to_string(), source };
        self.room.entry(file.size).map_err(failed)?;
        if let Some(parent) = path.parent() {
            self.directory(&parent)?;
        }
        let mode = if file.executable { EXECUTABLE_MODE } else { FILE_MODE };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(mode);
        let mut out = self.root.open_with(path, &options).map_err(failed)?;
        copy(file.content, &mut out, failed)
    }

    fn permissions(&mut self, path: &RelPath, mode: u32) -> Result<(), UntarError> {
        if !self.keeps_permissions {
            return Ok(());
        }
        let permissions = Permissions::from_mode(mode & PERMISSIONS);
        let set = self.root.set_permissions(path, permissions);
        set.map_err(|source| UntarError::Write { name: path.to_string(), source })
    }
}

/// Copies all of `content`: what cannot be read is the archive's fault, what cannot be written the disk's.
pub(super) fn copy(
    content: &mut dyn Read,
    out: &mut impl Write,
    failed: impl Fn(io::Error) -> UntarError,
) -> Result<(), UntarError> {
    let mut buffer = vec![0; COPY_BUFFER];
    loop {
        let count = match content.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(source) => return Err(UntarError::Corrupt { source }),
        };
        out.write_all(buffer.get(..count).unwrap_or_default()).map_err(&failed)?;
    }
}
