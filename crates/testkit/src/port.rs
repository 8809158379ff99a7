use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};

use crate::Error;

/// Below the kernel's range for outgoing connections (32768 and up), so that no client of a busy test takes a port
/// between the look and the start of its server.
const PORTS: std::ops::Range<u16> = 21_000..32_000;

/// Tries before giving up; with a few hundred ports in use a second try is rare.
const TRIES: usize = 200;

/// Finds a loopback port that nobody listens on.
///
/// # Errors
/// When none is found, which means that the machine has run out of ports.
pub fn free_port() -> Result<u16, Error> {
    for _ in 0..TRIES {
        // A new RandomState is keyed differently each time: random enough to keep test processes apart.
        let random = RandomState::new().build_hasher().finish();
        let span = u64::from(PORTS.end - PORTS.start);
        let Ok(offset) = u16::try_from(random % span) else { continue };
        let port = PORTS.start + offset;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(Error::NoPort)
}
