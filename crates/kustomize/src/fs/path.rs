//! Paths below the root of a file system.

use std::fmt;

use super::FsError;

/// A root or a cleaned path below it: no `.`, no `..`, no leading or trailing slash. Prints with a leading slash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FsPath(String);

impl FsPath {
    /// The root itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Cleans `path`, read from the root. A leading slash is allowed and means nothing.
    ///
    /// # Errors
    /// `..` leads above the root.
    pub fn new(path: &str) -> Result<Self, FsError> {
        Self::root().join(path)
    }

    /// Follows `path` from here, lexically.
    ///
    /// # Errors
    /// `..` leads above the root.
    pub fn join(&self, path: &str) -> Result<Self, FsError> {
        let mut segments: Vec<&str> = self.segments().collect();
        for segment in path.split('/') {
            match segment {
                "" | "." => {}
                ".." => {
                    if segments.pop().is_none() {
                        return Err(FsError::Escapes {
                            operation: "abs",
                            path: path.to_owned(),
                            root: "/".to_owned(),
                        });
                    }
                }
                segment => segments.push(segment),
            }
        }
        Ok(Self(segments.join("/")))
    }

    /// The entry of this name, which must be one.
    pub(crate) fn child(&self, name: &str) -> Self {
        Self(if self.0.is_empty() { name.to_owned() } else { format!("{}/{name}", self.0) })
    }

    /// This path, read from `root`.
    pub(crate) fn below(&self, root: &Self) -> Self {
        if self.0.is_empty() { root.clone() } else { root.child(&self.0) }
    }

    /// The path without leading slash; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The directory that holds this path; the root's is the root.
    pub fn parent(&self) -> Self {
        Self(self.0.rsplit_once('/').map(|(parent, _)| parent.to_owned()).unwrap_or_default())
    }

    /// The last segment; empty for the root.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns true when this path is `directory` or lies in it, segment by segment (KZ-305).
    pub fn is_in_or_below(&self, directory: &Self) -> bool {
        match self.0.strip_prefix(&directory.0) {
            Some(rest) => rest.is_empty() || directory.0.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }

    /// The way from `directory` to this path, with `..` where needed; `.` when they are the same.
    pub fn relative_to(&self, directory: &Self) -> String {
        let own: Vec<&str> = self.segments().collect();
        let from: Vec<&str> = directory.segments().collect();
        let shared = own.iter().zip(&from).take_while(|(a, b)| a == b).count();
        let up = std::iter::repeat_n("..", from.len() - shared);
        let way: Vec<&str> = up.chain(own.into_iter().skip(shared)).collect();
        if way.is_empty() { ".".to_owned() } else { way.join("/") }
    }

    fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|segment| !segment.is_empty())
    }
}

impl fmt::Display for FsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0)
    }
}
