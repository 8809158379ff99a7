//! A stored artifact that is open: one file, or the pieces that it lies in (docs/adr/0014).

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::fs::{Dir, Metadata, MetadataExt};

/// Pieces of an artifact. A reader holds all of them open, so that it outlives their removal (SRC-STO-17).
pub(crate) const MAX_PIECES: usize = 256;

/// The name of a piece in its artifact's directory.
pub(crate) fn piece_name(number: usize) -> String {
    format!("{number:08}")
}

/// The state of a file. Every write changes it, because programs cannot set the time of the last change (`ctime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    device: u64,
    inode: u64,
    pub(crate) size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileState {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Of a file that is open.
    pub(crate) fn now(file: &File) -> io::Result<Self> {
        Ok(Self::of(&Metadata::from_file(file)?))
    }

    /// Returns true when it is the same file, whatever its content.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Returns true when the file is the same but for what a link that comes or goes changes.
    pub(crate) fn differs_by_links(&self, other: &Self) -> bool {
        Self { changed: other.changed, ..*self } == *other
    }
}

/// A file that holds a part of an artifact. It never changes; a later artifact may have it too.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) file: File,
    /// Offset in the artifact, in bytes.
    pub(crate) start: u64,
    /// When it was opened.
    pub(crate) state: FileState,
    /// Place that it can be linked from: directory and name. None for the only file of an artifact.
    pub(crate) place: Option<(Arc<Dir>, String)>,
}

impl Piece {
    pub(crate) fn length(&self) -> u64 {
        self.state.size
    }
}

/// An artifact, open for reading. It stays readable when it is removed meanwhile (SRC-STO-17).
#[derive(Debug)]
pub struct Opened {
    pieces: Vec<Arc<Piece>>,
    length: u64,
    modified: SystemTime,
    position: u64,
}

impl Opened {
    /// An artifact that is one file.
    ///
    /// # Errors
    /// When nothing can be learned of the file.
    pub fn file(file: File) -> io::Result<Self> {
        let metadata = Metadata::from_file(&file)?;
        Self::whole(file, &metadata)
    }

    /// An artifact that is one file, of which this is known.
    pub(crate) fn whole(file: File, metadata: &Metadata) -> io::Result<Self> {
        let (modified, length) = (metadata.modified()?.into_std(), metadata.len());
        let piece = Piece { file, start: 0, state: FileState::of(metadata), place: None };
        Ok(Self { pieces: vec![Arc::new(piece)], length, modified, position: 0 })
    }

    /// An artifact that is a directory of pieces. Whoever calls makes sure that they were not on their way out.
    pub(crate) fn pieces(directory: Dir) -> io::Result<Self> {
        let modified = directory.dir_metadata()?.modified()?.into_std();
        let (directory, mut pieces, mut length) = (Arc::new(directory), Vec::new(), 0);
        for number in 0..MAX_PIECES {
            let name = piece_name(number);
            let file = match directory.open(&name) {
                Ok(file) => file.into_std(),
                Err(error) if error.kind() == io::ErrorKind::NotFound && number > 0 => break,
                Err(error) => return Err(error),
            };
            let metadata = Metadata::from_file(&file)?;
            if !metadata.is_file() {
                return Err(io::ErrorKind::NotFound.into());
            }
            let (start, place) = (length, Some((Arc::clone(&directory), name)));
            let piece = Piece { file, start, state: FileState::of(&metadata), place };
            length += piece.length();
            pieces.push(Arc::new(piece));
        }
        Ok(Self { pieces, length, modified, position: 0 })
    }

    /// Its bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.length
    }

    /// When it was written.
    #[must_use]
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// Reads some bytes at an offset; none at the end.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some((piece, inside)) = self.piece_at(offset) else { return Ok(0) };
        let most = usize::try_from(piece.length() - inside).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(most);
        piece.file.read_at(buffer.get_mut(..wanted).unwrap_or_default(), inside)
    }

    /// Fills the buffer from an offset.
    ///
    /// # Errors
    /// When the file cannot be read, or ends before.
    pub fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            let count = self.read_at(buffer, offset)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer = buffer.get_mut(count..).unwrap_or_default();
            offset += count as u64;
        }
        Ok(())
    }

    /// The piece that holds the byte at an offset, and where in it that byte is.
    pub(crate) fn piece_at(&self, offset: u64) -> Option<(&Arc<Piece>, u64)> {
        let after = self.pieces.partition_point(|piece| piece.start <= offset);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        let inside = offset - piece.start;
        (inside < piece.length()).then_some((piece, inside))
    }

    /// The states of its files when they were opened.
    pub(crate) fn states(&self) -> Vec<FileState> {
        self.pieces.iter().map(|piece| piece.state).collect()
    }
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.read_at(buffer, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}
