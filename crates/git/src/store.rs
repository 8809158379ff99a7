//! Bare repositories that outlive an operation (DEP-GIT-3): the next fetch moves only what is new, and a restart
//! fetches nothing that is there.
//!
//! ```text
//! <root>/<owner>/<hash of role and URL>/   a bare repository
//! ```
//!
//! An owner is one object, so that no tenant reads what another one's credentials fetched. A repository has one user at
//! a time; the next one waits for its turn. It is only a cache: what cannot be read is thrown away and fetched anew,
//! and so is what grew far beyond its first pack, since nothing in it is ever collected.

use crate::error::Error;
use git2::{Oid, Repository, RepositoryInitOptions, RepositoryOpenFlags};
use parking_lot::Mutex;
use sha1::{Digest, Sha1};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use tempfile::TempDir;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};
use url::Url;

/// Packs of a repository: each fetch adds one, and each one costs a descriptor and a search per object.
const MAX_PACKS: usize = 100;
/// Bytes by which a repository may outgrow twice its largest pack before it is fetched anew.
const SLACK_BYTES: u64 = 64 << 20;
/// Bytes of an owner's name: the uid of an object has 36.
const MAX_OWNER_BYTES: usize = 64;
/// Prefix of packs that were not complete when their process was killed.
const PARTIAL_PACK: &str = "pack_git2_";
/// File in a repository of which some blobs are missing because nobody wanted them.
const PARTIAL_MARK: &str = "weir-partial";
/// Git's own file of the commits at which history is cut.
const ROOTS: &str = "shallow";

/// Turns by repository; an entry that nobody holds is dropped at the next look.
type Turns = Mutex<HashMap<PathBuf, Weak<Turn<()>>>>;

/// The repositories of all owners below one folder. Cheap to clone; share one per process.
#[derive(Debug, Clone)]
pub struct Stores {
    root: PathBuf,
    turns: Arc<Turns>,
}

impl Stores {
    /// Repositories below `root`, which is made when it is first needed.
    #[must_use]
    pub fn new(root: PathBuf) -> Stores {
        Stores { root, turns: Arc::default() }
    }

    /// The repositories of `owner`, for example an object's uid; nothing when it is no plain word.
    #[must_use]
    pub fn of(&self, owner: &str) -> Option<Store> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_name = !owner.is_empty() && owner.len() <= MAX_OWNER_BYTES && owner.bytes().all(is_plain);
        is_name.then(|| Store { stores: self.clone(), folder: self.root.join(owner), role: String::new() })
    }

    /// Removes the repositories of all owners that are not `live`; returns how many owners went. Blocks.
    ///
    /// # Errors
    /// When the folder cannot be read or a repository cannot be removed.
    pub fn sweep(&self, live: &dyn Fn(&str) -> bool) -> io::Result<usize> {
        remove_others(&self.root, live)
    }
}

/// The repositories of one owner.
#[derive(Debug, Clone)]
pub struct Store {
    stores: Stores,
    folder: PathBuf,
    role: String,
}

impl Store {
    /// The same owner's repositories for another purpose, for example the submodule at a path. The same remote may be
    /// used in two roles at a time.
    #[must_use]
    pub fn role(&self, role: &str) -> Store {
        Store { role: role.to_owned(), ..self.clone() }
    }

    /// Removes everything of this owner; returns whether there was anything. Blocks.
    ///
    /// # Errors
    /// When it is there and cannot be removed.
    pub fn remove(&self) -> io::Result<bool> {
        match std::fs::remove_dir_all(&self.folder) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes the repositories that none of `used` (role and URL) needs; returns how many went. Blocks.
    ///
    /// # Errors
    /// When the folder cannot be read or a repository cannot be removed.
    pub fn keep_only<'a>(&self, used: impl IntoIterator<Item = (&'a str, &'a Url)>) -> io::Result<usize> {
        let names: BTreeSet<_> = used.into_iter().map(|(role, url)| folder_name(role, url)).collect();
        remove_others(&self.folder, &|name| names.contains(name))
    }

    /// Waits until nobody else uses the repository of `url`.
    pub(crate) async fn turn(&self, url: &Url) -> Place {
        let path = self.folder.join(folder_name(&self.role, url));
        let turn = {
            let mut turns = self.stores.turns.lock();
            turns.retain(|_, turn| turn.strong_count() > 0);
            let known = turns.get(&path).and_then(Weak::upgrade);
            let turn = known.unwrap_or_default();
            turns.insert(path.clone(), Arc::downgrade(&turn));
            turn
        };
        Place::Kept(path, turn.lock_owned().await)
    }
}

/// Where an operation may work.
#[derive(Debug)]
pub(crate) enum Place {
    /// In a folder that goes with it.
    Own,
    /// In a repository of a store, while the turn is held.
    Kept(PathBuf, OwnedMutexGuard<()>),
}

/// A bare repository in use. Its turn ends, or its folder goes, with the last value that shares it.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    path: PathBuf,
    _held: Arc<Held>,
}

#[derive(Debug)]
enum Held {
    Own(#[expect(dead_code, reason = "removes the folder when it is dropped")] TempDir),
    Kept(#[expect(dead_code, reason = "ends the turn when it is dropped")] OwnedMutexGuard<()>),
}

impl Directory {
    /// A repository at `place`, and whether anything may be in it already.
    pub(crate) fn at(place: Place) -> Result<(Directory, bool), Error> {
        let failed = |source| Error::WorkDirectory { source };
        let (path, turn) = match place {
            Place::Own => {
                let folder = tempfile::Builder::new().prefix("weir-git-").tempdir().map_err(failed)?;
                let path = folder.path().to_owned();
                initialise(&path)?;
                return Ok((Directory { path, _held: Arc::new(Held::Own(folder)) }, false));
            }
            Place::Kept(path, turn) => (path, turn),
        };
        let directory = Directory { path, _held: Arc::new(Held::Kept(turn)) };
        if directory.open().is_ok() && is_worth_keeping(&directory.path).map_err(failed)? {
            return Ok((directory, true));
        }
        directory.clear()?;
        Ok((directory, false))
    }

    /// Empties the repository.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        self.discard().map_err(|source| Error::WorkDirectory { source })?;
        std::fs::create_dir_all(&self.path).map_err(|source| Error::WorkDirectory { source })?;
        initialise(&self.path)
    }

    /// Removes the repository: something in it cannot be read.
    pub(crate) fn discard(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    pub(crate) fn open(&self) -> Result<Repository, Error> {
        // Not `open_bare`: it does not read which commits are shallow roots, and walks then miss their parents.
        let flags = RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_SEARCH;
        Ok(Repository::open_ext(&self.path, flags, std::iter::empty::<&std::ffi::OsStr>())?)
    }
}

impl Directory {
    /// Whether blobs may be missing that nobody has wanted yet.
    pub(crate) fn is_partial(&self) -> bool {
        self.path.join(PARTIAL_MARK).exists()
    }

    /// Notes that blobs will be missing.
    pub(crate) fn mark_partial(&self) -> Result<(), Error> {
        std::fs::write(self.path.join(PARTIAL_MARK), "").map_err(|source| Error::WorkDirectory { source })
    }

    /// Commits whose parents are not there.
    pub(crate) fn roots(&self) -> Result<BTreeSet<Oid>, Error> {
        match std::fs::read_to_string(self.path.join(ROOTS)) {
            Ok(text) => text.lines().map(|line| Ok(Oid::from_str(line)?)).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(source) => Err(Error::WorkDirectory { source }),
        }
    }

    /// Notes commits whose parents will not be there.
    pub(crate) fn add_roots(&self, roots: &[Oid]) -> Result<(), Error> {
        self.change_roots(|known| known.extend(roots))
    }

    /// Notes commits whose parents are there now.
    pub(crate) fn remove_roots(&self, roots: &[Oid]) -> Result<(), Error> {
        self.change_roots(|known| {
            for root in roots {
                known.remove(root);
            }
        })
    }

    fn change_roots(&self, change: impl FnOnce(&mut BTreeSet<Oid>)) -> Result<(), Error> {
        let before = self.roots()?;
        let mut after = before.clone();
        change(&mut after);
        if before == after {
            return Ok(());
        }
        let text: String = after.iter().map(|root| format!("{root}\n")).collect();
        let (path, temporary) = (self.path.join(ROOTS), self.path.join(format!("{ROOTS}.new")));
        let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, &path));
        written.map_err(|source| Error::WorkDirectory { source })
    }
}

fn initialise(path: &Path) -> Result<(), Error> {
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false);
    Repository::init_opts(path, &options)?;
    Ok(())
}

/// Removes what killed processes left, and says whether the repository is still within its bounds.
fn is_worth_keeping(path: &Path) -> io::Result<bool> {
    let (mut packs, mut total, mut largest) = (0, 0_u64, 0);
    for entry in std::fs::read_dir(path.join("objects/pack"))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PARTIAL_PACK) {
            std::fs::remove_file(entry.path())?;
        } else if name.ends_with(".pack") {
            let bytes = entry.metadata()?.len();
            packs += 1;
            total += bytes;
            largest = bytes.max(largest);
        }
    }
    Ok(packs <= MAX_PACKS && total <= largest.saturating_mul(2).saturating_add(SLACK_BYTES))
}

/// Names of repositories are as good as random, so that nothing of a URL is seen on disk.
fn folder_name(role: &str, url: &Url) -> String {
    let mut plain = url.clone();
    // Who fetched makes no difference to what was fetched for the same owner.
    let _ = plain.set_password(None);
    let _ = plain.set_username("");
    let mut hash = Sha1::new();
    hash.update(role.as_bytes());
    hash.update([0]);
    hash.update(plain.as_str().as_bytes());
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn remove_others(folder: &Path, is_kept: &dyn Fn(&str) -> bool) -> io::Result<usize> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(is_kept) {
            std::fs::remove_dir_all(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}
