//! Folders for work in progress, in the temporary directory. Folders that a killed process has left there are removed by the next process
//! that needs one: a container that is restarted has the temporary directory of the one before.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Once;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

/// Prefix of the folders' names.
const PREFIX: &str = "weir-work-";

/// Age from which a folder that no process holds was left. Between being made and being held it is younger.
const LEFT_AGE: Duration = Duration::from_secs(10);

/// Done once this process has removed what others have left.
static SWEEP: Once = Once::new();

/// A folder that goes with its value. A lock shows others that its process lives.
#[derive(Debug)]
pub struct WorkFolder {
    folder: TempDir,
    _lock: File,
}

impl WorkFolder {
    /// Makes an empty folder; blocks.
    ///
    /// # Errors
    /// When the temporary directory takes none.
    pub fn new() -> io::Result<Self> {
        SWEEP.call_once(|| remove_left(&std::env::temp_dir(), SystemTime::now()));
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
        let lock = File::open(folder.path())?;
        lock.lock()?;
        Ok(Self { folder, _lock: lock })
    }

    /// Path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders in `place` that killed processes have left.
fn remove_left(place: &Path, now: SystemTime) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        if is_ours && is_left(&path, now).unwrap_or_default() {
            // Another process may remove it at the same time, and one that cannot be removed is in nobody's way.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_left(path: &Path, now: SystemTime) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    let is_old = now.duration_since(found.modified()?).is_ok_and(|age| age >= LEFT_AGE);
    Ok(found.is_dir() && is_old && File::open(path)?.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folders_that_nobody_holds_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for name in ["weir-work-left", "weir-work-held", "other"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("file"), "x").unwrap();
        }
        symlink(at("other"), at("weir-work-link")).unwrap();
        let held = File::open(at("weir-work-held")).unwrap();
        held.lock().unwrap();
        let there = || {
            let names = ["weir-work-left", "weir-work-held", "weir-work-link/file", "other/file"];
            names.map(|name| at(name).exists())
        };
        remove_left(place.path(), SystemTime::now());
        assert_eq!(there(), [true; 4], "one that was just made may be held soon");
        remove_left(place.path(), SystemTime::now() + LEFT_AGE);
        assert_eq!(there(), [false, true, true, true]);
    }

    #[test]
    fn a_folder_is_held_as_long_as_it_is_there() {
        let folder = WorkFolder::new().unwrap();
        let path = folder.path().to_owned();
        assert!(!is_left(&path, SystemTime::now() + LEFT_AGE).unwrap());
        drop(folder);
        assert!(!path.exists());
    }
}
