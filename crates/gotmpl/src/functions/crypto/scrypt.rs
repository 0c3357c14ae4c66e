//! The key derivation function scrypt (RFC 7914).

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA256};

/// Words of one Salsa20 block.
const SALSA: usize = 16;

#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Blocks kept in memory; a power of two.
    blocks: usize,
    /// Size of a block, in units of 128 bytes.
    size: usize,
    /// Lanes that are mixed one after the other.
    lanes: usize,
}

/// What the Master Password algorithm asks for: 32 MiB of memory.
pub(super) const MASTER_PASSWORD: Cost = Cost {
    blocks: 32_768,
    size: 8,
    lanes: 2,
};

pub(super) fn derive(password: &[u8], salt: &[u8], cost: Cost) -> [u8; 64] {
    let once = NonZeroU32::MIN;
    let mut lanes = vec![0; cost.lanes * cost.size * 128];
    pbkdf2::derive(PBKDF2_HMAC_SHA256, once, salt, password, &mut lanes);
    for lane in lanes.chunks_mut(cost.size * 128) {
        mix_lane(lane, cost);
    }
    let mut key = [0; 64];
    pbkdf2::derive(PBKDF2_HMAC_SHA256, once, &lanes, password, &mut key);
    key
}

fn mix_lane(lane: &mut [u8], cost: Cost) {
    let words = lane.len() / 4;
    let (encoded, _) = lane.as_chunks::<4>();
    let mut block: Vec<u32> = encoded
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect();
    let mut scratch = vec![0; words];
    let mut memory = Vec::with_capacity(cost.blocks * words);
    for _ in 0..cost.blocks {
        memory.extend_from_slice(&block);
        mix_block(&mut block, &mut scratch);
    }
    for _ in 0..cost.blocks {
        let chosen = usize::try_from(block[words - SALSA]).unwrap_or(0) % cost.blocks;
        xor(&mut block, &memory[chosen * words..(chosen + 1) * words]);
        mix_block(&mut block, &mut scratch);
    }
    for (bytes, word) in lane.chunks_exact_mut(4).zip(&block) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}

fn xor(block: &mut [u32], other: &[u32]) {
    let mut at = 0;
    while at < block.len() {
        block[at] ^= other[at];
        at += 1;
    }
}

fn mix_block(block: &mut Vec<u32>, scratch: &mut Vec<u32>) {
    let words = block.len();
    let mut state = [0; SALSA];
    state.copy_from_slice(&block[words - SALSA..]);
    for at in 0..words / SALSA {
        xor(&mut state, &block[at * SALSA..(at + 1) * SALSA]);
        salsa20_8(&mut state);
        // Even parts go to the first half, odd ones to the second.
        let target = (at / 2) * SALSA + (at % 2) * words / 2;
        scratch[target..target + SALSA].copy_from_slice(&state);
    }
    std::mem::swap(block, scratch);
}

/// Four double rounds over a square of sixteen words.
const ROUNDS: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [5, 9, 13, 1],
    [10, 14, 2, 6],
    [15, 3, 7, 11],
    [0, 1, 2, 3],
    [5, 6, 7, 4],
    [10, 11, 8, 9],
    [15, 12, 13, 14],
];

#[expect(
    clippy::many_single_char_names,
    reason = "the names of the specification"
)]
fn salsa20_8(state: &mut [u32; SALSA]) {
    let mut x = *state;
    let mut round = 0;
    while round < 32 {
        let [a, b, c, d] = ROUNDS[round % 8];
        let (mut xa, mut xb, mut xc, mut xd) = (x[a], x[b], x[c], x[d]);
        xb ^= xa.wrapping_add(xd).rotate_left(7);
        xc ^= xb.wrapping_add(xa).rotate_left(9);
        xd ^= xc.wrapping_add(xb).rotate_left(13);
        xa ^= xd.wrapping_add(xc).rotate_left(18);
        (x[a], x[b], x[c], x[d]) = (xa, xb, xc, xd);
        round += 1;
    }
    let mut at = 0;
    while at < SALSA {
        state[at] = state[at].wrapping_add(x[at]);
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derives_the_same_keys_as_other_implementations() {
        let cases = [
            ("", "", 16, 1, 1, "77d6576238657b203b19ca42c18a0497"),
            (
                "password",
                "NaCl",
                64,
                8,
                2,
                "3de56034cc30842967daf99f62c41fca",
            ),
        ];
        for (password, salt, blocks, size, lanes, expected) in cases {
            let cost = Cost {
                blocks,
                size,
                lanes,
            };
            let key = derive(password.as_bytes(), salt.as_bytes(), cost);
            let start = u128::from_be_bytes(key[..16].try_into().unwrap());
            assert_eq!(format!("{start:032x}"), expected);
        }
    }
}
