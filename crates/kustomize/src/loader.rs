//! From a reference in a kustomization file to a file or directory (§3).

use std::rc::Rc;

use crate::build::Build;
use crate::error::NotADirectory;
use crate::files::Files;
use crate::fs::{FileKind, FsError, FsPath};
use crate::origin::Home;
use crate::remote::{Fetched, GitUrl, GitUrlError, RemoteError, is_url, without_secrets};
use crate::{Error, LoadRestriction, Warning};

/// Greatest depth of bases (KZ-322). Real trees have fewer than ten levels.
const MAX_LEVELS: usize = 100;

/// A directory that is being built, and the directories whose kustomizations led to it.
#[derive(Debug)]
pub(crate) struct Loader {
    root: FsPath,
    /// The repository that the directory is in, unless it is a local one.
    repository: Option<Rc<Repository>>,
    referrer: Option<Rc<Self>>,
    level: usize,
}

/// A repository that was fetched.
#[derive(Debug)]
struct Repository {
    url: GitUrl,
    folder: FsPath,
}

impl Loader {
    /// Starts at the directory of the build.
    pub(crate) fn start(files: &Files<'_>, directory: &FsPath) -> Result<Rc<Self>, Error> {
        let root = resolve_directory(files, directory)?;
        let loader = Self { root, repository: None, referrer: None, level: 0 };
        loader.check_reach(&loader.root)?;
        Ok(Rc::new(loader))
    }

    /// The directory, symlinks resolved.
    pub(crate) fn root(&self) -> &FsPath {
        &self.root
    }

    /// Returns the folder that origins count from in a build of `directory`.
    pub(crate) fn home<'h>(&'h self, directory: &'h FsPath) -> Home<'h> {
        match &self.repository {
            Some(repository) => Home { root: &repository.folder, repository: Some(&repository.url) },
            None => Home { root: directory, repository: None },
        }
    }

    /// Goes to a base or component (KZ-304).
    pub(crate) fn enter(self: &Rc<Self>, build: &Build<'_>, reference: &str) -> Result<Rc<Self>, Error> {
        if reference.is_empty() {
            return Err(Error::EmptyRoot);
        }
        if self.level >= MAX_LEVELS {
            return Err(Error::TooManyLevels(MAX_LEVELS));
        }
        let (root, repository) = match GitUrl::parse(reference) {
            Ok(url) => self.fetch(build, url)?,
            Err(error @ GitUrlError::Exits(_)) => return Err(RemoteError::from(error).into()),
            // A path, then.
            Err(_) => (self.follow(&build.files, reference)?, self.repository.clone()),
        };
        Ok(Rc::new(Self { root, repository, referrer: Some(Rc::clone(self)), level: self.level + 1 }))
    }

    /// The directory that a path leads to.
    fn follow(&self, files: &Files<'_>, reference: &str) -> Result<FsPath, Error> {
        if reference.starts_with('/') {
            return Err(Error::AbsoluteRoot(reference.to_owned()));
        }
        let unreachable = |cause| Error::Directory(NotADirectory::Unreachable(cause));
        let path = self.root.join(reference).map_err(unreachable)?;
        if reference.split('/').any(|segment| segment != ".." && segment.contains("..")) {
            return Err(Error::AmbiguousPath { path: reference.to_owned(), resolved: path });
        }
        // Before anything is asked of a place that a repository has no business with, and after links have been followed.
        self.check_reach(&path)?;
        let root = resolve_directory(files, &path)?;
        self.check_reach(&root)?;
        for visited in self.way() {
            if visited.root.is_in_or_below(&root) {
                return Err(Error::Cycle { candidate: root, visited: visited.root.clone() });
            }
        }
        Ok(root)
    }

    /// The directory that a Git URL leads to (KZ-314).
    fn fetch(&self, build: &Build<'_>, url: GitUrl) -> Result<(FsPath, Option<Rc<Repository>>), Error> {
        for repository in self.way().filter_map(|loader| loader.repository.as_ref()) {
            if repository.url.raw.starts_with(&url.raw) {
                return Err(RemoteError::Cycle { new: url.raw, previous: repository.url.raw.clone() }.into());
            }
        }
        let folder = build.files.repository(&url)?;
        if url.is_forced() {
            build.warn(Warning::ForcedGit(without_secrets(&url.raw).into_owned()));
        }
        let path = folder.join(&url.path)?;
        let root = match build.files.resolve(&path) {
            Ok((root, FileKind::Directory)) => root,
            Ok((file, FileKind::File)) => {
                let file = file.file_name().to_owned();
                return Err(RemoteError::IsFile { path, file }.into());
            }
            Err(FsError::Escapes { .. }) => {
                return Err(RemoteError::OutsideRepository { path, repository: folder }.into());
            }
            Err(error) => return Err(error.into()),
        };
        Ok((root, Some(Rc::new(Repository { url, folder }))))
    }

    /// This loader and those that led to it.
    fn way(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |loader| loader.referrer.as_deref())
    }

    /// Checks that a path is one that this directory may name: in its own repository, or a local one (KZ-321).
    fn check_reach(&self, path: &FsPath) -> Result<(), RemoteError> {
        match &self.repository {
            Some(repository) if !path.is_in_or_below(&repository.folder) => {
                let (base, repository) = (path.clone(), repository.folder.clone());
                Err(RemoteError::LeavesRepository { base, repository })
            }
            None if Fetched::holds(path) => Err(RemoteError::Reserved(path.clone())),
            _ => Ok(()),
        }
    }

    /// The file that a reference means, checked against the load restriction (KZ-302); fetched if it is a URL (KZ-310).
    pub(crate) fn locate(&self, build: &Build<'_>, reference: &str) -> Result<FsPath, Error> {
        if is_url(reference) {
            return Ok(build.files.download(reference)?);
        }
        let outside = |file| Error::OutsideRoot { file, root: self.root.clone() };
        if reference.starts_with('/') {
            return Err(outside(FsPath::new(reference)?));
        }
        let path = self.root.join(reference)?;
        if self.check_reach(&path).is_err() {
            return Err(outside(path));
        }
        // In repositories whatever the option is (KZ-314).
        let restriction = build.options.load_restriction;
        let is_restricted = restriction == LoadRestriction::RootOnly || self.repository.is_some();
        let (real, kind) = build.files.reach(&path).map_err(|error| match error {
            FsError::NotFound { path } | FsError::NoWay { path, .. } if !is_restricted => {
                Error::MissingFile(path)
            }
            error => error.into(),
        })?;
        if kind == FileKind::Directory {
            let restricted = || FsError::IsDirectory { path: path.clone() }.into();
            return Err(if is_restricted { restricted() } else { Error::ReadDirectory(path) });
        }
        if is_restricted && !real.is_in_or_below(&self.root) {
            return Err(outside(real));
        }
        Ok(path)
    }

    /// The bytes of a file that is referred to.
    pub(crate) fn read(&self, build: &Build<'_>, reference: &str) -> Result<Vec<u8>, Error> {
        let path = self.locate(build, reference)?;
        Ok(build.files.read(&path)?)
    }
}

fn resolve_directory(files: &Files<'_>, path: &FsPath) -> Result<FsPath, Error> {
    match files.reach(path) {
        Ok((root, FileKind::Directory)) => Ok(root),
        Ok((file, FileKind::File)) => Err(Error::Directory(NotADirectory::IsFile(file))),
        Err(cause) => Err(Error::Directory(NotADirectory::Unreachable(cause))),
    }
}
