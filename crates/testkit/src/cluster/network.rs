use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::Ipv4Addr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::{Error, command};

static START: OnceLock<u8> = OnceLock::new();
static NEXT: AtomicU8 = AtomicU8::new(0);

/// The addresses of one cluster: this machine and the node at the ends of a cable, and the Pods behind the node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network {
    number: u8,
}

impl Network {
    /// Takes a network that no device of this machine has.
    pub(super) fn unused() -> Result<Self, Error> {
        let devices = command::run("ip", &["-o", "-4", "addr"], b"")?;
        Self::all().find(|it| !devices.contains(&format!(" {}/", it.host()))).ok_or(Error::NoPort)
    }

    /// Returns all networks, each time with another one first: two clusters that start at once look before either has a device.
    fn all() -> impl Iterator<Item = Self> {
        // Keyed differently in each process: random enough to keep processes apart.
        let start = START.get_or_init(|| RandomState::new().build_hasher().finish().to_le_bytes()[0]);
        let start = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        (0..=u8::MAX).map(move |step| Self { number: start.wrapping_add(step) })
    }

    /// This machine.
    pub(super) fn host(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 213, self.number, 1)
    }

    /// The node, which serves DNS too.
    pub(super) fn node(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 213, self.number, 2)
    }

    /// The range of Pods.
    pub(super) fn pods(self) -> String {
        format!("10.214.{}.0/24", self.number)
    }

    /// This machine's end of the cable.
    pub(super) fn device(self) -> String {
        format!("weir{}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn clusters_that_start_at_once_take_different_networks() {
        let first = || Network::all().next().unwrap().number;
        let taken: BTreeSet<u8> = std::iter::repeat_with(first).take(200).collect();
        assert_eq!(taken.len(), 200);
        assert_eq!(Network::all().map(|it| it.number).collect::<BTreeSet<_>>().len(), 256);
    }
}
