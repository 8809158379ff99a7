//! A part of a tree that is wanted.

use std::fmt;
use std::sync::Arc;

type Wants = dyn Fn(&str, bool) -> bool + Send + Sync;

/// The files of a tree that are wanted. Others cannot be read of a checkout that was fetched with it.
#[derive(Clone)]
pub struct Part(Arc<Wants>);

impl Part {
    /// Makes a part by a function of the path and a flag for directories; everything below an unwanted directory is
    /// left out.
    #[must_use]
    pub fn new(wants: impl Fn(&str, bool) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(wants))
    }

    /// Returns true when a file is wanted, or anything below a directory.
    #[must_use]
    pub fn wants(&self, path: &str, is_directory: bool) -> bool {
        (self.0)(path, is_directory)
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Part")
    }
}
