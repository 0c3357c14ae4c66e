//! DSA keys, for `genPrivateKey "dsa"`.

use num_bigint::BigUint;

use super::der::{self, Reader};
use crate::function::{Call, CallError, Host};

/// The sizes of the primes p and q in bits.
pub(super) const SIZES: (u64, u64) = (2048, 256);

/// Rounds of the Miller-Rabin test; each accepts at most a quarter of the composite numbers.
const ROUNDS: usize = 32;

#[derive(Debug)]
pub(super) struct DsaKey {
    /// p, q, g, y and x, in the order of the encoding.
    numbers: [BigUint; 5],
}

impl DsaKey {
    #[cfg(test)]
    pub(super) fn numbers(&self) -> &[BigUint; 5] {
        &self.numbers
    }

    pub(super) fn to_der(&self) -> Vec<u8> {
        let mut parts = vec![der::integer(&[0])];
        parts.extend(
            self.numbers
                .iter()
                .map(|number| der::integer(&number.to_bytes_be())),
        );
        der::element(der::SEQUENCE, &parts.concat())
    }

    pub(super) fn from_der(bytes: &[u8]) -> Option<Self> {
        let mut key = Reader::sequence(bytes)?;
        key.expect(der::INTEGER)?;
        let mut next = || Some(BigUint::from_bytes_be(key.expect(der::INTEGER)?.contents));
        let numbers = [next()?, next()?, next()?, next()?, next()?];
        Some(Self { numbers })
    }
}

/// A new key with primes of the given sizes.
pub(super) fn generate(call: &Call<'_>, (p_bits, q_bits): (u64, u64)) -> Result<DsaKey, CallError> {
    let host = call.host;
    let one = BigUint::from(1_u32);
    let (p, q) = primes(call, p_bits, q_bits)?;
    let exponent = (&p - &one) / &q;
    let generator = (2_u32..1000)
        .map(|base| BigUint::from(base).modpow(&exponent, &p))
        .find(|candidate| *candidate != one)
        .unwrap_or_else(|| one.clone());
    let secret = loop {
        let candidate = random(host, q_bits);
        if candidate < q && candidate != BigUint::ZERO {
            break candidate;
        }
    };
    let public = generator.modpow(&secret, &p);
    Ok(DsaKey {
        numbers: [p, q, generator, public, secret],
    })
}

/// Two primes p and q such that q divides p - 1.
fn primes(call: &Call<'_>, p_bits: u64, q_bits: u64) -> Result<(BigUint, BigUint), CallError> {
    let host = call.host;
    let one = BigUint::from(1_u32);
    loop {
        let mut q = random(host, q_bits);
        q.set_bit(0, true);
        q.set_bit(q_bits - 1, true);
        if !is_prime(host, &q) {
            continue;
        }
        for _ in 0..4 * p_bits {
            call.check_interrupt()?;
            let mut p = random(host, p_bits);
            p.set_bit(0, true);
            p.set_bit(p_bits - 1, true);
            let rest = &p % (&q << 1_u32);
            let p = p + &one - rest;
            if p.bits() == p_bits && is_prime(host, &p) {
                return Ok((p, q));
            }
        }
    }
}

fn random(host: &dyn Host, bits: u64) -> BigUint {
    let mut bytes = vec![0; usize::try_from(bits.div_ceil(8)).unwrap_or(0)];
    host.fill_random(&mut bytes);
    let number = BigUint::from_bytes_be(&bytes);
    let excess = u64::try_from(bytes.len()).unwrap_or(0) * 8 - bits;
    number >> excess
}

fn is_prime(host: &dyn Host, n: &BigUint) -> bool {
    let (one, two) = (BigUint::from(1_u32), BigUint::from(2_u32));
    let has_small_factor = (3_u32..2000)
        .step_by(2)
        .any(|factor| n % factor == BigUint::ZERO && *n != BigUint::from(factor));
    if has_small_factor || !n.bit(0) || *n < BigUint::from(5_u32) {
        return *n == two || *n == BigUint::from(3_u32);
    }
    let before = n - &one;
    let twos = before.trailing_zeros().unwrap_or(0);
    let odd = &before >> twos;
    (0..ROUNDS).all(|_| {
        let base = random(host, n.bits()) % (n - &two) + &two;
        let mut power = base.modpow(&odd, n);
        if power == one || power == before {
            return true;
        }
        for _ in 1..twos {
            power = power.modpow(&two, n);
            if power == before {
                return true;
            }
        }
        false
    })
}
