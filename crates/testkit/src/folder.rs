use std::path::{Path, PathBuf};

use crate::{Error, keeper};

/// A temporary folder that goes with its handle, or with the test process when that is killed.
#[derive(Debug)]
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// Makes an empty folder whose name starts with `prefix`.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn new(prefix: &str) -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix(&format!("weir-{prefix}-"))
            .tempdir()
            .map_err(Error::file(std::env::temp_dir()))?;
        keeper::folder(folder.path())?;
        Ok(Self(folder))
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of `name` in it.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file into it and returns the file's path.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf, Error> {
        let path = self.join(name);
        std::fs::write(&path, content).map_err(Error::file(&path))?;
        Ok(path)
    }
}

/// A path in the repository that this kit was built from.
#[must_use]
pub fn repo_path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(relative)
}
