//! The tag database: one file for each repository, rebuilt by a scan when it is lost (IR-28 to IR-30).
//!
//! `<root>/imagerepository/<namespace>/<name>/tags.txt`, one tag a line in descending order; longer lists are
//! gzipped as `tags.txt.gz`. Files are written beside their place and renamed, so that a reader sees the old list or
//! the new one. All paths go through a directory handle that cannot be left. Every method but [`TagStore::blocking`] blocks.

mod version;

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::{
    ambient_authority,
    fs::{Dir, File, OpenOptions, OpenOptionsExt},
};
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use sha2::{Digest, Sha256};
use tokio::task::JoinError;
use weir_runtime::ObjectKey;

/// Largest list read back, in bytes: [`weir_oci::MAX_TAGS`] of the longest tags (IR-18).
const MAX_LIST: u64 = 130_000_000;

/// Folder of all repositories.
const KIND: &str = "imagerepository";
const PLAIN: &str = "tags.txt";
const GZIPPED: &str = "tags.txt.gz";
const PARTIAL: &str = "tags.partial";

/// Only the service reads the lists: names of private images are nobody else's business.
const MODE: u32 = 0o600;

/// A failure of the store, named after what was being done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TagStoreError {
    /// The storage path cannot be used.
    #[error("cannot use storage path '{path}': {source}")]
    Root { path: String, source: io::Error },
    /// A list could not be read.
    #[error("failed to read tags of '{key}': {source}")]
    Read { key: ObjectKey, source: io::Error },
    /// A list could not be written.
    #[error("failed to store tags of '{key}': {source}")]
    Write { key: ObjectKey, source: io::Error },
    /// A list could not be removed.
    #[error("failed to remove tags of '{key}': {source}")]
    Remove { key: ObjectKey, source: io::Error },
    /// The folders could not be listed.
    #[error("failed to list stored repositories: {source}")]
    List { source: io::Error },
    /// The work was lost, because the service stops.
    #[error("work on stored tags was given up: {0}")]
    Lost(#[from] JoinError),
}

/// Lists of tags by repository; clones share the folder.
#[derive(Debug, Clone)]
pub(crate) struct TagStore {
    root: Arc<Dir>,
    /// Bytes from which lists are gzipped.
    threshold: usize,
}

/// The revision of a list: a digest of its lines, which are in one order for one set of tags (IR-16).
pub(crate) fn revision(tags: &[String]) -> String {
    let digest = Sha256::digest(lines(tags));
    digest.iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

fn lines(tags: &[String]) -> Vec<u8> {
    tags.iter().flat_map(|tag| tag.bytes().chain([b'\n'])).collect()
}

impl TagStore {
    /// Opens the store and wipes it if it is of another format.
    pub(crate) fn open(path: &Path, threshold: usize) -> Result<Self, TagStoreError> {
        let failed = |source| TagStoreError::Root { path: path.display().to_string(), source };
        Dir::create_ambient_dir_all(path, ambient_authority()).map_err(failed)?;
        let root = Dir::open_ambient_dir(path, ambient_authority()).map_err(failed)?;
        version::settle(&root).map_err(failed)?;
        root.create_dir_all(KIND).map_err(failed)?;
        let root = root.open_dir(KIND).map_err(failed)?;
        Ok(Self { root: Arc::new(root), threshold })
    }

    /// Works with the store off the reactor.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, TagStoreError> + Send + 'static,
    ) -> Result<T, TagStoreError> {
        let store = self.clone();
        tokio::task::spawn_blocking(move || work(&store)).await?
    }

    /// The tags of a repository, none if nothing is stored.
    pub(crate) fn read(&self, key: &ObjectKey) -> Result<Vec<String>, TagStoreError> {
        self.read_within(key, MAX_LIST).map(Option::unwrap_or_default)
    }

    /// The tags of a repository, unless their list is longer than `limit` bytes.
    pub(crate) fn read_within(
        &self,
        key: &ObjectKey,
        limit: u64,
    ) -> Result<Option<Vec<String>>, TagStoreError> {
        let failed = |source| TagStoreError::Read { key: key.clone(), source };
        let mut text = String::new();
        self.list_of(key).map_err(failed)?.take(limit + 1).read_to_string(&mut text).map_err(failed)?;
        let is_whole = text.len() as u64 <= limit;
        Ok(is_whole.then(|| text.lines().map(str::to_owned).collect()))
    }

    /// Returns true when a repository has tags, without reading them all.
    pub(crate) fn has_tags(&self, key: &ObjectKey) -> Result<bool, TagStoreError> {
        let failed = |source| TagStoreError::Read { key: key.clone(), source };
        let read = self.list_of(key).map_err(failed)?.read(&mut [0]).map_err(failed)?;
        Ok(read > 0)
    }

    /// The list of a repository as it was written last; empty if nothing is stored.
    fn list_of(&self, key: &ObjectKey) -> io::Result<Box<dyn Read>> {
        let Some(folder) = self.folder(key)? else { return Ok(Box::new(io::empty())) };
        let (mut plain, gzipped) = (there(folder.open(PLAIN))?, there(folder.open(GZIPPED))?);
        if plain.is_none() && gzipped.is_none() {
            // The list may have changed its form between the two.
            plain = there(folder.open(PLAIN))?;
        }
        Ok(match (plain, gzipped) {
            (Some(plain), Some(gzipped)) if modified(&plain)? < modified(&gzipped)? => unzipped(gzipped),
            (Some(plain), _) => Box::new(plain),
            (None, Some(gzipped)) => unzipped(gzipped),
            (None, None) => Box::new(io::empty()),
        })
    }

    /// Replaces the tags of a repository.
    pub(crate) fn write(&self, key: &ObjectKey, tags: &[String]) -> Result<(), TagStoreError> {
        self.replace(key, &lines(tags)).map_err(|source| TagStoreError::Write { key: key.clone(), source })
    }

    fn replace(&self, key: &ObjectKey, list: &[u8]) -> io::Result<()> {
        let path = folder_of(key)?;
        self.root.create_dir_all(&path)?;
        let folder = self.root.open_dir(&path)?;
        let mut file = folder
            .open_with(PARTIAL, OpenOptions::new().write(true).create(true).truncate(true).mode(MODE))?;
        let is_long = list.len() >= self.threshold;
        if is_long {
            let mut encoder = GzEncoder::new(file, Compression::default());
            encoder.write_all(list)?;
            file = encoder.finish()?;
        } else {
            file.write_all(list)?;
        }
        file.sync_all()?;
        let (place, other) = if is_long { (GZIPPED, PLAIN) } else { (PLAIN, GZIPPED) };
        folder.rename(PARTIAL, &folder, place)?;
        // A crash before this leaves both; the newer one counts.
        gone(folder.remove_file(other))
    }

    /// Removes a repository, and its namespace's folder when that is empty.
    pub(crate) fn remove(&self, key: &ObjectKey) -> Result<(), TagStoreError> {
        let failed = |source| TagStoreError::Remove { key: key.clone(), source };
        gone(self.root.remove_dir_all(folder_of(key).map_err(failed)?)).map_err(failed)?;
        // Fails while there are others, which is as it should be.
        let _ = self.root.remove_dir(&key.namespace);
        Ok(())
    }

    /// Removes the repositories that are not there any more, and the folders of namespaces that had only these (IR-29).
    pub(crate) fn collect_garbage(&self, is_there: impl Fn(&ObjectKey) -> bool) -> Result<(), TagStoreError> {
        // The list of stored repositories comes first, so that one made meanwhile is not taken for an orphan.
        let stored = self.keys()?;
        stored.iter().filter(|key| !is_there(key)).try_for_each(|key| self.remove(key))
    }

    /// All repositories with a folder.
    pub(crate) fn keys(&self) -> Result<Vec<ObjectKey>, TagStoreError> {
        self.list().map_err(|source| TagStoreError::List { source })
    }

    fn list(&self) -> io::Result<Vec<ObjectKey>> {
        let mut keys = Vec::new();
        for namespace in self.root.entries()? {
            let namespace = namespace?;
            let name = namespace.file_name().to_string_lossy().into_owned();
            if !namespace.file_type()?.is_dir() {
                continue;
            }
            for entry in namespace.open_dir()?.entries()? {
                keys.push(ObjectKey::new(&name, entry?.file_name().to_string_lossy()));
            }
        }
        Ok(keys)
    }

    fn folder(&self, key: &ObjectKey) -> io::Result<Option<Dir>> {
        there(self.root.open_dir(folder_of(key)?))
    }
}

fn unzipped(file: File) -> Box<dyn Read> {
    Box::new(MultiGzDecoder::new(file))
}

fn modified(file: &File) -> io::Result<SystemTime> {
    file.metadata()?.modified().map(cap_std::time::SystemTime::into_std)
}

/// Opening gives nothing where nothing is.
fn there<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// Names come from the API server and are DNS labels; anything else is refused rather than believed.
fn folder_of(key: &ObjectKey) -> io::Result<String> {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', '\0']);
    if is_name(&key.namespace) && is_name(&key.name) {
        return Ok(key.to_string());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of an object"))
}

/// Removing what is not there is done already.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
