//! IPv4 address blocks, and which of them overlap.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// An IPv4 address block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cidr {
    first: u32,
    length: u8,
}

impl Cidr {
    fn last(self) -> u32 {
        self.first | u32::MAX.checked_shr(u32::from(self.length)).unwrap_or(0)
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.first <= other.last() && other.first <= self.last()
    }

    pub(crate) fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.last() <= self.last()
    }

    /// The address at a position in the block.
    pub(crate) fn address(self, position: u32) -> Option<Ipv4Addr> {
        let address = self.first.checked_add(position)?;
        (address <= self.last()).then(|| address.into())
    }
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(address, length)| {
            let address: Ipv4Addr = address.parse().ok()?;
            let length: u8 = length.parse().ok().filter(|length| *length <= 32)?;
            Some((u32::from(address), length))
        });
        let (address, length) = parsed.ok_or_else(|| format!("{text:?} is not a CIDR block"))?;
        let mask = u32::MAX.checked_shl(u32::from(32 - length)).unwrap_or(0);
        if address & !mask != 0 {
            return Err(format!(
                "{text:?} has bits set after the prefix; use {}/{length}",
                Ipv4Addr::from(address & mask)
            ));
        }
        Ok(Self {
            first: address,
            length,
        })
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.first), self.length)
    }
}

/// Messages about named blocks that overlap.
pub(crate) fn overlaps(blocks: &[(String, Cidr)]) -> Vec<String> {
    let pairs = blocks
        .iter()
        .enumerate()
        .flat_map(|(position, one)| blocks[..position].iter().map(move |other| (other, one)));
    let overlapping = pairs.filter(|(one, other)| one.1.overlaps(other.1));
    overlapping
        .map(|(one, other)| format!("{} {} overlaps {} {}", one.0, one.1, other.0, other.1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_parsed_and_compared() {
        let cidr = |text: &str| text.parse::<Cidr>().unwrap();
        assert!(cidr("10.0.0.0/16").overlaps(cidr("10.0.255.0/24")));
        assert!(!cidr("10.0.0.0/16").overlaps(cidr("10.1.0.0/16")));
        assert!(cidr("0.0.0.0/0").contains(cidr("255.255.255.255/32")));
        assert_eq!(cidr("10.0.0.0/30").address(4), None);
        for invalid in [
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0.1/24",
            "x/8",
            "10.0.0.0/-1",
        ] {
            assert!(invalid.parse::<Cidr>().is_err(), "{invalid}");
        }
    }
}
