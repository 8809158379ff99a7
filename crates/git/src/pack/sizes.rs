//! The sizes of a pack's objects, read while it arrives (SRC-STO-10). An object that is too large ends the download.
//!
//! A megabyte of a pack can become a gibibyte of an object, and both libraries take the memory that a pack asks for: gitoxide
//! for each object; libgit2 for a difference, for its base and for the result.

use std::collections::BTreeSet;

use flate2::{Decompress, FlushDecompress, Status};
use gix_hash::{Hasher, Kind, ObjectId};
use gix_pack::data::entry::Header;
use gix_pack::data::{Entry, header};

use crate::error::Error;
use crate::objects::{MAX_BLOB, Objects, Presence, most};

/// Objects of one download: twice those of the Linux kernel with all its history. Some 100 bytes of each are kept in
/// memory.
const MAX_OBJECTS: u32 = 20_000_000;
/// Bytes before the content of an object: its size has 10 at most, the name of the one that it is a difference to 32.
const MAX_HEAD: usize = 48;
/// Bytes at the begin of a difference: the sizes of the object that it is to and of the one that comes of it, of 10 each.
const SIZES: usize = 20;
/// Bytes that are unpacked at a time, to be counted and forgotten.
const BUFFER: usize = 32 << 10;

/// Reads a pack as it comes, and remembers nothing of it but where large files are.
pub(super) struct Sizes<'a> {
    objects: &'a Objects,
    present: Presence<'a>,
    /// Most bytes of an object that is held in memory.
    held: u64,
    /// Bytes of the pack so far.
    at: u64,
    /// Objects that are still to come; unknown before the pack's header.
    left: Option<u32>,
    /// Bytes of a header that is not complete.
    head: Vec<u8>,
    content: Option<Content>,
    inflate: Decompress,
    buffer: Vec<u8>,
    /// Places of the files that may not be held in memory, and the starts of their names.
    large: BTreeSet<u64>,
    large_names: BTreeSet<u64>,
    /// Starts of the names of objects that this pack must have, because it has a difference to them.
    bases: BTreeSet<u64>,
}

/// An object on its way.
#[derive(Default)]
struct Content {
    /// The begin of a difference, as far as it has come; nothing for other objects.
    sizes: Option<Vec<u8>>,
    /// Makes the name of a large file.
    hasher: Option<Hasher>,
}

impl<'a> Sizes<'a> {
    /// Looks at a pack that is to be added to `objects`.
    pub(super) fn new(objects: &'a Objects) -> Result<Self, Error> {
        Self::within(objects, MAX_BLOB)
    }

    fn within(objects: &'a Objects, held: u64) -> Result<Self, Error> {
        Ok(Self {
            objects,
            present: objects.presence()?,
            held,
            at: 0,
            left: None,
            head: Vec::new(),
            content: None,
            inflate: Decompress::new(true),
            buffer: vec![0; BUFFER],
            large: BTreeSet::new(),
            large_names: BTreeSet::new(),
            bases: BTreeSet::new(),
        })
    }

    /// Sees the next bytes.
    pub(super) fn see(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        // Behind the last object is a checksum.
        while self.left != Some(0) && !bytes.is_empty() {
            let used = match (self.left, &mut self.content) {
                (None, _) => self.begin(bytes)?,
                (_, None) => self.enter(bytes)?,
                (_, Some(_)) => self.unpack(bytes)?,
            };
            self.at += used as u64;
            bytes = bytes.get(used..).unwrap_or_default();
        }
        Ok(())
    }

    /// All has been seen: a difference may have come before the object that it is to.
    pub(super) fn finish(&self) -> Result<(), Error> {
        if self.bases.is_disjoint(&self.large_names) { Ok(()) } else { self.too_large() }
    }

    /// Reads the pack's header; returns how many bytes that took.
    fn begin(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let wanted = header::SIZE - self.head.len();
        self.head.extend(bytes.iter().take(wanted));
        if let Ok(head) = <&[u8; header::SIZE]>::try_from(self.head.as_slice()) {
            let (_, count) = header::decode(head)?;
            at_most(count.into(), MAX_OBJECTS.into(), || "number of objects of the download".to_owned())?;
            self.left = Some(count);
            self.head.clear();
        }
        Ok(wanted.min(bytes.len()))
    }

    /// Reads the header of an object; returns how many bytes that took.
    fn enter(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let known = self.head.len();
        self.head.extend(bytes.iter().take(MAX_HEAD - known));
        let start = self.at.saturating_sub(known as u64);
        match Entry::from_bytes(&self.head, start, self.objects.format()) {
            Ok(entry) => {
                self.head.clear();
                self.content = Some(self.judge(&entry, start)?);
                self.inflate.reset(true);
                Ok(entry.header_size().saturating_sub(known))
            }
            Err(error) if self.head.len() == MAX_HEAD => Err(error.into()),
            // More of it has to come.
            Err(_) => Ok(bytes.len()),
        }
    }

    fn judge(&mut self, entry: &Entry, start: u64) -> Result<Content, Error> {
        let size = entry.decompressed_size;
        if let Some(kind) = entry.header.as_kind().filter(|kind| *kind != gix_object::Kind::Blob) {
            at_most(size, most(kind), || format!("size of a {kind} of the download"))?;
            return Ok(Content::default());
        }
        if entry.header == Header::Blob && size > self.held && self.objects.format() == Kind::Sha1 {
            // It is written and read piece by piece, unless another one is a difference to it.
            self.large.insert(start);
            let mut hasher = gix_hash::hasher(Kind::Sha1);
            hasher.update(format!("blob {size}\0").as_bytes());
            return Ok(Content { hasher: Some(hasher), ..Content::default() });
        }
        self.hold(size)?;
        match entry.header {
            Header::OfsDelta { base_distance } => {
                let base = start.checked_sub(base_distance);
                if base.is_some_and(|base| self.large.contains(&base)) {
                    self.too_large()?;
                }
            }
            Header::RefDelta { base_id } if self.present.has(base_id) => {
                self.hold(self.objects.header(base_id)?.map_or(0, |(_, size)| size))?;
            }
            Header::RefDelta { base_id } => drop(self.bases.insert(name_start(&base_id))),
            _ => return Ok(Content::default()),
        }
        Ok(Content { sizes: Some(Vec::new()), ..Content::default() })
    }

    /// Unpacks some of an object; returns how many bytes of the pack that took.
    fn unpack(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let before = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(bytes, &mut self.buffer, FlushDecompress::None);
        let count = |now: u64, before: u64| usize::try_from(now.saturating_sub(before)).unwrap_or(usize::MAX);
        let used = count(self.inflate.total_in(), before.0);
        let made = count(self.inflate.total_out(), before.1);
        let is_over = match status {
            Ok(Status::StreamEnd) => true,
            Ok(_) if used + made > 0 => false,
            _ => return Err(Error::Unpack),
        };
        let made = self.buffer.get(..made).unwrap_or_default();
        let content = self.content.get_or_insert_default();
        if let Some(hasher) = &mut content.hasher {
            hasher.update(made);
        }
        if let Some(sizes) = content.sizes.as_mut().filter(|sizes| sizes.len() < SIZES) {
            sizes.extend(made.iter().take(SIZES - sizes.len()));
            if sizes.len() == SIZES || is_over {
                let largest = largest(sizes);
                self.hold(largest)?;
            }
        }
        if is_over {
            self.end()?;
        }
        Ok(used)
    }

    fn end(&mut self) -> Result<(), Error> {
        self.left = self.left.map(|left| left.saturating_sub(1));
        if let Some(hasher) = self.content.take().and_then(|content| content.hasher) {
            self.large_names.insert(name_start(&hasher.try_finalize()?));
        }
        Ok(())
    }

    fn hold(&self, size: u64) -> Result<(), Error> {
        at_most(size, self.held, || "size of an object of the download".to_owned())
    }

    fn too_large(&self) -> Result<(), Error> {
        self.hold(u64::MAX)
    }
}

fn at_most(size: u64, limit: u64, what: impl Fn() -> String) -> Result<(), Error> {
    if size <= limit { Ok(()) } else { Err(Error::TooLarge { what: what(), limit }) }
}

/// The larger one of the sizes that a difference begins with: seven bits a byte, the lowest first, as long as a byte's
/// highest bit is set. Where they take more bytes than they have to, no library's reading is waited for.
fn largest(begin: &[u8]) -> u64 {
    let is_last = |byte: &u8| byte & 0x80 == 0;
    if begin.iter().filter(|byte| is_last(byte)).count() < 2 {
        return u64::MAX;
    }
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0_u64, |number, byte| number.saturating_mul(0x80).saturating_add(u64::from(byte & 0x7f)))
    };
    begin.split_inclusive(is_last).take(2).map(number).max().unwrap_or(u64::MAX)
}

/// The start of a name: so much of it that nobody meets another one by chance.
fn name_start(id: &ObjectId) -> u64 {
    id.as_slice().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests;
