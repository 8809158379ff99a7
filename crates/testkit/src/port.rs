use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;

/// Below the kernel's range for outgoing connections (32768 and up), so that no client of a busy test takes a port
/// between the look and the start of its server.
const PORTS: std::ops::Range<u16> = 21_000..32_000;

static START: OnceLock<u64> = OnceLock::new();
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Tries before giving up; with a few hundred ports in use a second try is rare.
const TRIES: usize = 200;

/// Finds a loopback port that nobody listens on.
///
/// # Errors
/// When none is found, which means that the machine has run out of ports.
pub fn free_port() -> Result<u16, Error> {
    // Keyed differently in each process: random enough to keep test processes apart.
    let start = START.get_or_init(|| RandomState::new().build_hasher().finish());
    for _ in 0..TRIES {
        // One after the other, so that no port is handed out twice before its server has taken it.
        let random = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let span = u64::from(PORTS.end - PORTS.start);
        let Ok(offset) = u16::try_from(random % span) else { continue };
        let port = PORTS.start + offset;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(Error::NoPort)
}
