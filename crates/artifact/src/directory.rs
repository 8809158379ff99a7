//! A directory of the file system as a [`Tree`], confined to it.

use std::io;

use cap_std::fs::{Dir, MetadataExt};

use crate::RelPath;
use crate::archive::{OpenFile, Tree, TreeEntry, TreeKind};

const ANY_EXECUTE: u32 = 0o111;

/// A directory on disk. Paths cannot leave it, not even through symlinks, which it does not follow.
pub struct DirectoryTree {
    root: Dir,
}

impl DirectoryTree {
    /// The tree below `root`.
    #[must_use]
    pub fn new(root: Dir) -> Self {
        Self { root }
    }

    /// Opens a directory by its path on this machine.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open_path(path: &std::path::Path) -> io::Result<Self> {
        Ok(Self { root: Dir::open_ambient_dir(path, cap_std::ambient_authority())? })
    }

    /// Returns the mode of an entry as the file system has it; `None` is the root.
    ///
    /// # Errors
    /// When there is no such entry.
    pub fn mode(&self, path: Option<&RelPath>) -> io::Result<u32> {
        let metadata = match path {
            Some(path) => self.root.symlink_metadata(path)?,
            None => self.root.dir_metadata()?,
        };
        Ok(metadata.mode())
    }
}

impl Tree for DirectoryTree {
    fn list(&self, directory: Option<&RelPath>) -> io::Result<Vec<TreeEntry>> {
        let entries = match directory {
            Some(path) => self.root.read_dir(path)?,
            None => self.root.entries()?,
        };
        entries
            .map(|entry| {
                let entry = entry?;
                let metadata = entry.metadata()?;
                let kind = match metadata.file_type() {
                    kind if kind.is_dir() => TreeKind::Directory,
                    kind if kind.is_file() => {
                        TreeKind::File { executable: metadata.mode() & ANY_EXECUTE != 0 }
                    }
                    _ => TreeKind::Other,
                };
                let name = entry.file_name().into_string();
                let name =
                    name.map_err(|name| io::Error::other(format!("file name {name:?} is not UTF-8")))?;
                Ok(TreeEntry { name, kind })
            })
            .collect()
    }

    fn open(&self, path: &RelPath) -> io::Result<OpenFile<'_>> {
        let file = self.root.open(path)?;
        let size = file.metadata()?.len();
        Ok(OpenFile { size, reader: Box::new(file) })
    }

    fn linked(&self, link: &RelPath) -> io::Result<Option<RelPath>> {
        if !self.root.symlink_metadata(link).is_ok_and(|metadata| metadata.is_symlink()) {
            return Ok(None);
        }
        // A link that leads out, in a circle or nowhere leads to no file of the tree.
        let Ok(path) = self.root.canonicalize(link) else { return Ok(None) };
        let path = path.to_str().and_then(|path| RelPath::parse(path).ok());
        Ok(path.filter(|path| self.root.metadata(path).is_ok_and(|metadata| metadata.is_file())))
    }
}
