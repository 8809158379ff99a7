use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::skip::{found_or_skipped, skipped};
use crate::{Error, Folder, command};

/// A file system of a given size in memory, mounted at a folder until it is dropped.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Returns whether this process may mount one; a line says why not. Only root may: for other users the test is left out.
    ///
    /// # Errors
    /// When root may not either although no test may be left out.
    pub fn is_allowed() -> Result<bool, Error> {
        let folder = Folder::new("may-mount")?;
        let mounted = Self::mount(folder.path(), "64k");
        let owner = folder.path().metadata().map_err(Error::file(folder.path()))?;
        match mounted {
            Err(error) if owner.uid() != 0 => {
                skipped(&format!("needs root, to mount a small file system: {error}"));
                Ok(false)
            }
            mounted => Ok(found_or_skipped("a small file system", mounted)?.is_some()),
        }
    }

    /// Mounts one of `size`, in the words of tmpfs (`3m`), at a folder.
    ///
    /// # Errors
    /// When `mount` fails, as it does for anyone but root.
    pub fn mount(folder: &Path, size: &str) -> Result<Self, Error> {
        let place = folder.display().to_string();
        command::run("mount", &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs", &place], b"")?;
        Ok(Self(folder.to_owned()))
    }

    /// The one that is already mounted at a folder.
    #[must_use]
    pub fn mounted_at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Makes it larger or smaller.
    ///
    /// # Errors
    /// When `mount` fails.
    pub fn resize(&self, size: &str) -> Result<(), Error> {
        let place = self.0.display().to_string();
        command::run("mount", &["-o", &format!("remount,size={size}"), &place], b"").map(drop)
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: somebody may still hold it.
        let _ = command::run("umount", &["-l", &self.0.display().to_string()], b"");
    }
}
