//! One gzip stream of parts that are compressed apart from each other.
//!
//! A part begins with an empty window and ends at the boundary of a byte, so it is the same bytes wherever it stands,
//! and can be copied from one stream into another. To readers it is a stream like any other: one member, one checksum.

use std::io::{self, Write};
use std::sync::Arc;

use flate2::{Compress, Compression, Crc, FlushCompress};

use super::Sink;
use crate::Opened;

/// Magic, deflate, no flags, no time, no hint, and "unknown" as operating system, so that no platform leaves its mark.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// Level of compression. Part of the artifact's bytes: a change gives every artifact a new digest.
const LEVEL: u32 = 6;
const BUFFER_BYTES: usize = 64 * 1024;

/// A part of a stream, with its place.
#[derive(Debug, Clone)]
pub(super) struct Part {
    offset: u64,
    length: u64,
    sums: Arc<Sums>,
}

#[derive(Debug)]
struct Sums {
    /// Of the bytes before compression, with their number.
    crc: Crc,
    /// Of the bytes after it: a disk may rot, and a volume may be shared.
    packed: blake3::Hash,
}

/// A stream that is being written.
pub(super) struct Gzip<W> {
    out: W,
    written: u64,
    crc: Crc,
    /// Begun anew for each part: to make one costs more than to compress a few KiB.
    deflate: Compress,
    open: Option<Open>,
    buffer: Vec<u8>,
}

/// A part that is being written.
struct Open {
    offset: u64,
    crc: Crc,
    packed: blake3::Hasher,
}

impl Open {
    fn new(offset: u64) -> Self {
        Self { offset, crc: Crc::new(), packed: blake3::Hasher::new() }
    }
}

impl<W: Sink> Gzip<W> {
    /// Begins a stream, as `previous` begins if there is one.
    pub(super) fn new(mut out: W, previous: Option<&Opened>) -> io::Result<Self> {
        let mut begin = [0; HEADER.len()];
        match previous {
            Some(file) if file.read_exact_at(&mut begin, 0).is_ok() && begin == HEADER => {
                out.copied(&HEADER, file, 0)?;
            }
            _ => out.write_all(&HEADER)?,
        }
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        let deflate = Compress::new(Compression::new(LEVEL), false);
        Ok(Self { out, written: HEADER.len() as u64, crc: Crc::new(), deflate, open: None, buffer })
    }

    /// Ends the part that everything since the last end belongs to.
    pub(super) fn end_part(&mut self) -> io::Result<Part> {
        self.deflate(&[], FlushCompress::Full)?;
        let open = self.open.take().unwrap_or_else(|| Open::new(self.written));
        self.crc.combine(&open.crc);
        self.out.may_cut()?;
        let sums = Sums { crc: open.crc, packed: open.packed.finalize() };
        Ok(Part { offset: open.offset, length: self.written - open.offset, sums: Arc::new(sums) })
    }

    /// Copies a part of another stream. No part may be open.
    ///
    /// # Errors
    /// Also when `file` does not hold the part any more; what was written until then is of no use.
    pub(super) fn copy_part(&mut self, part: &Part, file: &Opened) -> io::Result<Part> {
        let copy = Part { offset: self.written, ..part.clone() };
        let mut packed = blake3::Hasher::new();
        let (mut at, end) = (part.offset, part.offset + part.length);
        while at < end {
            let count = usize::try_from(end - at).unwrap_or(BUFFER_BYTES).min(BUFFER_BYTES);
            self.buffer.resize(count, 0);
            file.read_exact_at(&mut self.buffer, at)?;
            packed.update(&self.buffer);
            self.out.copied(&self.buffer, file, at)?;
            at += count as u64;
        }
        if packed.finalize() != part.sums.packed {
            return Err(io::Error::other("the artifact before this one has changed on disk"));
        }
        self.written += part.length;
        self.crc.combine(&part.sums.crc);
        self.out.may_cut()?;
        Ok(copy)
    }

    /// Ends the stream.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.deflate(&[], FlushCompress::Finish)?;
        if let Some(open) = self.open.take() {
            self.crc.combine(&open.crc);
        }
        self.out.write_all(&self.crc.sum().to_le_bytes())?;
        self.out.write_all(&self.crc.amount().to_le_bytes())?;
        self.out.flush()
    }

    fn deflate(&mut self, mut input: &[u8], flush: FlushCompress) -> io::Result<()> {
        let open = self.open.get_or_insert_with(|| {
            self.deflate.reset();
            Open::new(self.written)
        });
        open.crc.update(input);
        loop {
            let before = self.deflate.total_in();
            self.buffer.clear();
            self.deflate.compress_vec(input, &mut self.buffer, flush)?;
            let taken = usize::try_from(self.deflate.total_in() - before).unwrap_or(usize::MAX);
            input = input.get(taken..).unwrap_or_default();
            open.packed.update(&self.buffer);
            self.out.write_all(&self.buffer)?;
            self.written += self.buffer.len() as u64;
            // A full buffer may mean that there is more to come.
            if input.is_empty() && self.buffer.len() < self.buffer.capacity() {
                return Ok(());
            }
        }
    }
}

impl<W: Sink> Write for Gzip<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.deflate(bytes, FlushCompress::None)?;
        Ok(bytes.len())
    }

    /// Does nothing: when bytes are let out decides about their form.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
