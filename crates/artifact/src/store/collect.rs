//! Removing what is no longer needed (SRC-STO-11…13).

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant, SystemTime};

use cap_std::fs::Dir;

use super::{LOCK_SUFFIX, Location, PARTIAL_SUFFIX, PIECES_SUFFIX, Store, StoreError};
use crate::path::RelPath;

/// Files of one object that are looked at in one run.
const MAX_FILES: usize = 1000;
/// Time for the garbage of one object: a slow disk holds up no reconcile for long, the next run goes on.
const MAX_TIME: Duration = Duration::from_secs(5);
/// Age after which a partial file belongs to no write that is still going on.
const PARTIAL_TTL: Duration = Duration::from_secs(60 * 60);

impl Store {
    /// Removes old files of an object. The newest ones, as many as the store's `records`, stay whatever their age,
    /// and `current` (file name) always stays, so that a slow consumer finds the file that was advertised to it.
    /// Returns the number of removed files.
    ///
    /// # Errors
    /// When the directory cannot be read. A file that resists is left for the next run.
    pub fn collect(&self, at: &Location, current: Option<&str>) -> Result<usize, StoreError> {
        let failed = |source| StoreError::Access { action: "failed to collect garbage", source };
        let directory = match self.root.open_dir(at.directory()) {
            Ok(directory) => directory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(source) => return Err(failed(source)),
        };
        let mut files = finished_files(&directory).map_err(failed)?;
        files.retain(|(_, name)| Some(name.as_str()) != current);
        files.sort_by(|a, b| b.cmp(a));
        let kept = self.options.records.saturating_sub(usize::from(current.is_some()));
        let old: Vec<_> = files.into_iter().skip(kept).map(|(_, name)| name).collect();
        match current.and_then(|current| at.file(current).ok()).filter(|_| !old.is_empty()) {
            Some(current) => Ok(self.without_distrust(&current, || self.remove_all(&directory, &old))),
            None => Ok(self.remove_all(&directory, &old)),
        }
    }

    /// Removes what can be removed in time. Returns how much went.
    fn remove_all(&self, directory: &Dir, names: &[String]) -> usize {
        let (mut removed, start) = (0, Instant::now());
        for name in names {
            if start.elapsed() > MAX_TIME {
                break;
            }
            if self.discard(directory, name).is_ok_and(|was_there| was_there) {
                let _ = directory.remove_file(format!("{name}{LOCK_SUFFIX}"));
                removed += 1;
            }
        }
        removed
    }

    /// Removes everything of an object. Returns whether there was anything.
    ///
    /// # Errors
    /// When the directory is there and cannot be removed.
    pub fn remove_object(&self, at: &Location) -> Result<bool, StoreError> {
        match self.root.remove_dir_all(at.directory()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StoreError::Access { action: "failed to remove artifacts", source }),
        }
    }

    /// Removes the directories of objects of `kind` for which `is_live` (namespace, name) is false and in which nothing was
    /// written for `settled`. Removes partial files of live objects that no write uses any more (SRC-STO-13). Returns the
    /// number of removed directories.
    ///
    /// # Errors
    /// When the kind's directory cannot be read.
    pub fn sweep(
        &self,
        kind: &str,
        is_live: &dyn Fn(&str, &str) -> bool,
        settled: Duration,
        now: SystemTime,
    ) -> Result<usize, StoreError> {
        let failed = |source| StoreError::Access { action: "failed to sweep storage", source };
        let mut removed = 0;
        for namespace in directories(&self.root, kind).map_err(failed)? {
            for name in directories(&self.root, &format!("{kind}/{namespace}")).map_err(failed)? {
                let Ok(location) = Location::new(kind, &namespace, &name) else { continue };
                if is_live(&namespace, &name) {
                    self.remove_partials(&location, now).map_err(failed)?;
                } else if self.age(&location, now).map_err(failed)? >= settled
                    && self.remove_object(&location)?
                {
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }

    /// Time since a file came into an object's directory, or left it.
    fn age(&self, at: &Location, now: SystemTime) -> io::Result<Duration> {
        let changed = self.root.metadata(at.directory())?.modified()?.into_std();
        Ok(now.duration_since(changed).unwrap_or_default())
    }

    fn remove_partials(&self, at: &Location, now: SystemTime) -> io::Result<()> {
        let directory = self.root.open_dir(at.directory())?;
        for entry in directory.entries()? {
            let entry = entry?;
            let is_partial = entry.file_name().to_str().is_some_and(|name| name.ends_with(PARTIAL_SUFFIX));
            let written = entry.metadata()?.modified()?.into_std();
            if is_partial && now.duration_since(written).is_ok_and(|age| age > PARTIAL_TTL) {
                let _ = match entry.file_type()?.is_dir() {
                    true => directory.remove_dir_all(entry.file_name()),
                    false => directory.remove_file(entry.file_name()),
                };
            }
        }
        Ok(())
    }
}

/// Artifacts with the time at which they were written: no links, no locks, nothing unfinished.
fn finished_files(directory: &Dir) -> io::Result<Vec<(SystemTime, String)>> {
    let mut files = BTreeMap::new();
    for entry in directory.entries()?.take(MAX_FILES) {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = match name.strip_suffix(PIECES_SUFFIX) {
            Some(artifact) if metadata.is_dir() => artifact.to_owned(),
            _ if metadata.is_file() => name,
            _ => continue,
        };
        if !name.ends_with(LOCK_SUFFIX) && !name.ends_with(PARTIAL_SUFFIX) {
            let written = metadata.modified()?.into_std();
            // Of both forms, which a write that was killed may have left, the newer one counts.
            let known = files.entry(name).or_insert(written);
            *known = written.max(*known);
        }
    }
    Ok(files.into_iter().map(|(name, written)| (written, name)).collect())
}

/// Names of the directories below `path`; none when it does not exist.
fn directories(root: &Dir, path: &str) -> io::Result<Vec<String>> {
    let Ok(path) = RelPath::parse(path) else { return Ok(Vec::new()) };
    let entries = match root.read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.extend(entry.file_name().into_string().ok());
        }
    }
    Ok(names)
}
