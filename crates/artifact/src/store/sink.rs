//! Where an artifact's bytes go: to the disk and into the digest. For a large one each has a thread of its own, while the
//! next bytes are made: of an artifact that is mostly copied (docs/adr/0007) none of the three is quick enough to be done by
//! another. Most artifacts are small, and done before a thread has started.

use crate::digest::{Algorithm, Digest, Hasher};
use crate::room::Room;
use cap_std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

/// Bytes from which on an artifact is worth its threads.
const LARGE_BYTES: usize = 256 * 1024;
/// Bytes that are handed over at a time.
const CHUNK_BYTES: usize = 128 * 1024;
/// Chunks on their way: a write holds 1 MiB at most.
const CHUNKS: usize = 8;
/// Bytes after which the disk is told to begin, so that it has little left to do at the end.
const FLUSH_BYTES: usize = 64 << 20;

type Chunk = Arc<[u8]>;

/// Writes what `fill` gives into a file, as long as there is room; returns its digest and size.
pub(super) fn write(
    file: &mut File,
    room: Room,
    algorithm: Algorithm,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<(Digest, u64)> {
    std::thread::scope(|scope| {
        let mut out = Out { scope, algorithm, start: Vec::new(), to: Some((file, room)), threads: None };
        let filled = fill(&mut out);
        out.finish(filled)
    })
}

/// Takes an artifact's bytes: into memory first, from there to the threads.
struct Out<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    algorithm: Algorithm,
    start: Vec<u8>,
    /// Where `start` goes; with the threads once there are any.
    to: Option<(&'env mut File, Room)>,
    threads: Option<Threads<'scope>>,
}

struct Threads<'scope> {
    handover: BufWriter<Handover>,
    written: ScopedJoinHandle<'scope, io::Result<()>>,
    hashed: ScopedJoinHandle<'scope, (Digest, u64)>,
}

impl<'scope, 'env> Out<'scope, 'env> {
    fn threads(&mut self) -> io::Result<&mut Threads<'scope>> {
        if let Some((file, room)) = self.to.take() {
            let (to_disk, disk) = sync_channel(CHUNKS);
            let (to_digest, digest) = sync_channel(CHUNKS);
            let algorithm = self.algorithm;
            let written = self.scope.spawn(move || store(&disk, file, room));
            let hashed = self.scope.spawn(move || hash(&digest, algorithm));
            let handover = BufWriter::with_capacity(CHUNK_BYTES, Handover([to_disk, to_digest]));
            let threads = self.threads.insert(Threads { handover, written, hashed });
            threads.handover.write_all(&std::mem::take(&mut self.start))?;
        }
        self.threads.as_mut().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    fn finish(self, filled: io::Result<()>) -> io::Result<(Digest, u64)> {
        let Some(Threads { mut handover, written, hashed }) = self.threads else {
            filled?;
            let mut hasher = Hasher::new(self.algorithm);
            hasher.update(&self.start);
            let (file, mut room) = self.to.ok_or(io::ErrorKind::BrokenPipe)?;
            room.take(self.start.len() as u64)?;
            file.write_all(&self.start)?;
            return Ok((hasher.finish(), self.start.len() as u64));
        };
        let filled = filled.and_then(|()| handover.flush());
        drop(handover);
        // When the disk fails, all that the other side knows is that nobody listens any more.
        joined(written)?.and(filled)?;
        joined(hashed)
    }
}

impl Write for Out<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.threads.is_some() || self.start.len() + bytes.len() > LARGE_BYTES {
            return self.threads()?.handover.write(bytes);
        }
        self.start.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn store(chunks: &Receiver<Chunk>, file: &mut File, mut room: Room) -> io::Result<()> {
    let synced = file.try_clone()?;
    std::thread::scope(|scope| {
        let (mut to_flush, mut waiting) = (None, 0);
        for chunk in chunks {
            room.take(chunk.len() as u64)?;
            file.write_all(&chunk)?;
            waiting += chunk.len();
            if waiting >= FLUSH_BYTES {
                let thread = to_flush.get_or_insert_with(|| {
                    let (thread, flush) = sync_channel(1);
                    // What goes wrong here goes wrong once more at the end.
                    scope.spawn(|| flush.into_iter().try_for_each(|()| synced.sync_data()));
                    thread
                });
                if thread.try_send(()).is_ok() {
                    waiting = 0;
                }
            }
        }
        Ok(())
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

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> io::Result<T> {
    thread.join().map_err(|_| io::Error::other("a thread that takes an artifact's bytes has ended"))
}

/// Hands chunks over to the threads.
struct Handover([SyncSender<Chunk>; 2]);

impl Write for Handover {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let chunk = Chunk::from(bytes.get(..CHUNK_BYTES).unwrap_or(bytes));
        for thread in &self.0 {
            thread.send(Arc::clone(&chunk)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
