//! Writes the bytes of an artifact to the disk and into the digest. For a large one these have a thread each, beside the one
//! that makes the bytes: where most are copied (docs/adr/0007), one thread cannot do two of the three in time. Most
//! artifacts are small, and done before a thread has started.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use cap_std::fs::File;

use super::partial::{Laid, Partial};
use super::pieces::Pieces;
use crate::archive::Sink;
use crate::digest::{Algorithm, Digest, Hasher};
use crate::opened::{Opened, Piece};
use crate::room::Room;

/// Bytes from which on an artifact is worth its threads.
const LARGE_BYTES: usize = 256 * 1024;
/// Bytes that are handed over at a time.
const CHUNK_BYTES: usize = 128 * 1024;
/// Chunks on their way: a write holds 1 MiB at most.
const CHUNKS: usize = 8;
/// A piece may be larger than it should be by one part in so many, so that small runs are handed over together.
const CUT_PART: u64 = 16;

type Chunk = Arc<[u8]>;

/// An order to the disk.
enum Order {
    Write(Chunk),
    /// Bytes that an old piece has at an offset.
    Copied(Chunk, Arc<Piece>, u64),
    MayCut,
}

/// The means of a write beside the bytes.
pub(super) struct Means {
    pub(super) room: Room,
    pub(super) algorithm: Algorithm,
    /// Bytes of a piece.
    pub(super) piece: u64,
}

/// Writes what `fill` gives, as long as there is room; returns its digest and size, and its form on the disk.
pub(super) fn write(
    partial: &Partial<'_>,
    file: File,
    means: Means,
    fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
) -> io::Result<(Digest, u64, Laid)> {
    let piece = means.piece;
    let algorithm = means.algorithm;
    std::thread::scope(|scope| {
        let to = Some((file, means));
        let mut out = Out { scope, partial, piece, uncut: 0, start: Vec::new(), to, threads: None };
        let filled = fill(&mut out);
        out.finish(filled, algorithm)
    })
}

/// Takes an artifact's bytes: into memory first, from there to the threads.
struct Out<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    partial: &'env Partial<'env>,
    piece: u64,
    /// Bytes since the last point at which a piece may end.
    uncut: u64,
    start: Vec<u8>,
    /// File that `start` is written to; with the threads once there are any.
    to: Option<(File, Means)>,
    threads: Option<Threads<'scope>>,
}

struct Threads<'scope> {
    handover: BufWriter<Handover>,
    written: ScopedJoinHandle<'scope, io::Result<Laid>>,
    hashed: ScopedJoinHandle<'scope, (Digest, u64)>,
}

impl<'scope, 'env> Out<'scope, 'env> {
    fn threads(&mut self) -> io::Result<&mut Threads<'scope>> {
        if let Some((file, means)) = self.to.take() {
            let (disk, orders) = sync_channel(CHUNKS);
            let (digest, chunks) = sync_channel(CHUNKS);
            let (algorithm, partial) = (means.algorithm, self.partial);
            let written = self.scope.spawn(move || store(&orders, partial, file, means));
            let hashed = self.scope.spawn(move || hash(&chunks, algorithm));
            let handover = BufWriter::with_capacity(CHUNK_BYTES, Handover { disk, digest });
            let threads = self.threads.insert(Threads { handover, written, hashed });
            threads.handover.write_all(&std::mem::take(&mut self.start))?;
        }
        self.threads.as_mut().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    fn finish(self, filled: io::Result<()>, algorithm: Algorithm) -> io::Result<(Digest, u64, Laid)> {
        let Some(Threads { mut handover, written, hashed }) = self.threads else {
            filled?;
            let mut hasher = Hasher::new(algorithm);
            hasher.update(&self.start);
            let (mut file, mut means) = self.to.ok_or(io::ErrorKind::BrokenPipe)?;
            means.room.take(self.start.len() as u64)?;
            file.write_all(&self.start)?;
            return Ok((hasher.finish(), self.start.len() as u64, Laid::File(file)));
        };
        let filled = filled.and_then(|()| handover.flush());
        drop(handover);
        // When the disk fails, all that the other side knows is that nobody listens any more.
        let laid = joined(written)?;
        let laid = laid.and_then(|laid| filled.map(|()| laid))?;
        let (digest, size) = joined(hashed)?;
        Ok((digest, size, laid))
    }
}

impl Write for Out<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = if self.threads.is_some() || self.start.len() + bytes.len() > LARGE_BYTES {
            self.threads()?.handover.write(bytes)?
        } else {
            self.start.extend_from_slice(bytes);
            bytes.len()
        };
        self.uncut += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Out<'_, '_> {
    fn copied(&mut self, bytes: &[u8], from: &Opened, offset: u64) -> io::Result<()> {
        let is_in = |piece: &Piece, inside| inside + bytes.len() as u64 <= piece.length();
        let place = from.piece_at(offset);
        let place = place.filter(|(piece, inside)| piece.place.is_some() && is_in(piece, *inside));
        let Some((piece, inside)) = place else { return self.write_all(bytes) };
        self.uncut += bytes.len() as u64;
        let handover = &mut self.threads()?.handover;
        handover.flush()?;
        handover.get_ref().copied(bytes, piece, inside)
    }

    fn may_cut(&mut self) -> io::Result<()> {
        if self.uncut < self.piece / CUT_PART || self.threads.is_none() {
            return Ok(());
        }
        self.uncut = 0;
        let handover = &mut self.threads()?.handover;
        handover.flush()?;
        handover.get_ref().disk.send(Order::MayCut).map_err(|_| unheard())
    }
}

fn store(orders: &Receiver<Order>, partial: &Partial<'_>, file: File, means: Means) -> io::Result<Laid> {
    std::thread::scope(|scope| {
        let mut pieces = Pieces::new(partial, file, means.room, means.piece, scope);
        for order in orders {
            match order {
                Order::Write(chunk) => pieces.write(&chunk)?,
                Order::Copied(chunk, piece, inside) => pieces.copied(&chunk, &piece, inside)?,
                Order::MayCut => pieces.may_cut()?,
            }
        }
        pieces.finish()
    })
}

fn hash(chunks: &Receiver<Chunk>, algorithm: Algorithm) -> (Digest, u64) {
    let (mut hasher, mut size) = (Hasher::new(algorithm), 0);
    for chunk in chunks {
        hasher.update(&chunk);
        size += chunk.len() as u64;
    }
    (hasher.finish(), size)
}

pub(super) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> io::Result<T> {
    thread.join().map_err(|_| io::Error::other("a thread that takes an artifact's bytes has ended"))
}

/// All that is known of a thread that has ended.
fn unheard() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

/// Hands chunks over to the threads.
struct Handover {
    disk: SyncSender<Order>,
    digest: SyncSender<Chunk>,
}

impl Handover {
    fn copied(&self, bytes: &[u8], piece: &Arc<Piece>, inside: u64) -> io::Result<()> {
        let chunk = Chunk::from(bytes);
        let order = Order::Copied(Arc::clone(&chunk), Arc::clone(piece), inside);
        self.disk.send(order).map_err(|_| unheard())?;
        self.digest.send(chunk).map_err(|_| unheard())
    }
}

impl Write for Handover {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let chunk = Chunk::from(bytes.get(..CHUNK_BYTES).unwrap_or(bytes));
        self.disk.send(Order::Write(Arc::clone(&chunk))).map_err(|_| unheard())?;
        self.digest.send(Arc::clone(&chunk)).map_err(|_| unheard())?;
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
