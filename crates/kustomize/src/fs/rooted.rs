//! A real directory that nothing can leave, symlinks included.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{DirEntry, FileKind, FileSystem, FsError, FsPath};

/// A directory on disk. Every access resolves symlinks first and refuses what is not below the root (KZ-320).
///
/// The directory must belong to the caller alone: between the check and the read nobody may move symlinks.
#[derive(Debug, Clone)]
pub struct RootedFs {
    root: PathBuf,
}

impl RootedFs {
    /// Roots a file system at an existing directory.
    ///
    /// # Errors
    /// The directory is missing or cannot be resolved.
    pub fn new(directory: &Path) -> Result<Self, FsError> {
        let root =
            directory.canonicalize().map_err(|cause| FsError::Io { path: display_path(directory), cause })?;
        Ok(Self { root })
    }

    /// The real path of what `path` leads to.
    fn locate(&self, operation: &'static str, path: &FsPath) -> Result<PathBuf, FsError> {
        let real = self.root.join(path.as_str()).canonicalize().map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                FsError::NotFound { path: path.clone() }
            }
            _ => FsError::Io { path: path.clone(), cause },
        })?;
        if !real.starts_with(&self.root) {
            return Err(FsError::Escapes { operation, path: path.to_string(), root: "/".to_owned() });
        }
        Ok(real)
    }

    fn kind(&self, path: &FsPath, real: &Path) -> Result<FileKind, FsError> {
        let metadata = real.metadata().map_err(|cause| FsError::Io { path: path.clone(), cause })?;
        Ok(if metadata.is_dir() { FileKind::Directory } else { FileKind::File })
    }
}

impl FileSystem for RootedFs {
    fn read(&self, path: &FsPath, limit: u64) -> Result<Vec<u8>, FsError> {
        let real = self.locate("read", path)?;
        let io = |cause| FsError::Io { path: path.clone(), cause };
        let file = File::open(&real).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if metadata.is_dir() {
            return Err(FsError::IsDirectory { path: path.clone() });
        }
        let too_large = || FsError::TooLarge { path: path.clone(), limit };
        if metadata.len() > limit {
            return Err(too_large());
        }
        let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        // The file may have grown; one byte more than the cap separates a file at the cap from one above it.
        file.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(io)?;
        if content.len() as u64 > limit {
            return Err(too_large());
        }
        Ok(content)
    }

    fn resolve(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError> {
        let real = self.locate("abs", path)?;
        let kind = self.kind(path, &real)?;
        let below = real.strip_prefix(&self.root).unwrap_or(&real);
        Ok((display_path(below), kind))
    }

    fn list(&self, path: &FsPath) -> Result<Vec<DirEntry>, FsError> {
        let real = self.locate("walk", path)?;
        if self.kind(path, &real)? == FileKind::File {
            return Err(FsError::NotADirectory { path: path.clone() });
        }
        let io = |cause| FsError::Io { path: path.clone(), cause };
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(&real).map_err(io)? {
            let Ok(name) = entry.map_err(io)?.file_name().into_string() else { continue };
            if let Ok((_, kind)) = path.join(&name).and_then(|path| self.resolve(&path)) {
                entries.push(DirEntry { name, kind });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}

/// A path for messages and results; bytes that are not UTF-8 are replaced.
fn display_path(path: &Path) -> FsPath {
    FsPath::new(&path.to_string_lossy()).unwrap_or_default()
}
