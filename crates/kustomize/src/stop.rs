//! Giving up a build from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

/// A request to give up a build. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends the builds that have this in their options: before the next file, transformer or replacement, or the next resource
    /// that is patched or whose references are fixed.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true once it was requested.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Succeeds while nobody has requested it.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn check(&self) -> Result<(), Error> {
        if self.is_requested() { Err(Error::Stopped) } else { Ok(()) }
    }
}
