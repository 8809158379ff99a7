use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::Ipv4Addr;

use crate::{Error, command};

/// The addresses of one cluster: this machine and the node at the ends of a cable, and the Pods behind the node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network {
    number: u8,
}

impl Network {
    /// Takes a network that no device of this machine has.
    pub(super) fn unused() -> Result<Self, Error> {
        let devices = command::run("ip", &["-o", "-4", "addr"], b"")?;
        let [start, ..] = RandomState::new().build_hasher().finish().to_le_bytes();
        let mut networks = (0..=u8::MAX).map(|step| Self { number: start.wrapping_add(step) });
        networks.find(|it| !devices.contains(&format!(" {}/", it.host()))).ok_or(Error::NoPort)
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
