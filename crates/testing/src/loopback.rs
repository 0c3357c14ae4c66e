//! Blocks of addresses in 127.0.0.0/8, so that servers of parallel tests can use the same ports.

use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// The port that is bound at the first address of a block while the block is in use.
const RESERVATION_PORT: u16 = 2048;

/// Random blocks that are tried before giving up.
const ATTEMPTS: usize = 100;

/// A /20 that no other test of this host uses, also of other processes.
#[derive(Debug)]
pub(crate) struct LoopbackBlock {
    base: Ipv4Addr,
    // The kernel releases it however the process ends.
    _reservation: TcpListener,
}

impl LoopbackBlock {
    pub(crate) fn reserve() -> io::Result<Self> {
        let mut result = Self::reserve_at(random_base());
        for _ in 1..ATTEMPTS {
            if result.is_ok() {
                break;
            }
            result = Self::reserve_at(random_base());
        }
        result
    }

    fn reserve_at(base: Ipv4Addr) -> io::Result<Self> {
        Ok(Self {
            base,
            _reservation: TcpListener::bind((base, RESERVATION_PORT))?,
        })
    }

    /// The address of a server, counted from 0.
    pub(crate) fn address(&self, number: u32) -> Ipv4Addr {
        debug_assert!(number < (1 << 12) - 1, "a block has 4,095 addresses");
        Ipv4Addr::from(u32::from(self.base) + 1 + number)
    }
}

/// The first address of a random block outside of 127.0.0.0/16, which examples and other programs use.
fn random_base() -> Ipv4Addr {
    let random = std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish();
    let [a, b, ..] = random.to_le_bytes();
    Ipv4Addr::new(127, a.max(1), b & 0xf0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_in_use_is_not_given_out_again() {
        let block = LoopbackBlock::reserve().unwrap();
        let error = LoopbackBlock::reserve_at(block.base).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let base = block.base;
        drop(block);
        LoopbackBlock::reserve_at(base).unwrap();
    }
}
