use std::fmt;
use std::net::Ipv4Addr;

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    first: u32,
    /// Bits that its addresses have in common.
    length: u8,
}

impl Block {
    /// Reads `10.0.0.0/8`. None for ranges of IPv6, of which the node has no addresses.
    pub(super) fn parse(cidr: &str) -> Option<Self> {
        let (address, length) = cidr.split_once('/')?;
        let length = length.parse().ok().filter(|length| *length <= 32)?;
        let address: Ipv4Addr = address.parse().ok()?;
        Some(Self { first: u32::from(address) & mask(length), length })
    }

    /// The ranges that are left of it without some others.
    pub(super) fn without(self, others: &[Self]) -> Vec<Self> {
        if others.iter().any(|other| other.contains(self)) {
            return Vec::new();
        }
        if self.length == 32 || !others.iter().any(|other| self.contains(*other)) {
            return vec![self];
        }
        let length = self.length + 1;
        let upper = self.first | (mask(length) ^ mask(self.length));
        [self.first, upper].iter().flat_map(|first| Self { first: *first, length }.without(others)).collect()
    }

    fn contains(self, other: Self) -> bool {
        self.length <= other.length && other.first & mask(self.length) == self.first
    }
}

impl fmt::Display for Block {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", Ipv4Addr::from(self.first), self.length)
    }
}

fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_cut_out() {
        let cases = [
            ("10.0.0.0/8", &[][..], "10.0.0.0/8"),
            ("10.1.2.3/8", &["11.0.0.0/8"], "10.0.0.0/8"),
            ("10.0.0.0/8", &["0.0.0.0/0"], ""),
            ("10.0.0.0/8", &["10.0.0.0/8"], ""),
            ("10.0.0.0/30", &["10.0.0.1/32"], "10.0.0.0/32 10.0.0.2/31"),
            ("10.0.0.0/29", &["10.0.0.0/31", "10.0.0.6/31"], "10.0.0.2/31 10.0.0.4/31"),
            ("0.0.0.0/0", &["128.0.0.0/1", "64.0.0.0/2"], "0.0.0.0/2"),
            ("10.0.0.1/32", &["10.0.0.0/32"], "10.0.0.1/32"),
        ];
        for (block, others, left) in cases {
            let others: Vec<Block> = others.iter().map(|it| Block::parse(it).unwrap()).collect();
            let all = Block::parse(block).unwrap().without(&others);
            let all: Vec<String> = all.iter().map(Block::to_string).collect();
            assert_eq!(all.join(" "), left, "{block} without {others:?}");
        }
        for other in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "fd00::/8"] {
            assert_eq!(Block::parse(other), None);
        }
    }
}
