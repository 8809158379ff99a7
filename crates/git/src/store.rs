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

mod directory;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use sha1::{Digest, Sha1};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};
use url::Url;

pub(crate) use self::directory::{Directory, PARTIAL_PACK};

/// Bytes of an owner's name: the uid of an object has 36.
const MAX_OWNER_BYTES: usize = 64;
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
    pub fn new(root: PathBuf) -> Self {
        Self { root, turns: Arc::default() }
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
    pub fn role(&self, role: &str) -> Self {
        Self { role: role.to_owned(), ..self.clone() }
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

/// A folder in which an operation may work.
#[derive(Debug)]
pub(crate) enum Place {
    /// In a folder that goes with it.
    Own,
    /// In a repository of a store, while the turn is held.
    Kept(PathBuf, OwnedMutexGuard<()>),
}

/// Names of repositories are as good as random, so that nothing of a URL is seen on disk.
fn folder_name(role: &str, url: &Url) -> String {
    let mut plain = url.clone();
    // The credentials of a fetch make no difference to its content for the same owner.
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
