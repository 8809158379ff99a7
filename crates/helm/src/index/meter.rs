//! Counts the bytes of an index that are read until something of it can be passed on: a parser holds them in memory.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use super::{IndexError, MAX_RELEASE_BYTES};

/// Bytes that were read since something was passed on. Clones count together.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter(Rc<Cell<u64>>);

impl Meter {
    /// Counts what is read from `inner`, and ends it where there is too much.
    pub(super) fn read<R: Read>(&self, inner: R) -> Metered<R> {
        Metered { inner, meter: self.clone() }
    }

    /// Something was passed on.
    pub(super) fn restart(&self) {
        if !self.is_over() {
            self.0.set(0);
        }
    }

    /// Returns the error that ended the reading, where `error` shows only that it ended.
    pub(super) fn explain(&self, error: IndexError) -> IndexError {
        if self.is_over() { IndexError::TooLarge } else { error }
    }

    fn is_over(&self) -> bool {
        self.0.get() > MAX_RELEASE_BYTES
    }
}

pub(super) struct Metered<R> {
    inner: R,
    meter: Meter,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.meter.is_over() {
            return Err(io::Error::other(IndexError::TooLarge));
        }
        let count = self.inner.read(buffer)?;
        self.meter.0.set(self.meter.0.get().saturating_add(count as u64));
        Ok(count)
    }
}
