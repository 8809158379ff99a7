use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::Error;

/// Below the kernel's range for outgoing connections (32768 and up), so that no client of a busy test takes a port
/// between the look and the start of its server.
const PORTS: Range<u16> = 21_000..32_000;

/// Ports of one process: more than its servers have at a time.
const BLOCK: u16 = 500;

static OWN: OnceLock<Option<Block>> = OnceLock::new();

/// The ports that this process alone hands out: of two that look at one port at the same time, both find it free.
struct Block {
    first: u16,
    next: AtomicU16,
    /// Other processes leave the block alone for as long as this one lives.
    _lock: File,
}

impl Block {
    fn take() -> Option<Self> {
        // Each user has a folder: nobody may write in that of another.
        let user = std::fs::metadata("/proc/self").ok()?.uid();
        let folder = std::env::temp_dir().join(format!("weir-test-ports-{user}"));
        std::fs::create_dir_all(&folder).ok()?;
        PORTS.step_by(BLOCK.into()).find_map(|first| {
            let lock = File::create(folder.join(first.to_string())).ok()?;
            lock.try_lock().ok()?;
            Some(Self { first, next: AtomicU16::new(0), _lock: lock })
        })
    }
}

/// Finds a loopback port that nobody listens on.
///
/// # Errors
/// When none is found, which means that the machine has run out of ports.
pub fn free_port() -> Result<u16, Error> {
    let block = OWN.get_or_init(Block::take).as_ref().ok_or(Error::NoPort)?;
    // One after the other, so that no port is handed out twice before its server has taken it.
    let mut ports = (0..BLOCK).map(|_| block.first + block.next.fetch_add(1, Ordering::Relaxed) % BLOCK);
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports.find(is_free).ok_or(Error::NoPort)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_take_ports_from_blocks_of_their_own() {
        let (one, other) = (Block::take().unwrap(), Block::take().unwrap());
        assert_ne!(one.first, other.first);
        let (first, next) = (free_port().unwrap(), free_port().unwrap());
        assert_ne!(first, next);
        assert!(![one.first, other.first].contains(&(first - (first - PORTS.start) % BLOCK)));
    }
}
