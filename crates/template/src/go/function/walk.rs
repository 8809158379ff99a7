//! Bounds of functions that go through whole values.

use crate::limit::{MAX_ITEMS, MAX_VALUE_DEPTH};

/// Counts what was gone through. Values share their parts and dictionaries may hold themselves, so that the way
/// through a small value can be long.
#[derive(Debug, Default)]
pub(super) struct Walk {
    visited: usize,
    depth: usize,
}

impl Walk {
    /// Does the work on one part of the value, unless too much was done already.
    pub(super) fn into<T, E: From<String>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        if self.depth >= MAX_VALUE_DEPTH {
            return Err("values nest too deeply".to_owned().into());
        }
        if self.visited >= MAX_ITEMS {
            return Err(format!("value of more than {MAX_ITEMS} parts").into());
        }
        self.visited += 1;
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }
}
