//! A taker of an archive's bytes.

use std::io::{self, Write};

use crate::Opened;

/// A writer that may also want to know where an archive's bytes come from (docs/adr/0014). To one that does not, all bytes
/// are alike.
pub trait Sink: Write {
    /// Takes bytes that also lie at `offset` of an earlier artifact.
    ///
    /// # Errors
    /// As [`Write::write_all`].
    fn copied(&mut self, bytes: &[u8], _from: &Opened, _offset: u64) -> io::Result<()> {
        self.write_all(bytes)
    }

    /// Marks a place where the bytes may be divided between two files.
    ///
    /// # Errors
    /// As [`Write::flush`].
    fn may_cut(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Vec<u8> {}
impl Sink for io::Sink {}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn copied(&mut self, bytes: &[u8], from: &Opened, offset: u64) -> io::Result<()> {
        (**self).copied(bytes, from, offset)
    }

    fn may_cut(&mut self) -> io::Result<()> {
        (**self).may_cut()
    }
}

/// Any writer.
pub(super) struct Plain<W>(pub(super) W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write> Sink for Plain<W> {}
