//! A reader with an allowance of bytes. The tar reader holds in memory what stands between two files (headers, long names,
//! extended attributes). The allowance caps that, so that the archive does not decide how much it is.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Number of bytes that may still be read.
#[derive(Clone, Default)]
pub(super) struct Allowance {
    left: Rc<Cell<u64>>,
}

impl Allowance {
    pub(super) fn set(&self, bytes: u64) {
        self.left.set(bytes);
    }
}

pub(super) struct Meter<R> {
    inner: R,
    allowance: Allowance,
}

impl<R> Meter<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, allowance: Allowance::default() }
    }

    pub(super) fn allowance(&self) -> Allowance {
        self.allowance.clone()
    }
}

impl<R: Read> Read for Meter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.allowance.left.get();
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        // One byte more is read at the end of the allowance: the end of the stream is no excess.
        let mut probe = [0_u8; 1];
        let target = if wanted == 0 { &mut probe[..] } else { buffer.get_mut(..wanted).unwrap_or_default() };
        let count = self.inner.read(target)?;
        if wanted == 0 && count > 0 && !buffer.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "archive headers are too large"));
        }
        self.allowance.left.set(left.saturating_sub(count as u64));
        Ok(count)
    }
}
