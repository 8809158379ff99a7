use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::Fault;

/// Bytes passed on at a time.
pub(super) const BUFFER: usize = 16 * 1024;

/// Passes on `first` and then everything of `from`, spoiled. Returns early when the fault is to break off.
pub(super) async fn pump(
    first: &[u8],
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    fault: Fault,
) -> io::Result<()> {
    let mut passed = 0;
    let mut chunk = first.to_vec();
    loop {
        let cut = spoil(&mut chunk, passed, fault);
        to.write_all(&chunk).await?;
        if cut {
            to.flush().await?;
            if matches!(fault, Fault::StallAfter(_)) {
                return std::future::pending().await;
            }
            return Ok(());
        }
        passed += chunk.len() as u64;
        chunk.resize(BUFFER, 0);
        let count = from.read(&mut chunk).await?;
        if count == 0 {
            return Ok(());
        }
        chunk.truncate(count);
    }
}

/// Changes the bytes that start at the offset `passed`; returns true when the stream ends with them.
fn spoil(chunk: &mut Vec<u8>, passed: u64, fault: Fault) -> bool {
    let within = |offset: u64| usize::try_from(offset.saturating_sub(passed)).unwrap_or(usize::MAX);
    match fault {
        Fault::CutAfter(offset) | Fault::StallAfter(offset) if within(offset) <= chunk.len() => {
            chunk.truncate(within(offset));
            true
        }
        Fault::CorruptAt(offset) if offset >= passed => {
            if let Some(byte) = chunk.get_mut(within(offset)) {
                *byte ^= 0x55;
            }
            false
        }
        _ => false,
    }
}
