//! The advisory lock beside an artifact (SRC-STO-6).

use std::io;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};

use super::{FILE_MODE, LOCK_SUFFIX};
use crate::path::RelPath;

/// Held while an artifact is written and its status fields are made; released when dropped.
#[derive(Debug)]
pub struct Lock {
    _file: std::fs::File,
}

/// Waits for the lock of `artifact`.
pub(super) fn acquire(root: &Dir, artifact: &RelPath) -> io::Result<Lock> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(FILE_MODE);
    let file = root.open_with(format!("{artifact}{LOCK_SUFFIX}"), &options)?.into_std();
    file.lock()?;
    Ok(Lock { _file: file })
}
