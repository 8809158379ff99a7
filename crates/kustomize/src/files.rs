//! Reading files for one build: each once, within caps, remembering what was seen.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, Scope, ScopedJoinHandle};

use sha2::{Digest, Sha256};
use weir_yaml::{Node, Source};

use crate::fs::{FileKind, FileSystem, FsError, FsPath};
use crate::kustomization::{Kustomization, UnknownFields};
use crate::remote::{Fetched, GitUrl, RemoteError};
use crate::yaml::{self, MAX_FILE};
use crate::{Error, ReadSet, Remote, Seen};

/// Files up to this size are kept, parsed where they are YAML, since bases are often reached through many overlays. Larger ones
/// are worth a thread that parses them, and are read again if they are reached twice, because keeping their nodes would double
/// the memory of a build.
const CACHED_FILE_BYTES: usize = 64 << 10;

/// All cached files together.
const CACHED_BYTES: usize = 32 << 20;

/// Longest path of which is told how far it goes; file systems take no longer ones.
const MAX_TOLD: usize = 4096;

/// The file system of one build.
pub(crate) struct Files<'f> {
    fs: &'f dyn FileSystem,
    fetched: Fetched,
    seen: RefCell<BTreeMap<FsPath, Seen>>,
    contents: RefCell<HashMap<FsPath, Rc<[u8]>>>,
    documents: RefCell<HashMap<FsPath, Rc<Vec<Node>>>>,
    kustomizations: RefCell<HashMap<FsPath, Rc<Kustomization>>>,
    cached_bytes: Cell<usize>,
}

/// The documents of a file.
pub(crate) enum Documents<'s> {
    /// They are there.
    Parsed(Vec<Node>),
    /// A thread is at it.
    Parsing(ScopedJoinHandle<'s, Result<Vec<Node>, Error>>),
}

impl Documents<'_> {
    /// Waits for them.
    pub(crate) fn parsed(self) -> Result<Vec<Node>, Error> {
        match self {
            Self::Parsed(nodes) => Ok(nodes),
            Self::Parsing(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        }
    }
}

/// Parses a file on a thread of its own.
fn parse_aside<'s>(
    scope: &'s Scope<'s, '_>,
    source: Arc<Source>,
    reference: &str,
) -> Result<Documents<'s>, Error> {
    let work = {
        let (source, reference) = (Arc::clone(&source), reference.to_owned());
        move || yaml::documents(&source, &reference)
    };
    match thread::Builder::new().spawn_scoped(scope, work) {
        Ok(thread) => Ok(Documents::Parsing(thread)),
        // No more threads are to be had: it takes longer then.
        Err(_) => yaml::documents(&source, reference).map(Documents::Parsed),
    }
}

impl<'f> Files<'f> {
    pub(crate) fn new(fs: &'f dyn FileSystem, remote: Option<Arc<dyn Remote>>) -> Self {
        Self {
            fs,
            fetched: Fetched::new(remote),
            seen: RefCell::default(),
            contents: RefCell::default(),
            documents: RefCell::default(),
            kustomizations: RefCell::default(),
            cached_bytes: Cell::new(0),
        }
    }

    /// Returns everything that the build has read.
    pub(crate) fn into_read_set(self) -> ReadSet {
        ReadSet::new(self.seen.into_inner(), self.fetched.is_used())
    }

    /// Returns the target of a path; the answer becomes part of the read-set.
    pub(crate) fn resolve(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError> {
        if Fetched::holds(path) {
            return self.fetched.resolve(path);
        }
        let resolved = self.fs.resolve(path);
        match &resolved {
            Ok((_, FileKind::Directory)) => self.saw(path, Seen::Directory),
            Ok((_, FileKind::File)) => {}
            Err(_) => self.saw(path, Seen::Missing),
        }
        resolved
    }

    /// Returns the target of a path that a kustomization file names; the error tells how far the way goes.
    pub(crate) fn reach(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError> {
        self.resolve(path).map_err(|error| match error {
            FsError::NotFound { path } if !Fetched::holds(&path) => self.no_way(path),
            error => error,
        })
    }

    fn no_way(&self, path: FsPath) -> FsError {
        let (mut missing, mut parent) = (path.clone(), path.parent());
        let is_told = path.as_str().len() <= MAX_TOLD;
        while is_told && parent != FsPath::root() && self.fs.resolve(&parent).is_err() {
            missing = parent;
            parent = missing.parent();
        }
        if missing == path { FsError::NotFound { path } } else { FsError::NoWay { path, missing } }
    }

    /// Returns true when a file is there.
    pub(crate) fn is_file(&self, path: &FsPath) -> bool {
        matches!(self.resolve(path), Ok((_, FileKind::File)))
    }

    /// The bytes of a file that is used as it is, such as a patch or the source of a generator.
    pub(crate) fn read(&self, path: &FsPath) -> Result<Vec<u8>, FsError> {
        if let Some(content) = self.contents.borrow().get(path) {
            return Ok(content.to_vec());
        }
        let content = self.take(path)?;
        if self.may_cache(content.len()) {
            self.contents.borrow_mut().insert(path.clone(), content.as_slice().into());
        }
        Ok(content)
    }

    fn take(&self, path: &FsPath) -> Result<Vec<u8>, FsError> {
        if Fetched::holds(path) {
            return self.fetched.read(path, MAX_FILE);
        }
        let content = self.fs.read(path, MAX_FILE)?;
        self.saw(path, Seen::File { sha256: Sha256::digest(&content).into() });
        Ok(content)
    }

    /// Fetches the repository that a URL names, unless it is there; its root.
    pub(crate) fn repository(&self, url: &GitUrl) -> Result<FsPath, RemoteError> {
        self.fetched.repository(url)
    }

    /// Fetches the file that a URL leads to, unless it is there.
    pub(crate) fn download(&self, url: &str) -> Result<FsPath, RemoteError> {
        self.fetched.download(url, MAX_FILE)
    }

    /// The documents of a YAML file. `reference` is how the file was referred to, for messages.
    pub(crate) fn documents(&self, path: &FsPath, reference: &str) -> Result<Vec<Node>, Error> {
        thread::scope(|scope| self.open(scope, path, reference)?.parsed())
    }

    /// As [`Files::documents`], but a large file is parsed by a thread of its own, to be waited for later.
    pub(crate) fn open<'s>(
        &self,
        scope: &'s Scope<'s, '_>,
        path: &FsPath,
        reference: &str,
    ) -> Result<Documents<'s>, Error> {
        if let Some(nodes) = self.documents.borrow().get(path) {
            return Ok(Documents::Parsed(nodes.as_ref().clone()));
        }
        let content = self.take(path)?;
        let size = content.len();
        let source = yaml::source(&path.to_string(), content, reference)?;
        if size > CACHED_FILE_BYTES {
            return parse_aside(scope, source, reference);
        }
        let nodes = yaml::documents(&source, reference)?;
        if self.may_cache(size) {
            self.documents.borrow_mut().insert(path.clone(), Rc::new(nodes.clone()));
        }
        Ok(Documents::Parsed(nodes))
    }

    /// The kustomization file at `path`, strictly decoded.
    pub(crate) fn kustomization(&self, path: &FsPath) -> Result<Rc<Kustomization>, Error> {
        if let Some(known) = self.kustomizations.borrow().get(path) {
            return Ok(Rc::clone(known));
        }
        let content = self.take(path)?;
        let size = content.len();
        let kustomization =
            Rc::new(Kustomization::parse_file(&path.to_string(), content, UnknownFields::Reject)?);
        if self.may_cache(size) {
            self.kustomizations.borrow_mut().insert(path.clone(), Rc::clone(&kustomization));
        }
        Ok(kustomization)
    }

    fn may_cache(&self, size: usize) -> bool {
        let total = self.cached_bytes.get() + size;
        let fits = size <= CACHED_FILE_BYTES && total <= CACHED_BYTES;
        if fits {
            self.cached_bytes.set(total);
        }
        fits
    }

    fn saw(&self, path: &FsPath, seen: Seen) {
        self.seen.borrow_mut().insert(path.clone(), seen);
    }
}
