//! Unpacking archives that nobody vouches for (SRC-STO-18, DEP-FS-1).
//!
//! Names are [`RelPath`]s, links and devices never reach the disk, and every quantity that the archive decides has a
//! cap that is checked before it is used. The rest behind the last entry is read too, so that a cut off or continued
//! gzip stream is an error and not a shorter artifact.

mod meter;
mod same;
mod sink;
mod stack;
mod unpacked;
mod words;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use self::meter::Meter;
use self::sink::{DirectorySink, Incoming, MapSink, Sink};
pub use self::sink::{FileEntry, FileMap};
use self::stack::StackSink;
pub use self::stack::{FileStack, Span};
pub use self::unpacked::Unpacked;
use self::unpacked::UnpackedSink;
use self::words::Words;
use crate::limits::Limits;
use crate::path::{RelPath, RelPathError};
use crate::room::is_of_disk;

/// First bytes of every gzip stream.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Bytes in front of what is packed, all of which Go reads before it looks at them.
const GZIP_HEADER_BYTES: usize = 10;
/// Bytes of headers and extended headers in front of one file. They are held in memory by the tar reader.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// Bytes of padding behind the last entry: writers fill up to their record size.
const MAX_PADDING_BYTES: u64 = 1 << 20;
/// Permission bits that its owner has for an unpacked directory in any case.
const OWNER: u32 = 0o700;
/// Size of one tar block; content is padded to it.
const BLOCK: u64 = 512;

/// The treatment of symbolic links in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symlinks {
    /// They are left out, as consumers of artifacts do.
    Skip,
    /// They make the archive invalid.
    Reject,
}

/// Errors of unpacking an archive.
#[derive(Debug, thiserror::Error)]
pub enum UntarError {
    /// Not gzip at all.
    #[error("requires gzip-compressed body: {reason}")]
    NotGzip {
        /// Error for what was found instead.
        reason: &'static str,
    },
    /// The stream is cut off, continued or damaged.
    #[error("tar error: {}", Words(source))]
    Corrupt {
        /// The reader's error.
        #[source]
        source: io::Error,
    },
    /// A name that is empty, absolute, leads up or cannot be a path.
    #[error("tar contained invalid name error \"{name}\"")]
    Name {
        /// The name as it stands in the archive.
        name: String,
        /// The fault in it.
        #[source]
        source: RelPathError,
    },
    /// A symlink where none is allowed.
    #[error("tar file entry {name} is a symlink, which is not allowed in this context")]
    Symlink {
        /// The link's name.
        name: String,
    },
    /// A hard link, device or FIFO.
    #[error("tar file entry {name} contained unsupported file type {kind:?}")]
    Kind {
        /// The entry's name.
        name: String,
        /// Its type flag.
        kind: tar::EntryType,
    },
    /// More bytes than allowed.
    #[error("tar \"{name}\" is bigger than max archive size of {limit} bytes")]
    TooBig {
        /// The entry at which the cap was reached.
        name: String,
        /// The cap.
        limit: u64,
    },
    /// More entries than allowed.
    #[error("tar has more than {limit} entries")]
    TooMany {
        /// The cap.
        limit: usize,
    },
    /// Names that take more memory than allowed.
    #[error("tar names so many files that the list of them is larger than {limit} bytes")]
    Index {
        /// The cap.
        limit: u64,
    },
    /// A path with more components than allowed.
    #[error("tar file entry {name} is nested deeper than {limit} directories")]
    TooDeep {
        /// The entry's name.
        name: String,
        /// The cap.
        limit: usize,
    },
    /// An unpacked file could not be written.
    #[error("failed to write {name}: {source}")]
    Write {
        /// The entry's name.
        name: String,
        /// The file system's words.
        #[source]
        source: io::Error,
    },
}

impl UntarError {
    /// Returns true when it is the disk that failed, and not an archive whose entries do not go together.
    #[must_use]
    pub fn is_of_disk(&self) -> bool {
        matches!(self, Self::Write { source, .. } if is_of_disk(source))
    }
}

/// Unpacks gzipped tarballs within limits.
#[derive(Debug, Clone, Copy)]
pub struct Untar {
    limits: Limits,
    symlinks: Symlinks,
    backslashes: bool,
    permissions: bool,
}

impl Untar {
    /// An unpacker that leaves symlinks out.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, symlinks: Symlinks::Skip, backslashes: false, permissions: false }
    }

    /// Sets the treatment of symlinks.
    #[must_use]
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.symlinks = symlinks;
        self
    }

    /// Takes backslashes in names as slashes, as tools on Windows write them; by default such names are refused.
    #[must_use]
    pub fn backslashes(mut self) -> Self {
        self.backslashes = true;
        self
    }

    /// Gives what is unpacked into a directory the permission bits of the archive; its owner may always do everything in
    /// directories. By default only programs are told from other files.
    #[must_use]
    pub fn permissions(mut self) -> Self {
        self.permissions = true;
        self
    }

    /// Unpacks into memory.
    ///
    /// # Errors
    /// When the archive is damaged, hostile, or beyond the limits.
    pub fn to_map(&self, archive: impl Read) -> Result<FileMap, UntarError> {
        let mut sink = MapSink::default();
        self.unpack(archive, &mut sink)?;
        Ok(sink.files)
    }

    /// Unpacks below a directory, as long as its file system has [`Room`](crate::Room). Files that exist are replaced.
    ///
    /// # Errors
    /// When the archive is damaged, hostile, beyond the limits, or cannot be written.
    pub fn to_directory(&self, archive: impl Read, directory: &Path) -> Result<(), UntarError> {
        let failed = |source| UntarError::Write { name: directory.display().to_string(), source };
        let sink = DirectorySink::open(directory).map_err(failed)?;
        self.unpack(archive, &mut sink.keeping_permissions(self.permissions))
    }

    /// Unpacks a small archive into memory, and any other into a temporary folder.
    ///
    /// # Errors
    /// When the archive is damaged, hostile, beyond the limits, or cannot be written.
    pub fn to_tree(&self, archive: impl Read) -> Result<Unpacked, UntarError> {
        let mut sink = UnpackedSink::default();
        self.unpack(archive, &mut sink)?;
        Ok(sink.finish())
    }

    /// Unpacks for those who read a few of the files: where each of them lies, and what holds them. Files of more than `largest`
    /// bytes are listed, and not kept.
    ///
    /// # Errors
    /// When the archive is damaged, hostile, beyond the limits, or cannot be written.
    pub fn to_stack(
        &self,
        archive: impl Read,
        largest: u64,
    ) -> Result<(BTreeMap<RelPath, Span>, FileStack), UntarError> {
        let mut sink = StackSink::new(largest);
        self.unpack(archive, &mut sink)?;
        Ok(sink.finish())
    }

    fn unpack(&self, archive: impl Read, sink: &mut dyn Sink) -> Result<(), UntarError> {
        let mut archive = BufReader::new(archive);
        let start = archive.fill_buf().map_err(|source| UntarError::Corrupt { source })?;
        if !start.starts_with(&GZIP_MAGIC) {
            let reason = match start.len() {
                0 => "EOF",
                1..GZIP_HEADER_BYTES => "unexpected EOF",
                _ => "gzip: invalid header",
            };
            return Err(UntarError::NotGzip { reason });
        }
        let meter = Meter::new(MultiGzDecoder::new(archive));
        let allowance = meter.allowance();
        let mut tar = tar::Archive::new(meter);
        let mut progress = Progress { limits: self.limits, entries: 0, bytes: 0 };
        let corrupt = |source| UntarError::Corrupt { source };
        let mut entries = tar.entries().map_err(corrupt)?;
        loop {
            allowance.set(MAX_HEADER_BYTES);
            let Some(entry) = entries.next() else { break };
            let mut entry = entry.map_err(corrupt)?;
            let size = entry.size();
            let Some((path, executable)) = self.admit(&entry, &mut progress)? else { continue };
            allowance.set(size.saturating_add(BLOCK));
            let mode = entry.header().mode().unwrap_or_default();
            match executable {
                None => {
                    sink.directory(&path)?;
                    sink.permissions(&path, mode | OWNER)?;
                }
                Some(executable) => {
                    sink.file(&path, Incoming { executable, size, content: &mut entry })?;
                    sink.permissions(&path, mode)?;
                }
            }
        }
        drain(tar.into_inner(), &allowance)
    }

    /// Returns true when an entry is unpacked: its path, and for files whether it is executable. Links and headers
    /// that carry no content of ours are `None`.
    fn admit<R: Read>(
        &self,
        entry: &tar::Entry<'_, R>,
        progress: &mut Progress,
    ) -> Result<Option<(RelPath, Option<bool>)>, UntarError> {
        let bytes = entry.path_bytes();
        let mut name = String::from_utf8_lossy(&bytes).into_owned();
        if self.backslashes {
            name = name.replace('\\', "/");
        }
        progress.count(&name, entry.size())?;
        let kind = entry.header().entry_type();
        let executable = match kind {
            tar::EntryType::Directory => None,
            tar::EntryType::Regular | tar::EntryType::Continuous => {
                let mode = entry.header().mode().map_err(|source| UntarError::Corrupt { source })?;
                Some(mode & 0o111 != 0)
            }
            tar::EntryType::XGlobalHeader => return Ok(None),
            tar::EntryType::Symlink if self.symlinks == Symlinks::Skip => return Ok(None),
            tar::EntryType::Symlink => return Err(UntarError::Symlink { name }),
            _ => return Err(UntarError::Kind { name, kind }),
        };
        let path = match RelPath::parse(&name) {
            Ok(path) => path,
            // The root itself ("." or "./") is an entry of every archive that Flux writes.
            Err(RelPathError::Empty) if executable.is_none() && !name.is_empty() => return Ok(None),
            Err(source) => return Err(UntarError::Name { name, source }),
        };
        if path.depth() > self.limits.depth {
            return Err(UntarError::TooDeep { name, limit: self.limits.depth });
        }
        Ok(Some((path, executable)))
    }
}

/// The part of the limits that is used up.
struct Progress {
    limits: Limits,
    entries: usize,
    bytes: u64,
}

impl Progress {
    fn count(&mut self, name: &str, size: u64) -> Result<(), UntarError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(UntarError::TooMany { limit: self.limits.entries });
        }
        self.bytes = self.bytes.saturating_add(size);
        let limit = if size > self.limits.file { self.limits.file } else { self.limits.unpacked };
        if size > self.limits.file || self.bytes > self.limits.unpacked {
            return Err(UntarError::TooBig { name: name.to_owned(), limit });
        }
        Ok(())
    }
}

/// Reads the padding behind the last entry up to the end of the gzip stream, whose checksum is tested there.
fn drain(mut rest: impl Read, allowance: &meter::Allowance) -> Result<(), UntarError> {
    allowance.set(MAX_PADDING_BYTES);
    io::copy(&mut rest, &mut io::sink()).map(drop).map_err(|source| UntarError::Corrupt { source })
}
