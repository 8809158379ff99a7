//! The place of one object's files.

use crate::path::{RelPath, RelPathError};

/// The directory of one object: `<kind lower-case>/<namespace>/<name>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    directory: RelPath,
}

impl Location {
    /// The location of an object.
    ///
    /// # Errors
    /// When a part is not exactly one path component. Names that the API server accepts always are.
    pub fn new(kind: &str, namespace: &str, name: &str) -> Result<Self, RelPathError> {
        let directory = RelPath::parse(&format!("{}/{namespace}/{name}", kind.to_lowercase()))?;
        if directory.depth() != 3 || namespace.contains('/') || name.contains('/') {
            return Err(RelPathError::Character { path: directory.to_string() });
        }
        Ok(Self { directory })
    }

    /// The directory below the store's root.
    #[must_use]
    pub fn directory(&self) -> &RelPath {
        &self.directory
    }

    /// A file of this object.
    ///
    /// # Errors
    /// When `name` is not one usable path component.
    pub fn file(&self, name: &str) -> Result<RelPath, RelPathError> {
        if name.contains('/') {
            return Err(RelPathError::Character { path: name.to_owned() });
        }
        self.directory.join(name)
    }

    /// `path` if it is a file of this object.
    pub(super) fn owned(&self, path: &str) -> Option<RelPath> {
        let path = RelPath::parse(path).ok()?;
        (path.parent().as_ref() == Some(&self.directory)).then_some(path)
    }
}
