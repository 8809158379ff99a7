//! Objects on their way to a directory: some at a time, none of them outside it, no more bytes than fit.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cap_std::fs::{Dir, File};
use futures::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use weir_artifact::{Limits, RelPath, Room, is_of_disk};
use weir_bucket::{Bucket, Object};

use super::decide::{self, Index};
use crate::storage::Storage;

/// Downloads at a time: enough to hide a distant server's latency, few enough for one connection each.
const PARALLEL: usize = 64;
/// Bytes of an object that are held in memory before they go to the disk.
const BUFFER: usize = 256 << 10;
/// Tries of an object whose content breaks off.
const MAX_TRIES: u32 = 3;

/// A directory into which objects are downloaded.
pub(super) struct Downloads {
    root: Arc<Dir>,
    storage: Storage,
    limits: Limits,
    /// Bytes that may still come.
    left: AtomicU64,
    /// Free space of the directory's file system.
    room: Arc<Mutex<Room>>,
}

/// Errors of fetching the objects.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// A key that is no place for a file.
    #[error("failed to resolve path for '{key}' object: {reason}")]
    Path { key: String, reason: String },
    /// An object that did not come.
    #[error("failed to get '{key}' object: {source}")]
    Object { key: String, source: Broken },
    /// More than is wanted, by the listing.
    #[error("all objects together are larger than {limit} bytes")]
    TooMuch { limit: u64 },
}

impl FetchError {
    /// Returns the time for which the bucket's server wants to be left alone, if it has named one.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Object { source: Broken::Remote(error), .. } => error.retry_after(),
            _ => None,
        }
    }

    /// Returns true when it is the disk that failed, and not the bucket.
    pub(super) fn is_of_disk(&self) -> bool {
        matches!(self, Self::Object { source: Broken::Disk(error), .. } if is_of_disk(error))
    }
}

/// Errors of fetching one object.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Remote(#[from] weir_bucket::Error),
    #[error(transparent)]
    Disk(#[from] io::Error),
    #[error("all objects together are larger than {limit} bytes")]
    TooMuch { limit: u64 },
}

impl Downloads {
    /// Downloads into `directory`, which must exist.
    pub(super) fn open(directory: &Path, storage: Storage) -> io::Result<Self> {
        let root = Dir::open_ambient_dir(directory, cap_std::ambient_authority())?;
        let (limits, room) = (storage.limits(), Arc::new(Mutex::new(Room::at(directory))));
        let left = AtomicU64::new(limits.unpacked);
        Ok(Self { root: Arc::new(root), storage, limits, left, room })
    }

    /// Downloads all objects of the index and notes in it what they were.
    pub(super) async fn fetch_all(&self, bucket: &Bucket, index: &mut Index) -> Result<(), FetchError> {
        if index.size() > self.limits.unpacked {
            return Err(FetchError::TooMuch { limit: self.limits.unpacked });
        }
        let wanted = self.paths(index)?;
        let fetches = stream::iter(wanted).map(|(object, path)| self.fetch(bucket, object, path));
        let mut fetched = fetches.buffer_unordered(PARALLEL);
        while let Some((key, etag)) = fetched.try_next().await? {
            index.note(&key, etag);
        }
        Ok(())
    }

    /// Returns the paths of the objects: no two are the same, and none leads elsewhere.
    fn paths(&self, index: &Index) -> Result<Vec<(Object, RelPath)>, FetchError> {
        let (mut wanted, mut taken) = (Vec::with_capacity(index.len()), BTreeSet::new());
        for object in index.objects() {
            let failed = |reason: String| FetchError::Path { key: object.key.clone(), reason };
            let path = decide::path(&object.key, self.limits.depth).map_err(failed)?;
            if !taken.insert(path.clone()) {
                return Err(failed(format!("another object has the path '{path}' too")));
            }
            wanted.push((object.clone(), path));
        }
        Ok(wanted)
    }

    /// Downloads an object: its key, and the etag of what came or nothing when it is gone.
    async fn fetch(
        &self,
        bucket: &Bucket,
        object: Object,
        path: RelPath,
    ) -> Result<(String, Option<String>), FetchError> {
        let mut tries = 1;
        loop {
            match self.try_fetch(bucket, &object, &path).await {
                Ok(etag) => return Ok((object.key, etag)),
                Err(Broken::Remote(error)) if error.is_broken_off() && tries < MAX_TRIES => {
                    tracing::debug!(%error, key = object.key, tries, "download is tried again");
                    tries += 1;
                }
                Err(source) => return Err(FetchError::Object { key: object.key, source }),
            }
        }
    }

    async fn try_fetch(
        &self,
        bucket: &Bucket,
        object: &Object,
        path: &RelPath,
    ) -> Result<Option<String>, Broken> {
        let Some(mut download) = bucket.get(object, self.limits.file).await? else { return Ok(None) };
        let (mut file, mut buffer) = (None, Vec::new());
        while let Some(chunk) = download.next().await? {
            self.take(chunk.len() as u64)?;
            buffer.extend_from_slice(&chunk);
            if buffer.len() >= BUFFER {
                file = Some(self.append(path, file, std::mem::take(&mut buffer)).await?);
            }
        }
        self.append(path, file, buffer).await?;
        Ok(Some(download.etag().to_owned()))
    }

    fn take(&self, bytes: u64) -> Result<(), Broken> {
        let rest = |left: u64| left.checked_sub(bytes);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
        taken.map(drop).map_err(|_| Broken::TooMuch { limit: self.limits.unpacked })
    }

    /// Writes to the file, which is made anew when it is not open yet.
    async fn append(&self, path: &RelPath, file: Option<File>, bytes: Vec<u8>) -> io::Result<File> {
        let (root, room, path) = (Arc::clone(&self.root), Arc::clone(&self.room), path.clone());
        let write = move || {
            let bytes_more = bytes.len() as u64;
            let mut file = match file {
                Some(file) => {
                    room.lock().take(bytes_more)?;
                    file
                }
                None => {
                    room.lock().entry(bytes_more)?;
                    create(&root, &path)?
                }
            };
            file.write_all(&bytes)?;
            Ok(file)
        };
        self.storage.blocking(write).await.flatten()
    }
}

fn create(root: &Dir, path: &RelPath) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        root.create_dir_all(&parent)?;
    }
    root.create(path)
}
