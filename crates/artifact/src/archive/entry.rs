//! One entry of a tarball.

use std::io::{self, Read, Write};

const FILE_MODE: u32 = 0o600;
const EXECUTABLE_MODE: u32 = 0o700;
const DIRECTORY_MODE: u32 = 0o750;
/// Bits of a mode that go into an archive.
const PERMISSIONS: u32 = 0o7777;
/// Bytes of a name that fit the header; longer ones go into a PAX record.
const MAX_HEADER_NAME: usize = 100;

/// Appends a directory.
pub(super) fn directory(tar: &mut tar::Builder<impl Write>, name: &str) -> io::Result<()> {
    append(tar, name, Entry::directory(DIRECTORY_MODE), &mut io::empty())
}

/// Appends a file of exactly `size` bytes.
pub(super) fn file(
    tar: &mut tar::Builder<impl Write>,
    name: &str,
    executable: bool,
    size: u64,
    content: &mut dyn Read,
) -> io::Result<()> {
    let mode = if executable { EXECUTABLE_MODE } else { FILE_MODE };
    append(tar, name, Entry::file(mode, size), content)
}

/// The header of an entry, but for its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    kind: tar::EntryType,
    mode: u32,
    size: u64,
}

impl Entry {
    pub(super) fn directory(mode: u32) -> Self {
        Self { kind: tar::EntryType::Directory, mode: mode & PERMISSIONS, size: 0 }
    }

    pub(super) fn file(mode: u32, size: u64) -> Self {
        Self { kind: tar::EntryType::Regular, mode: mode & PERMISSIONS, size }
    }
}

/// Appends an entry with its content.
pub(super) fn append(
    tar: &mut tar::Builder<impl Write>,
    name: &str,
    Entry { kind, mode, size }: Entry,
    content: &mut dyn Read,
) -> io::Result<()> {
    let mut short = name;
    if name.len() > MAX_HEADER_NAME {
        tar.append_pax_extensions([("path", name.as_bytes())])?;
        let mut end = MAX_HEADER_NAME;
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        short = name.get(..end).unwrap_or_default();
    }
    let mut header = tar::Header::new_ustar();
    if let Some(field) = header.as_old_mut().name.get_mut(..short.len()) {
        field.copy_from_slice(short.as_bytes());
    }
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    header.set_cksum();
    let mut counted = Exactly { inner: content, left: size };
    tar.append(&header, &mut counted)?;
    if counted.left != 0 {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("{name} shrank while it was archived"),
        ));
    }
    Ok(())
}

/// Gives exactly `left` bytes, also when the file grows meanwhile: the header has promised its size.
struct Exactly<'a> {
    inner: &'a mut dyn Read,
    left: u64,
}

impl Read for Exactly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let Some(buffer) = buffer.get_mut(..wanted) else { return Ok(0) };
        let count = self.inner.read(buffer)?;
        self.left -= count as u64;
        Ok(count)
    }
}
