//! The files behind `status.artifact`: `<root>/<kind>/<namespace>/<name>/<file>` (SRC-STO-1…6).
//!
//! A file gets its final name only after its last byte has reached the disk, so whatever has a final name is whole, at
//! every instant and after every crash. All paths go through a directory handle that cannot be left. A large artifact is a
//! directory beside that name instead, with the pieces of the file in it (docs/adr/0014).

mod collect;
mod location;
mod lock;
mod partial;
mod pieces;
mod sink;
mod verified;

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt};

pub use self::location::Location;
pub use self::lock::Lock;
use self::partial::{Laid, Partial, is_done};
use self::verified::Verified;
use crate::archive::Sink;
use crate::digest::{Algorithm, Digest, DigestError, Hasher};
use crate::opened::{FileState, Opened};
use crate::path::{RelPath, RelPathError};
use crate::room::Room;

/// Suffix of files that are still being written. The file server does not show them.
pub(crate) const PARTIAL_SUFFIX: &str = ".partial";
/// Suffix of lock files. The file server does not show them.
pub(crate) const LOCK_SUFFIX: &str = ".lock";
/// Suffix of directories of pieces: an artifact that lies in pieces has no file of its own name. A controller that knows no
/// pieces, Flux's for example, finds that the artifact is missing, and can write it.
const PIECES_SUFFIX: &str = ".pieces";
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;
/// Buffer for hashing a stored file.
const READ_BUFFER: usize = 64 * 1024;

/// Settings of a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// `host[:port]` or a URL prefix under which consumers reach the files (SRC-STO-2).
    pub advertised: String,
    /// Algorithm of new digests.
    pub algorithm: Algorithm,
    /// Number of files that are kept of an object, the current one included (SRC-STO-11).
    pub records: usize,
    /// Bytes of a piece of a large artifact; [`PIECE_BYTES`] but in tests.
    pub piece_bytes: u64,
    /// Called with the name of each step of a write that is done; tests end the process there.
    pub step: fn(&'static str),
}

/// Bytes of a piece of a large artifact (docs/adr/0014). They are small because a change of one file writes one or two
/// of them anew, and not smaller because a reader opens them all. Smaller artifacts are files.
pub const PIECE_BYTES: u64 = 8 << 20;

/// Steps of a write, in their order: what [`StoreOptions::step`] is called with. There is no `store-piece` for small
/// artifacts, and `store-replaced` comes only where a directory of pieces has been replaced.
pub const STEPS: [&str; 8] = [
    "store-opened",
    "store-piece",
    "store-filled",
    "store-synced",
    "store-renamed",
    "store-durable",
    "store-replaced",
    "store-linked",
];

/// A failure of the store, named after what was being done.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The storage path is missing or no directory.
    #[error("invalid dir path: {path}")]
    Root {
        /// The path.
        path: String,
    },
    /// The object's directory could not be made.
    #[error("failed to create artifact directory: {source}")]
    Directory {
        /// The file system's words.
        #[source]
        source: io::Error,
    },
    /// The lock was not to be had.
    #[error("failed to acquire lock for artifact: {source}")]
    Lock {
        /// The file system's words.
        #[source]
        source: io::Error,
    },
    /// A part of the path comes from outside and is not usable.
    #[error("{source}")]
    Path {
        /// The fault in it.
        #[source]
        source: RelPathError,
    },
    /// Writing, syncing or renaming failed.
    #[error("unable to archive artifact to storage: {source}")]
    Write {
        /// The file system's words.
        #[source]
        source: io::Error,
    },
    /// Reading or removing failed.
    #[error("{action}: {source}")]
    Access {
        /// Name of the action.
        action: &'static str,
        /// The file system's words.
        #[source]
        source: io::Error,
    },
}

/// Errors for which a stored artifact must not be advertised any more (SRC-REC-14).
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The status has no digest.
    #[error("artifact has no digest")]
    NoDigest,
    /// The status has something else as digest.
    #[error(transparent)]
    BadDigest(#[from] DigestError),
    /// The file is not there.
    #[error("artifact file is missing")]
    Missing,
    /// The file has other content.
    #[error("computed digest doesn't match '{expected}'")]
    Mismatch {
        /// The digest in the status.
        expected: String,
    },
    /// The file could not be read.
    #[error("failed to read artifact: {source}")]
    Read {
        /// The file system's words.
        #[source]
        source: io::Error,
    },
}

/// A file that has been stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Path below the root, for `status.artifact.path`.
    pub path: RelPath,
    /// Digest of the file.
    pub digest: Digest,
    /// Its bytes.
    pub size: u64,
}

/// The artifact store. Cheap to clone; all methods block on the disk and belong on a blocking thread.
#[derive(Clone)]
pub struct Store {
    root: Arc<Dir>,
    path: Arc<Path>,
    options: Arc<StoreOptions>,
    partials: Arc<AtomicU64>,
    verified: Arc<Verified>,
}

impl Store {
    /// Opens the store at an existing directory.
    ///
    /// # Errors
    /// [`StoreError::Root`] when there is no such directory.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let root = Dir::open_ambient_dir(path, cap_std::ambient_authority())
            .map_err(|_| StoreError::Root { path: path.display().to_string() })?;
        Ok(Self {
            root: Arc::new(root),
            path: Arc::from(path),
            options: Arc::new(options),
            partials: Arc::new(AtomicU64::new(first_number())),
            verified: Arc::default(),
        })
    }

    /// The algorithm of the store's digests.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.options.algorithm
    }

    /// The URL under which consumers find a stored path.
    #[must_use]
    pub fn url(&self, path: &RelPath) -> String {
        let advertised = self.options.advertised.trim_end_matches('/');
        let scheme = if advertised.starts_with("http://") || advertised.starts_with("https://") {
            ""
        } else {
            "http://"
        };
        format!("{scheme}{advertised}/{path}")
    }

    /// Makes the object's directory and locks `file` in it until the lock is dropped (SRC-STO-6).
    ///
    /// # Errors
    /// When directory or lock cannot be had.
    pub fn lock(&self, at: &Location, file: &str) -> Result<Lock, StoreError> {
        let path = at.file(file).map_err(|source| StoreError::Path { source })?;
        self.make_directory(at)?;
        lock::acquire(&self.root, &path).map_err(|source| StoreError::Lock { source })
    }

    /// Stores what `fill` writes under its final name, replacing what is there. Size and digest are taken while writing.
    ///
    /// # Errors
    /// When `fill` fails or the file cannot be written; nothing is left behind then.
    pub fn write(
        &self,
        at: &Location,
        file: &str,
        fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
    ) -> Result<Stored, StoreError> {
        let path = at.file(file).map_err(|source| StoreError::Path { source })?;
        self.make_directory(at)?;
        let number = self.partials.fetch_add(1, Ordering::Relaxed);
        let partial = Partial::new(&self.root, path.as_str(), number, self.options.step);
        let result = self.write_partial(&partial, fill).and_then(|(digest, size, laid)| {
            let is_replaced = partial.publish(&laid, path.as_str())?;
            let states = match laid {
                Laid::File(_) => vec![FileState::of(&self.root.metadata(&path)?)],
                Laid::Pieces(_, states) => states,
            };
            self.verified.note(path.as_str(), states, &digest);
            (self.options.step)("store-renamed");
            self.sync_directory(at)?;
            (self.options.step)("store-durable");
            if is_replaced {
                self.without_distrust(&path, || partial.discard());
                (self.options.step)("store-replaced");
            }
            Ok(Stored { path, digest, size })
        });
        if result.is_err() {
            partial.discard();
        }
        result.map_err(|source| StoreError::Write { source })
    }

    fn write_partial(
        &self,
        partial: &Partial<'_>,
        fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
    ) -> io::Result<(Digest, u64, Laid)> {
        let file = partial.open()?;
        (self.options.step)("store-opened");
        let room = Room::at(&self.path);
        let means = sink::Means { room, algorithm: self.options.algorithm, piece: self.options.piece_bytes };
        let written = sink::write(partial, file, means, fill)?;
        (self.options.step)("store-filled");
        partial.sync(&written.2)?;
        (self.options.step)("store-synced");
        Ok(written)
    }

    /// Removes files, which may share pieces with the artifact `kept`, so that this one is not read whole at its next use:
    /// the number of its links is all that changes.
    fn without_distrust<T>(&self, kept: &RelPath, remove: impl FnOnce() -> T) -> T {
        if !self.verified.knows(kept.as_str()) {
            return remove();
        }
        let states = || self.open_file(kept).map(|opened| opened.states());
        let before = states();
        let removed = remove();
        if let (Ok(before), Ok(after)) = (before, states()) {
            self.verified.renew(kept.as_str(), &before, after);
        }
        removed
    }

    fn make_directory(&self, at: &Location) -> Result<(), StoreError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(DIRECTORY_MODE);
        match self.root.create_dir_with(at.directory(), &builder) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                Err(StoreError::Directory { source })
            }
            _ => Ok(()),
        }
    }

    /// Makes the rename itself durable.
    fn sync_directory(&self, at: &Location) -> io::Result<()> {
        self.root.open(at.directory())?.sync_all()
    }

    /// Points the compatibility link `link` at `file` beside it, atomically (SRC-STO-3). Kinds with links have no artifacts in
    /// pieces, which a link would not lead to.
    ///
    /// # Errors
    /// When the link cannot be written.
    pub fn link(&self, at: &Location, link: &str, file: &str) -> Result<RelPath, StoreError> {
        let path = at.file(link).map_err(|source| StoreError::Path { source })?;
        let temporary = format!("{path}{PARTIAL_SUFFIX}");
        let failed = |action| move |source| StoreError::Access { action, source };
        let _ = self.root.remove_file(&temporary);
        self.root.symlink(file, &temporary).map_err(failed("symlink"))?;
        self.root.rename(&temporary, &self.root, &path).map_err(failed("rename"))?;
        (self.options.step)("store-linked");
        Ok(path)
    }

    /// Checks that the file of a status is there and has the status's digest. A path outside `at` counts as missing:
    /// a status may be forged (SRC-SCK-15).
    ///
    /// # Errors
    /// Says why the artifact must not be advertised any more.
    pub fn verify(&self, at: &Location, path: &str, digest: &str) -> Result<(), VerifyError> {
        if digest.is_empty() {
            return Err(VerifyError::NoDigest);
        }
        let expected = Digest::parse(digest)?;
        let path = at.owned(path).ok_or(VerifyError::Missing)?;
        let mut file = match self.open_file(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(VerifyError::Missing),
            Err(source) => return Err(VerifyError::Read { source }),
        };
        // Of the state before reading: whoever writes meanwhile changes it.
        let states = file.states();
        if self.verified.holds(path.as_str(), &states, &expected) {
            return Ok(());
        }
        let mut hasher = Hasher::new(expected.algorithm());
        let mut buffer = vec![0; READ_BUFFER];
        loop {
            let count = file.read(&mut buffer).map_err(|source| VerifyError::Read { source })?;
            if count == 0 {
                break;
            }
            hasher.update(buffer.get(..count).unwrap_or_default());
        }
        if hasher.finish() == expected {
            self.verified.note(path.as_str(), states, &expected);
            Ok(())
        } else {
            Err(VerifyError::Mismatch { expected: expected.to_string() })
        }
    }

    /// Opens the file of a status, if [`Store::verify`] finds nothing wrong with it.
    ///
    /// # Errors
    /// As [`Store::verify`].
    pub fn open_verified(&self, at: &Location, path: &str, digest: &str) -> Result<Opened, VerifyError> {
        self.verify(at, path, digest)?;
        let path = at.owned(path).ok_or(VerifyError::Missing)?;
        self.open_file(&path).map_err(|source| VerifyError::Read { source })
    }

    /// Opens a stored artifact: only those with a final name, reached through links inside the root at most. All of it is
    /// there, and stays readable when it is removed meanwhile (SRC-STO-17).
    ///
    /// # Errors
    /// Not found for everything that is not served (SRC-STO-15).
    pub fn open_file(&self, path: &RelPath) -> io::Result<Opened> {
        if path.as_str().ends_with(PARTIAL_SUFFIX) || path.as_str().ends_with(LOCK_SUFFIX) {
            return Err(io::ErrorKind::NotFound.into());
        }
        match self.open_plain(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match self.open_pieces(path) {
                // A file may have taken their place meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.open_plain(path),
                opened => opened,
            },
            opened => opened,
        }
    }

    fn open_plain(&self, path: &RelPath) -> io::Result<Opened> {
        let file = self.root.open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Opened::whole(file.into_std(), &metadata)
    }

    fn open_pieces(&self, path: &RelPath) -> io::Result<Opened> {
        let path = format!("{path}{PIECES_SUFFIX}");
        loop {
            let directory = self.root.open_dir(&path)?;
            let state = FileState::of(&directory.dir_metadata()?);
            let opened = Opened::pieces(directory);
            // Pieces go only after their directory has lost its name: while it has it, all were there.
            if FileState::of(&self.root.metadata(&path)?).is_same_file(&state) {
                return opened;
            }
        }
    }

    /// Removes one file of an object; a path outside `at` is ignored.
    ///
    /// # Errors
    /// When the file is there and cannot be removed.
    pub fn remove(&self, at: &Location, path: &str) -> Result<(), StoreError> {
        let Some(path) = at.owned(path) else { return Ok(()) };
        let removed = self.discard(&self.root, path.as_str());
        removed.map(drop).map_err(|source| StoreError::Access { action: "failed to remove artifact", source })
    }

    /// Removes an artifact, whose pieces go after its name. Returns whether there was one.
    fn discard(&self, directory: &Dir, name: &str) -> io::Result<bool> {
        let was_file = is_done(directory.remove_file(name))?;
        let number = self.partials.fetch_add(1, Ordering::Relaxed);
        let aside = format!("{name}.{}-{number}{PARTIAL_SUFFIX}", std::process::id());
        if is_done(directory.rename(format!("{name}{PIECES_SUFFIX}"), directory, &aside))? {
            directory.remove_dir_all(&aside)?;
            return Ok(true);
        }
        Ok(was_file)
    }
}

/// Returns the first number of partial files: in a container every process has the same id, and one that was killed may have
/// left its files.
fn first_number() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or_default()
}
