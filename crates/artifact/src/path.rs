//! Paths that come from outside and stay inside: relative, normalised, without a way up.

use std::borrow::Borrow;
use std::fmt;

/// Bytes of a path; longer ones are refused by every file system that we write to.
const MAX_LENGTH: usize = 4096;

/// A relative path in normal form: no empty, `.` or `..` component, no NUL, no backslash. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelPath {
    text: String,
}

/// Errors in a text that is no path inside the root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RelPathError {
    /// Empty, or nothing but `.` and `/`.
    #[error("path is empty")]
    Empty,
    /// Starts with `/`.
    #[error("path '{path}' is absolute")]
    Absolute {
        /// The path.
        path: String,
    },
    /// Has a `..` component.
    #[error("path '{path}' leads out of its root")]
    Parent {
        /// The path.
        path: String,
    },
    /// Holds NUL or a backslash.
    #[error("path {path:?} holds a character that is not allowed")]
    Character {
        /// The path.
        path: String,
    },
    /// Longer than any file system takes.
    #[error("path of {length} bytes is too long")]
    TooLong {
        /// Its bytes.
        length: usize,
    },
}

impl RelPath {
    /// Parses a path that uses `/`. `./` and doubled slashes are dropped; a trailing slash too.
    ///
    /// # Errors
    /// When the path is empty, absolute, leads up, is too long, or holds NUL or a backslash.
    pub fn parse(path: &str) -> Result<Self, RelPathError> {
        if path.len() > MAX_LENGTH {
            return Err(RelPathError::TooLong { length: path.len() });
        }
        if path.contains(['\0', '\\']) {
            return Err(RelPathError::Character { path: path.to_owned() });
        }
        if path.starts_with('/') {
            return Err(RelPathError::Absolute { path: path.to_owned() });
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return Err(RelPathError::Parent { path: path.to_owned() });
        }
        if parts.is_empty() {
            return Err(RelPathError::Empty);
        }
        Ok(Self { text: parts.join("/") })
    }

    /// Parses a path as a user writes it, however: `..` does not lead above the root, as if the root were that of the file
    /// system. Nothing for the root itself.
    ///
    /// # Errors
    /// When the path is too long, or holds NUL or a backslash.
    pub fn confined(path: &str) -> Result<Option<Self>, RelPathError> {
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        if parts.is_empty() { Ok(None) } else { Self::parse(&parts.join("/")).map(Some) }
    }

    /// This path with `name` (one or more components) below it.
    ///
    /// # Errors
    /// As [`RelPath::parse`] for `name`.
    pub fn join(&self, name: &str) -> Result<Self, RelPathError> {
        let below = Self::parse(name)?;
        Ok(Self { text: format!("{}/{}", self.text, below.text) })
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The last component.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.text.rsplit_once('/').map_or(self.text.as_str(), |(_, name)| name)
    }

    /// The path above; nothing for a path of one component.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.text.rsplit_once('/').map(|(parent, _)| Self { text: parent.to_owned() })
    }

    /// Returns the number of components.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.text.split('/').count()
    }

    /// Returns true when the path is `other` or lies below it.
    #[must_use]
    pub fn is_below(&self, other: &Self) -> bool {
        self.text.strip_prefix(&other.text).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Borrow<str> for RelPath {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl AsRef<std::path::Path> for RelPath {
    fn as_ref(&self) -> &std::path::Path {
        std::path::Path::new(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a/b.yaml", "a/b.yaml")]
    #[case("./a//b/./c/", "a/b/c")]
    #[case("..a/b..", "..a/b..")]
    fn normalised(#[case] path: &str, #[case] normal: &str) {
        assert_eq!(RelPath::parse(path).unwrap().as_str(), normal);
    }

    #[rstest]
    #[case("")]
    #[case("./")]
    #[case("/etc/passwd")]
    #[case("a/../b")]
    #[case("..")]
    #[case("a\\b")]
    #[case("a\0b")]
    fn refused(#[case] path: &str) {
        assert!(RelPath::parse(path).is_err());
    }

    #[rstest]
    #[case("", None)]
    #[case("..", None)]
    #[case("a/../..", None)]
    #[case("/abs/./x", Some("abs/x"))]
    #[case("../../etc", Some("etc"))]
    #[case("a/../../b", Some("b"))]
    #[case("./a//b/.", Some("a/b"))]
    fn confinement(#[case] path: &str, #[case] expected: Option<&str>) {
        assert_eq!(RelPath::confined(path).unwrap().as_ref().map(RelPath::as_str), expected);
    }

    #[test]
    fn below_means_whole_components() {
        let path = |text| RelPath::parse(text).unwrap();
        assert!(path("dir1/a").is_below(&path("dir1")));
        assert!(!path("dir10/a").is_below(&path("dir1")));
    }

    proptest! {
        #[test]
        fn what_is_accepted_stays_inside(path in "[a./\\\\]{0,12}") {
            if let Ok(path) = RelPath::parse(&path) {
                let inside = std::path::Path::new(path.as_str())
                    .components()
                    .all(|part| matches!(part, std::path::Component::Normal(_)));
                prop_assert!(inside);
                prop_assert_eq!(RelPath::parse(path.as_str()).unwrap(), path);
            }
        }
    }
}
