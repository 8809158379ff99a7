//! The store off the reactor: disk, hashing and compression on a bounded number of blocking threads.

use std::io;
use std::sync::Arc;

use tokio::sync::Semaphore;
use weir_api::{Artifact, condition_time};
use weir_artifact::archive::Sink;
use weir_artifact::{Limits, Location, Lock, RelPath, Store, StoreError, Stored, VerifyError};

/// The state of the artifact that a status advertises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// The status advertises none.
    Nothing,
    /// Its file is there and whole.
    Whole,
    /// Its file is gone, as after a restart on ephemeral storage.
    Missing,
    /// Its file may be whole, but cannot be read now: it stays, and stays advertised, while it is made again.
    Unreadable {
        /// The fault found.
        reason: String,
    },
    /// Its file differed from the status, and has been removed.
    Broken {
        /// The fault found.
        reason: String,
    },
}

/// The store as reconcilers see it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Storage {
    store: Store,
    limits: Limits,
    permits: Arc<Semaphore>,
}

/// The artifact that is to be stored.
pub(crate) struct NewArtifact {
    /// Object it belongs to.
    pub(crate) at: Location,
    /// File name in the object's directory.
    pub(crate) file: String,
    /// Compatibility link that is to point at it.
    pub(crate) link: Option<&'static str>,
}

/// An artifact that is stored.
pub(crate) struct Put {
    /// The artifact to advertise.
    pub(crate) artifact: Artifact,
    /// The URL of the link that was asked for. The artifact is as good without it, which not every volume can hold (SRC-STO-3).
    pub(crate) link: Option<Result<String, StoreError>>,
}

/// An artifact and its link, which are locked until they are advertised.
type Written = (Stored, Option<Result<RelPath, StoreError>>, Lock);

impl Storage {
    /// `parallel` blocking operations at a time.
    pub(crate) fn new(store: Store, limits: Limits, parallel: usize) -> Self {
        Self { store, limits, permits: Arc::new(Semaphore::new(parallel.max(1))) }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Caps on what is downloaded and unpacked (SRC 14.6).
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Removes old files of the object, then checks that the advertised artifact is there and whole; one with other content
    /// is removed, so that it is never served again (SRC-REC-13, SRC-REC-14). Returns the number of removed files
    /// too.
    pub(crate) async fn inspect(&self, at: &Location, artifact: Option<&Artifact>) -> (Found, usize) {
        let (store, at, artifact) = (self.store.clone(), at.clone(), artifact.cloned());
        let inspect = move || {
            let current = artifact.as_ref().and_then(|artifact| artifact.path.rsplit('/').next());
            let removed = store.collect(&at, current).unwrap_or_else(|error| {
                tracing::warn!(%error, directory = %at.directory(), "old artifacts stay");
                0
            });
            (artifact.map_or(Found::Nothing, |artifact| look(&store, &at, &artifact)), removed)
        };
        self.blocking(inspect).await.unwrap_or_else(|error| (unreadable(&error), 0))
    }

    /// Returns the state of an advertised artifact; one with other content is removed.
    pub(crate) async fn look(&self, at: &Location, artifact: &Artifact) -> Found {
        let (store, at, artifact) = (self.store.clone(), at.clone(), artifact.clone());
        self.blocking(move || look(&store, &at, &artifact)).await.unwrap_or_else(|error| unreadable(&error))
    }

    /// Stores what `fill` writes, and points the link at it if that can be done.
    pub(crate) async fn put(
        &self,
        new: NewArtifact,
        revision: String,
        now: jiff::Timestamp,
        fill: impl FnOnce(&mut dyn Sink) -> io::Result<()> + Send + 'static,
    ) -> Result<Put, StoreError> {
        let store = self.store.clone();
        let write = move || -> Result<Written, StoreError> {
            let lock = store.lock(&new.at, &new.file)?;
            let stored = store.write(&new.at, &new.file, fill)?;
            let link = new.link.map(|link| store.link(&new.at, link, &new.file));
            Ok((stored, link, lock))
        };
        let written = self.blocking(write).await.map_err(|source| StoreError::Write { source })?;
        let (stored, link, _lock) = written?;
        weir_runtime::killpoint::hit("after-store");
        let artifact = Artifact {
            url: self.store.url(&stored.path),
            path: stored.path.to_string(),
            revision,
            digest: stored.digest.to_string(),
            last_update_time: Some(condition_time(now)),
            size: i64::try_from(stored.size).ok(),
            metadata: Default::default(),
        };
        Ok(Put { artifact, link: link.map(|link| link.map(|path| self.store.url(&path))) })
    }

    /// Removes everything of an object.
    pub(crate) async fn remove_object(&self, at: &Location) -> Result<bool, StoreError> {
        let (store, at) = (self.store.clone(), at.clone());
        let removed = self.blocking(move || store.remove_object(&at)).await;
        removed.map_err(|source| StoreError::Access { action: "failed to remove artifacts", source })?
    }

    /// The URL of an advertised path as it is now: the advertised address may have changed (SRC-REC-16).
    pub(crate) fn url_of(&self, path: &str) -> Option<String> {
        RelPath::parse(path).ok().map(|path| self.store.url(&path))
    }

    /// Runs work that blocks, when it is its turn. Its log lines name the object of the run; a panic in it is an error of the caller.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(io::Error::other)?;
        let run = tracing::Span::current();
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            run.in_scope(work)
        })
        .await
        .map_err(io::Error::other)
    }
}

fn look(store: &Store, at: &Location, artifact: &Artifact) -> Found {
    match store.verify(at, &artifact.path, &artifact.digest) {
        Ok(()) => Found::Whole,
        Err(VerifyError::Missing) => Found::Missing,
        // A disk or a process at its limits says nothing about the content.
        Err(VerifyError::Read { source }) => unreadable(&source),
        Err(error @ (VerifyError::NoDigest | VerifyError::BadDigest(_) | VerifyError::Mismatch { .. })) => {
            if let Err(error) = store.remove(at, &artifact.path) {
                tracing::warn!(%error, path = artifact.path, "a broken artifact cannot be removed");
            }
            Found::Broken { reason: error.to_string() }
        }
    }
}

fn unreadable(error: &io::Error) -> Found {
    tracing::warn!(%error, "an artifact cannot be read");
    Found::Unreadable { reason: format!("failed to read artifact: {error}") }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use weir_artifact::{Algorithm, PIECE_BYTES, StoreOptions};

    use super::*;

    /// A store in a folder.
    pub(crate) fn store(folder: &Path) -> Store {
        let options = StoreOptions {
            advertised: "source".to_owned(),
            algorithm: Algorithm::Sha256,
            records: 2,
            piece_bytes: PIECE_BYTES,
            step: |_| {},
        };
        Store::open(folder, options).unwrap()
    }

    fn storage(folder: &Path) -> Storage {
        Storage::new(store(folder), Limits::default(), 1)
    }

    /// Only an artifact with other content is removed: that it cannot be read now is no reason.
    #[tokio::test]
    async fn an_artifact_that_cannot_be_read_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (storage, at) = (storage(folder.path()), Location::new("Bucket", "ns", "app").unwrap());
        let new = NewArtifact { at: at.clone(), file: "a.tar.gz".to_owned(), link: None };
        let artifact =
            storage.put(new, "r".to_owned(), jiff::Timestamp::UNIX_EPOCH, |out| out.write_all(b"a"));
        let artifact = artifact.await.unwrap().artifact;
        assert_eq!(storage.inspect(&at, Some(&artifact)).await, (Found::Whole, 0));

        let file = folder.path().join(&artifact.path);
        // A link that leads to itself fails for root too, as a broken disk does.
        std::fs::rename(&file, file.with_extension("moved")).unwrap();
        std::os::unix::fs::symlink(file.file_name().unwrap(), &file).unwrap();
        assert!(matches!(storage.look(&at, &artifact).await, Found::Unreadable { .. }));
        assert!(file.symlink_metadata().is_ok());

        std::fs::rename(file.with_extension("moved"), &file).unwrap();
        assert_eq!(storage.look(&at, &artifact).await, Found::Whole);
        std::fs::write(&file, "b").unwrap();
        assert!(matches!(storage.look(&at, &artifact).await, Found::Broken { .. }));
        assert_eq!(storage.look(&at, &artifact).await, Found::Missing);
    }

    /// SRC-STO-3: the link is best effort.
    #[tokio::test]
    async fn an_artifact_is_stored_without_its_link() {
        let folder = tempfile::tempdir().unwrap();
        let (storage, at) = (storage(folder.path()), Location::new("Bucket", "ns", "app").unwrap());
        let put = async |content: &'static [u8]| {
            let new =
                NewArtifact { at: at.clone(), file: "a.tar.gz".to_owned(), link: Some("latest.tar.gz") };
            let fill = |out: &mut dyn Sink| out.write_all(content);
            storage.put(new, "r".to_owned(), jiff::Timestamp::UNIX_EPOCH, fill).await.unwrap()
        };
        let url = put(b"a").await.link.unwrap().unwrap();
        assert!(url.ends_with("/bucket/ns/app/latest.tar.gz"), "{url}");

        // No link can take the place of a directory.
        let link = folder.path().join("bucket/ns/app/latest.tar.gz");
        std::fs::remove_file(&link).unwrap();
        std::fs::create_dir(&link).unwrap();
        let Put { artifact, link } = put(b"b").await;
        let error = link.unwrap().unwrap_err().to_string();
        assert!(error.starts_with("rename: "), "{error}");
        assert_eq!(storage.inspect(&at, Some(&artifact)).await, (Found::Whole, 0));
    }
}
