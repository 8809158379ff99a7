//! Writes an artifact to the disk: a small one as a file, a large one as pieces. Pieces that the artifact before has,
//! too, are linked instead (docs/adr/0014).

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use cap_std::fs::{Dir, File, Permissions, PermissionsExt};

use super::FILE_MODE;
use super::partial::{Laid, Partial};
use crate::opened::{FileState, MAX_PIECES, Piece, piece_name};
use crate::room::Room;

/// Pieces after which they become twice as large, so that an artifact of 7 GiB has no more than [`MAX_PIECES`].
const PIECES_OF_A_SIZE: usize = MAX_PIECES / 4;
/// Factor by which a piece may be larger than others to end where one of the artifact before did: the pieces behind it are the
/// same again.
const GROWTH: u64 = 3;
/// Bytes after which the disk is ordered to begin, so that it has little left to do at the end.
const FLUSH_BYTES: u64 = 64 << 20;
/// Files that may wait for the disk before their writer does.
const SYNCS: usize = 16;
const BUFFER_BYTES: usize = 128 * 1024;

/// Lays an artifact out.
pub(super) struct Pieces<'a, 'scope, 'env> {
    partial: &'a Partial<'a>,
    room: Room,
    /// Bytes of a piece.
    size: u64,
    /// The file that is opened already for what is written first.
    spare: Option<File>,
    current: Option<Current>,
    directory: Option<Dir>,
    states: Vec<FileState>,
    syncs: Syncs<'scope, 'env>,
}

/// The piece that is being made.
enum Current {
    /// So far it is the begin of an old one, and nothing is written.
    Same { piece: Arc<Piece>, length: u64 },
    /// It has a file of its own.
    Own(Own),
}

struct Own {
    file: File,
    length: u64,
    /// True when the last bytes were copied.
    follows: bool,
    /// Bytes since the disk was ordered to begin.
    waiting: u64,
}

impl<'a, 'scope, 'env> Pieces<'a, 'scope, 'env> {
    pub(super) fn new(
        partial: &'a Partial<'a>,
        file: File,
        room: Room,
        size: u64,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Self {
        let syncs = Syncs { scope, thread: None };
        let (current, directory, states) = (None, None, Vec::new());
        Pieces { partial, room, size, spare: Some(file), current, directory, states, syncs }
    }

    /// Takes bytes that are new.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.append(bytes, false)
    }

    /// Takes bytes that also lie at `inside` of an old piece.
    pub(super) fn copied(&mut self, bytes: &[u8], piece: &Arc<Piece>, inside: u64) -> io::Result<()> {
        if inside == 0 && self.is_worth_a_link(piece) && self.could_end() {
            self.end()?;
            self.current = Some(Current::Same { piece: Arc::clone(piece), length: 0 });
        }
        match &mut self.current {
            Some(Current::Same { piece: same, length }) if Arc::ptr_eq(same, piece) && *length == inside => {
                *length += bytes.len() as u64;
                if *length == piece.length() { self.link() } else { Ok(()) }
            }
            _ => self.append(bytes, true),
        }
    }

    /// Ends the piece if it is large enough.
    pub(super) fn may_cut(&mut self) -> io::Result<()> {
        let Some(size) = self.size_here() else { return Ok(()) };
        match &self.current {
            Some(Current::Own(own)) if own.length >= if own.follows { size * GROWTH } else { size } => {
                self.end()
            }
            _ => Ok(()),
        }
    }

    /// Ends the artifact.
    pub(super) fn finish(mut self) -> io::Result<Laid> {
        if self.directory.is_some() {
            self.end()?;
            if self.spare.take().is_some() {
                self.partial.discard_file();
            }
        }
        let laid = match self.directory.take() {
            Some(directory) => Laid::Pieces(directory, std::mem::take(&mut self.states)),
            None => {
                self.own()?;
                let Some(Current::Own(own)) = self.current else {
                    return Err(io::ErrorKind::BrokenPipe.into());
                };
                Laid::File(own.file)
            }
        };
        self.syncs.finish()?;
        Ok(laid)
    }

    /// Bytes that the piece being made should have; nothing if it is the last that there may be.
    fn size_here(&self) -> Option<u64> {
        self.size_at(self.states.len())
    }

    fn size_at(&self, number: usize) -> Option<u64> {
        (number + 1 < MAX_PIECES).then(|| self.size << (number / PIECES_OF_A_SIZE))
    }

    /// Returns true when an old piece may come after what is being made. Such that are too small would become ever
    /// more with every change.
    fn is_worth_a_link(&self, piece: &Piece) -> bool {
        let number = self.states.len() + usize::from(self.current.is_some());
        piece.place.is_some() && self.size_at(number).is_some_and(|size| piece.length() >= size / 2)
    }

    fn could_end(&self) -> bool {
        let (Some(Current::Same { length, .. } | Current::Own(Own { length, .. })), Some(size)) =
            (&self.current, self.size_here())
        else {
            return self.current.is_none();
        };
        *length >= size / 2
    }

    fn append(&mut self, bytes: &[u8], follows: bool) -> io::Result<()> {
        self.room.take(bytes.len() as u64)?;
        let own = self.own()?;
        own.file.write_all(bytes)?;
        own.length += bytes.len() as u64;
        own.waiting += bytes.len() as u64;
        own.follows = follows;
        if own.waiting >= FLUSH_BYTES {
            own.waiting = 0;
            let file = own.file.try_clone()?;
            self.syncs.push(file);
        }
        Ok(())
    }

    /// The file of the piece, with everything that it shares with an old one.
    fn own(&mut self) -> io::Result<&mut Own> {
        if !matches!(self.current, Some(Current::Own(_))) {
            let file = self.spare.take().map_or_else(|| self.partial.open(), Ok)?;
            let mut own = Own { file, length: 0, follows: true, waiting: 0 };
            if let Some(Current::Same { piece, length }) = self.current.take() {
                self.room.take(length)?;
                copy(&piece, length, &mut own.file)?;
                (own.length, own.waiting) = (length, length);
            }
            self.current = Some(Current::Own(own));
        }
        match &mut self.current {
            Some(Current::Own(own)) => Ok(own),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends the piece, if there is one.
    fn end(&mut self) -> io::Result<()> {
        if self.current.is_none() {
            return Ok(());
        }
        self.own()?;
        let Some(Current::Own(own)) = self.current.take() else { return Ok(()) };
        own.file.set_permissions(Permissions::from_mode(FILE_MODE))?;
        let name = piece_name(self.states.len());
        self.partial.move_into(self.directory()?, &name)?;
        self.states.push(FileState::of(&own.file.metadata()?));
        self.syncs.push(own.file);
        (self.partial.step)("store-piece");
        Ok(())
    }

    /// Takes over an old piece as it is.
    fn link(&mut self) -> io::Result<()> {
        let Some(Current::Same { piece, length }) = self.current.take() else { return Ok(()) };
        unchanged(&piece)?;
        let name = piece_name(self.states.len());
        let directory = self.directory()?;
        let linked =
            piece.place.as_ref().is_some_and(|(from, old)| from.hard_link(old, directory, &name).is_ok());
        if !linked {
            // As on file systems without links.
            self.current = Some(Current::Same { piece, length });
            return self.end();
        }
        let state = FileState::of(&directory.symlink_metadata(&name)?);
        if !state.differs_by_links(&piece.state) {
            return Err(altered());
        }
        self.states.push(state);
        (self.partial.step)("store-piece");
        Ok(())
    }

    fn directory(&mut self) -> io::Result<&Dir> {
        if self.directory.is_none() {
            self.directory = Some(self.partial.open_directory()?);
        }
        self.directory.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Copies the first `length` bytes of a piece.
fn copy(piece: &Piece, length: u64, to: &mut File) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let (mut buffer, mut at) = (vec![0; BUFFER_BYTES], 0);
    while at < length {
        let count = usize::try_from(length - at).unwrap_or(BUFFER_BYTES).min(BUFFER_BYTES);
        let bytes = buffer.get_mut(..count).unwrap_or_default();
        piece.file.read_exact_at(bytes, at)?;
        to.write_all(bytes)?;
        at += count as u64;
    }
    unchanged(piece)
}

/// Checks that the digest was made of the bytes that are stored.
fn unchanged(piece: &Piece) -> io::Result<()> {
    if FileState::now(&piece.file)? != piece.state {
        return Err(altered());
    }
    Ok(())
}

fn altered() -> io::Error {
    io::Error::other("the artifact before this one has changed on disk")
}

/// Makes files durable while others are written, on a thread that starts with the first.
struct Syncs<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    thread: Option<(SyncSender<File>, ScopedJoinHandle<'scope, io::Result<()>>)>,
}

impl Syncs<'_, '_> {
    fn push(&mut self, file: File) {
        let (files, _) = self.thread.get_or_insert_with(|| {
            let (files, to_sync) = sync_channel(SYNCS);
            (files, self.scope.spawn(move || sync(&to_sync)))
        });
        // A thread that has ended with an error reports it at the end.
        let _ = files.send(file);
    }

    fn finish(self) -> io::Result<()> {
        let Some((files, thread)) = self.thread else { return Ok(()) };
        drop(files);
        super::sink::joined(thread)?
    }
}

fn sync(files: &Receiver<File>) -> io::Result<()> {
    files.iter().try_for_each(|file| file.sync_all())
}
