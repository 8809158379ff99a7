//! Where an artifact's bytes go: to the disk and into the digest, on a thread of their own, while the next ones are made.
//! Of a large artifact that is mostly copied (docs/adr/0007) each half takes as long as the other.

use crate::digest::{Algorithm, Digest, Hasher};
use cap_std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes that are handed over at a time.
const CHUNK_BYTES: usize = 64 * 1024;
/// Chunks on their way: a write holds 1 MiB at most.
const CHUNKS: usize = 16;

/// Writes what `fill` gives into a file; returns its digest and size.
pub(super) fn write(
    file: &mut File,
    algorithm: Algorithm,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<(Digest, u64)> {
    let (sender, chunks) = sync_channel(CHUNKS);
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || drain(&chunks, file, algorithm));
        let mut out = BufWriter::with_capacity(CHUNK_BYTES, Handover(sender));
        let filled = fill(&mut out).and_then(|()| out.flush());
        drop(out);
        let written = writer.join().map_err(|_| io::Error::other("the thread that writes has ended"))?;
        // When the disk fails, all that the other side knows is that nobody listens any more.
        written.and_then(|written| filled.map(|()| written))
    })
}

fn drain(chunks: &Receiver<Vec<u8>>, file: &mut File, algorithm: Algorithm) -> io::Result<(Digest, u64)> {
    let (mut hasher, mut size) = (Hasher::new(algorithm), 0);
    for chunk in chunks {
        file.write_all(&chunk)?;
        hasher.update(&chunk);
        size += chunk.len() as u64;
    }
    Ok((hasher.finish(), size))
}

/// Hands chunks over to the thread that writes.
struct Handover(SyncSender<Vec<u8>>);

impl Write for Handover {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let chunk = bytes.get(..CHUNK_BYTES).unwrap_or(bytes);
        self.0.send(chunk.to_vec()).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
