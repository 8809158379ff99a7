//! From a reference in a kustomization file to a file or directory (§3).

use std::rc::Rc;

use crate::error::NotADirectory;
use crate::files::Files;
use crate::fs::{FileKind, FsError, RelPath};
use crate::{Error, LoadRestriction};

/// How deep bases may nest (KZ-322). Real trees have fewer than ten levels.
const MAX_LEVELS: usize = 100;

/// A directory that is being built, and the directories whose kustomizations led to it.
#[derive(Debug)]
pub(crate) struct Loader {
    root: RelPath,
    referrer: Option<Rc<Loader>>,
    level: usize,
}

impl Loader {
    /// Starts at the directory of the build.
    pub(crate) fn start(files: &Files<'_>, directory: &RelPath) -> Result<Rc<Self>, Error> {
        let root = resolve_directory(files, directory)?;
        Ok(Rc::new(Self { root, referrer: None, level: 0 }))
    }

    /// The directory, symlinks resolved.
    pub(crate) fn root(&self) -> &RelPath {
        &self.root
    }

    /// Goes to a base or component (KZ-304).
    pub(crate) fn enter(self: &Rc<Self>, files: &Files<'_>, reference: &str) -> Result<Rc<Self>, Error> {
        if reference.is_empty() {
            return Err(Error::EmptyRoot);
        }
        if is_remote(reference) {
            return Err(Error::Remote(reference.to_owned()));
        }
        if reference.starts_with('/') {
            return Err(Error::AbsoluteRoot(reference.to_owned()));
        }
        let path = self.root.join(reference)?;
        if reference.split('/').any(|segment| segment != ".." && segment.contains("..")) {
            return Err(Error::AmbiguousPath { path: reference.to_owned(), resolved: path });
        }
        let root = resolve_directory(files, &path)?;
        let mut visited = Some(self);
        while let Some(loader) = visited {
            if loader.root.is_in_or_below(&root) {
                return Err(Error::Cycle { candidate: root, visited: loader.root.clone() });
            }
            visited = loader.referrer.as_ref();
        }
        if self.level >= MAX_LEVELS {
            return Err(Error::TooManyLevels(MAX_LEVELS));
        }
        Ok(Rc::new(Self { root, referrer: Some(Rc::clone(self)), level: self.level + 1 }))
    }

    /// The file that a reference means, checked against the load restriction (KZ-302).
    pub(crate) fn locate(
        &self,
        files: &Files<'_>,
        reference: &str,
        restriction: LoadRestriction,
    ) -> Result<RelPath, Error> {
        if is_url(reference) {
            return Err(Error::Remote(reference.to_owned()));
        }
        let outside = |file| Error::OutsideRoot { file, root: self.root.clone() };
        if reference.starts_with('/') {
            return Err(outside(RelPath::new(reference)?));
        }
        let path = self.root.join(reference)?;
        let (real, kind) = files.resolve(&path)?;
        if kind == FileKind::Directory {
            return Err(FsError::IsDirectory { path }.into());
        }
        if restriction == LoadRestriction::RootOnly && !real.is_in_or_below(&self.root) {
            return Err(outside(real));
        }
        Ok(path)
    }

    /// The bytes of a file that is referred to.
    pub(crate) fn read(
        &self,
        files: &Files<'_>,
        reference: &str,
        restriction: LoadRestriction,
    ) -> Result<Vec<u8>, Error> {
        let path = self.locate(files, reference, restriction)?;
        Ok(files.read(&path)?)
    }
}

fn resolve_directory(files: &Files<'_>, path: &RelPath) -> Result<RelPath, Error> {
    match files.resolve(path) {
        Ok((root, FileKind::Directory)) => Ok(root),
        Ok((file, FileKind::File)) => Err(Error::Directory(NotADirectory::IsFile(file))),
        Err(cause) => Err(Error::Directory(NotADirectory::Unreachable(cause))),
    }
}

/// Whether a file reference is an HTTP URL (KZ-310).
fn is_url(reference: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| starts_with_ignoring_case(reference, scheme))
}

/// Whether a base reference is a URL or a Git repository (KZ-311).
fn is_remote(reference: &str) -> bool {
    const SCHEMES: [&str; 7] =
        ["http://", "https://", "ssh://", "file://", "git::", "github.com/", "github.com:"];
    if SCHEMES.iter().any(|scheme| starts_with_ignoring_case(reference, scheme)) {
        return true;
    }
    // scp style: user@host:path
    let Some((user, rest)) = reference.split_once('@') else { return false };
    let is_user = user.starts_with(|first: char| first.is_ascii_alphabetic())
        && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_user && rest.split_once(':').is_some_and(|(host, _)| !host.contains('/'))
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::is_remote;

    #[rstest]
    #[case("https://github.com/org/repo//path?ref=v1", true)]
    #[case("GitHub.com/org/repo", true)]
    #[case("git::https://example.com/repo.git", true)]
    #[case("git@github.com:org/repo", true)]
    #[case("file:///repo", true)]
    #[case("../base", false)]
    #[case("dir@v1/x", false)]
    #[case("github.community/x", false)]
    fn remote_references_are_told_from_paths(#[case] reference: &str, #[case] wanted: bool) {
        assert_eq!(is_remote(reference), wanted);
    }
}
