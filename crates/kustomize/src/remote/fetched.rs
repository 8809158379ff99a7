//! The trees that one build has fetched: they stand beside the local files, each fetched once.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::Arc;

use super::{Answer, FetchError, GitUrl, Remote, RemoteError};
use crate::fs::{FileKind, FileSystem, FsError, FsPath, MemoryFs};

/// Different references that one build may fetch, failed ones included. Each costs a request as a file and one as a
/// repository, and a tree of bases that name each other by ever new URLs has no other end.
const MAX_REFERENCES: usize = 128;
/// Bytes of all files that one build downloads; they stay in memory until it ends.
const MAX_DOWNLOADED_BYTES: u64 = 256 << 20;
/// The folder that trees are shown in. No local directory of this name is built, and no local reference leads into it
/// (KZ-321).
const FOLDER: &str = ".remote-bases";

/// Trees by number, shown as `/.remote-bases/<number>`.
#[derive(Default)]
pub(crate) struct Fetched {
    remote: Option<Arc<dyn Remote>>,
    trees: RefCell<Vec<Tree>>,
    /// References that a server was asked about.
    asked: RefCell<HashSet<String>>,
    /// URLs that no file came from, and that may be repositories.
    refused: RefCell<HashSet<String>>,
    downloaded: Cell<u64>,
}

struct Tree {
    /// By what it is found again.
    key: String,
    files: Box<dyn FileSystem>,
}

impl Fetched {
    pub(crate) fn new(remote: Option<Arc<dyn Remote>>) -> Self {
        Self { remote, ..Self::default() }
    }

    /// Returns true when a path is one of something fetched.
    pub(crate) fn holds(path: &FsPath) -> bool {
        path.as_str().split('/').next() == Some(FOLDER)
    }

    /// Returns true when the build depends on anything that was fetched, or that could not be.
    pub(crate) fn is_used(&self) -> bool {
        !self.asked.borrow().is_empty()
    }

    /// The root of the repository that a URL names.
    pub(crate) fn repository(&self, url: &GitUrl) -> Result<FsPath, RemoteError> {
        let key = format!("{} {:?} {}", url.repository, url.reference, url.submodules);
        self.tree(&url.raw, key, |remote| Ok(remote.repository(url)?))
    }

    /// The file that a URL leads to, with at most `limit` bytes.
    pub(crate) fn download(&self, url: &str, limit: u64) -> Result<FsPath, RemoteError> {
        if self.refused.borrow().contains(url) {
            return Err(RemoteError::IsRepository);
        }
        let name = "content";
        let tree = self.tree(url, url.to_owned(), |remote| match self.get(remote, url, limit)? {
            Answer::Content(content) => {
                let downloaded = self.downloaded.get().saturating_add(content.len() as u64);
                if downloaded > MAX_DOWNLOADED_BYTES {
                    return Err(RemoteError::TooManyBytes(MAX_DOWNLOADED_BYTES));
                }
                self.downloaded.set(downloaded);
                Ok(Box::new(MemoryFs::of_file(FsPath::root().child(name), content)))
            }
            Answer::Refusal { .. } if GitUrl::parse(url).is_ok() => Err(RemoteError::IsRepository),
            Answer::Refusal { status, name } => Err(RemoteError::Status { status, name }),
        })?;
        Ok(tree.child(name))
    }

    /// Requests a file, once where the URL may be that of a repository too: what is no file for one reference is none for the next.
    fn get(&self, remote: &dyn Remote, url: &str, limit: u64) -> Result<Answer, FetchError> {
        let answer = remote.get(url, limit);
        if !matches!(answer, Ok(Answer::Content(_))) && GitUrl::parse(url).is_ok() {
            self.refused.borrow_mut().insert(url.to_owned());
        }
        answer
    }

    fn tree(
        &self,
        reference: &str,
        key: String,
        fetch: impl FnOnce(&dyn Remote) -> Result<Box<dyn FileSystem>, RemoteError>,
    ) -> Result<FsPath, RemoteError> {
        let remote = self.remote.as_ref().ok_or_else(|| RemoteError::Disabled(reference.to_owned()))?;
        let known = self.trees.borrow().iter().position(|tree| tree.key == key);
        if let Some(number) = known {
            return Ok(folder(number));
        }
        self.count(reference)?;
        let files = fetch(remote.as_ref())?;
        let mut trees = self.trees.borrow_mut();
        trees.push(Tree { key, files });
        Ok(folder(trees.len() - 1))
    }

    /// Counts a reference, once for all that is fetched for it.
    fn count(&self, reference: &str) -> Result<(), RemoteError> {
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(reference) {
            if asked.len() >= MAX_REFERENCES {
                return Err(RemoteError::TooMany(MAX_REFERENCES));
            }
            asked.insert(reference.to_owned());
        }
        Ok(())
    }

    /// Returns the target of a path; [`FileSystem::resolve`].
    pub(crate) fn resolve(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError> {
        self.within(path, |files, root, below| {
            let (found, kind) = files.resolve(below)?;
            Ok((found.below(root), kind))
        })
    }

    /// The bytes of a file; [`FileSystem::read`].
    pub(crate) fn read(&self, path: &FsPath, limit: u64) -> Result<Vec<u8>, FsError> {
        self.within(path, |files, _, below| files.read(below, limit))
    }

    /// Does something at a path of a tree; errors name the path as it is outside of the tree.
    fn within<T>(
        &self,
        path: &FsPath,
        work: impl FnOnce(&dyn FileSystem, &FsPath, &FsPath) -> Result<T, FsError>,
    ) -> Result<T, FsError> {
        let trees = self.trees.borrow();
        for (number, tree) in trees.iter().enumerate() {
            let root = folder(number);
            if path.is_in_or_below(&root) {
                let below = FsPath::new(path.as_str().get(root.as_str().len()..).unwrap_or_default())?;
                return work(tree.files.as_ref(), &root, &below).map_err(|error| error.below(&root));
            }
        }
        Err(FsError::NotFound { path: path.clone() })
    }
}

fn folder(number: usize) -> FsPath {
    FsPath::root().child(FOLDER).child(&(number + 1).to_string())
}
