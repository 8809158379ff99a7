//! Files as the engine sees them: paths below one root, behind a trait.

mod memory;
mod path;
mod rooted;

pub use memory::MemoryFs;
pub use path::FsPath;
pub use rooted::RootedFs;

/// The kind of file at a path, once symlinks are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without directories.
    pub name: String,
    /// Kind of the entry; entries that lead out of the root are left out of listings.
    pub kind: FileKind,
}

/// A tree of files below one root that nothing can leave (KZ-320).
pub trait FileSystem: Send + Sync {
    /// The content of the file at `path`.
    ///
    /// # Errors
    /// The file is missing, a directory, outside the root, or larger than `limit` bytes.
    fn read(&self, path: &FsPath, limit: u64) -> Result<Vec<u8>, FsError>;

    /// Follows symlinks and returns the path where `path` leads, with the entry there.
    ///
    /// # Errors
    /// Nothing is there, or it is outside the root.
    fn resolve(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError>;

    /// The names in a directory, sorted.
    ///
    /// # Errors
    /// The directory is missing, a file, or outside the root.
    fn list(&self, path: &FsPath) -> Result<Vec<DirEntry>, FsError>;

    /// Returns true when `path` leads to a directory inside the root.
    fn is_dir(&self, path: &FsPath) -> bool {
        matches!(self.resolve(path), Ok((_, FileKind::Directory)))
    }

    /// Returns true when `path` leads to a file inside the root.
    fn is_file(&self, path: &FsPath) -> bool {
        matches!(self.resolve(path), Ok((_, FileKind::File)))
    }
}

/// A failure to reach a file.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// The path, or the symlink it leads through, leaves the root (KZ-320).
    #[error("fs-security-constraint {operation} {path}: path '{path}' is not in or below '{root}'")]
    Escapes {
        /// Operation: `read`, `abs` or `walk`.
        operation: &'static str,
        /// Path in the request.
        path: String,
        /// The root that confines it.
        root: String,
    },
    /// Nothing is there.
    #[error("evalsymlink failure on '{path}' : lstat {path}: no such file or directory")]
    NotFound {
        /// The path.
        path: FsPath,
    },
    /// Nothing is there, nor is a directory on the way.
    #[error("evalsymlink failure on '{path}' : lstat {missing}: no such file or directory")]
    NoWay {
        /// The path.
        path: FsPath,
        /// The first directory on the way that is not there.
        missing: FsPath,
    },
    /// A file was wanted, a directory is there.
    #[error("'{path}' must resolve to a file")]
    IsDirectory {
        /// The path.
        path: FsPath,
    },
    /// A directory was wanted, a file is there.
    #[error("'{path}': file is not directory")]
    NotADirectory {
        /// The path.
        path: FsPath,
    },
    /// The file is larger than the cap.
    #[error("'{path}' is larger than the {limit} bytes that are read")]
    TooLarge {
        /// The path.
        path: FsPath,
        /// The cap in bytes.
        limit: u64,
    },
    /// The operating system refused.
    #[error("read '{path}': {cause}")]
    Io {
        /// The path.
        path: FsPath,
        /// Cause.
        cause: std::io::Error,
    },
}

impl FsError {
    /// The error as it reads where the tree is shown below `root`.
    pub(crate) fn below(self, root: &FsPath) -> Self {
        match self {
            Self::Escapes { operation, path, .. } => {
                let path = format!("{root}/{}", path.trim_start_matches('/'));
                Self::Escapes { operation, path, root: root.to_string() }
            }
            Self::NotFound { path } => Self::NotFound { path: path.below(root) },
            Self::NoWay { path, missing } => {
                Self::NoWay { path: path.below(root), missing: missing.below(root) }
            }
            Self::IsDirectory { path } => Self::IsDirectory { path: path.below(root) },
            Self::NotADirectory { path } => Self::NotADirectory { path: path.below(root) },
            Self::TooLarge { path, limit } => Self::TooLarge { path: path.below(root), limit },
            Self::Io { path, cause } => Self::Io { path: path.below(root), cause },
        }
    }
}

#[cfg(test)]
mod tests;
