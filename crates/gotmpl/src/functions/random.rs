//! Random functions. All randomness comes from the host.

use outrigger_gostd::{base64, unicode};

use super::args::{bytes, int};
use super::{CallResult, MAX_TEXT, fixed, too_large};
use crate::function::{Call, CallError, Function, Host, Ty};
use crate::value::Value;

const INT: Ty = Ty::Int;
const STR: Ty = Ty::String;

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const DIGITS: &[u8] = b"0123456789";
const LETTERS_AND_DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("randAlphaNum", &[INT], STR, |call, args| {
        random_text(call, args, LETTERS_AND_DIGITS)
    }),
    fixed("randAlpha", &[INT], STR, |call, args| {
        random_text(call, args, LETTERS)
    }),
    fixed("randNumeric", &[INT], STR, |call, args| {
        random_text(call, args, DIGITS)
    }),
    fixed("randAscii", &[INT], STR, |call, args| {
        let printable: Vec<u8> = (b' '..=b'~').collect();
        random_text(call, args, &printable)
    }),
    fixed("randInt", &[INT, INT], INT, random_integer),
    fixed("randBytes", &[INT], STR, random_bytes),
    fixed("shuffle", &[STR], STR, shuffle),
    fixed("uuidv4", &[], STR, uuid),
];

/// A uniformly distributed number below `bound`.
pub(super) fn below(host: &dyn Host, bound: u64) -> u64 {
    if bound < 2 {
        return 0;
    }
    // Numbers from the largest multiple of the bound on would make small results more likely.
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let mut bytes = [0; 8];
        host.fill_random(&mut bytes);
        let number = u64::from_le_bytes(bytes);
        if number < limit {
            return number % bound;
        }
    }
}

fn random_text(call: &Call<'_>, args: &[Value], alphabet: &[u8]) -> CallResult {
    let count = usize::try_from(int(args, 0)).unwrap_or(0);
    if count > MAX_TEXT {
        return Err(too_large());
    }
    call.reserve(count)?;
    // Rejection sampling: every alphabet is shorter than 128, so many bytes masked to seven bits are valid indexes.
    let mut out = Vec::with_capacity(count);
    let mut pool = [0; 64];
    while out.len() < count {
        call.host.fill_random(&mut pool);
        let chosen = pool
            .iter()
            .filter_map(|byte| alphabet.get(usize::from(byte & 0x7f)));
        out.extend(chosen.take(count - out.len()));
    }
    Ok(Value::str(out))
}

fn random_integer(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let (min, max) = (int(args, 0), int(args, 1));
    let span = max.wrapping_sub(min);
    let bound = u64::try_from(span).ok().filter(|span| *span > 0);
    let bound = bound.ok_or_else(|| CallError::returned("invalid argument to Intn"))?;
    let offset = i64::try_from(below(call.host, bound)).unwrap_or(0);
    Ok(Value::Int(min.wrapping_add(offset)))
}

fn random_bytes(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let count = usize::try_from(int(args, 0))
        .map_err(|_| CallError::returned("runtime error: makeslice: len out of range"))?;
    if count > MAX_TEXT / 2 {
        return Err(too_large());
    }
    let mut bytes = vec![0; count];
    call.host.fill_random(&mut bytes);
    Ok(Value::str(base64::encode(&bytes)))
}

/// The number of random numbers that are generated before the host is asked whether to stop.
const INTERVAL: usize = 4096;

fn shuffle(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut chars: Vec<char> = unicode::runes(bytes(args, 0)).map(|(_, c)| c).collect();
    for at in (1..chars.len()).rev() {
        if at.is_multiple_of(INTERVAL) {
            call.check_interrupt()?;
        }
        let bound = u64::try_from(at + 1).unwrap_or(1);
        let other = usize::try_from(below(call.host, bound)).unwrap_or(0);
        chars.swap(at, other);
    }
    Ok(Value::str(chars.into_iter().collect::<String>()))
}

fn uuid(call: &mut Call<'_>, _: &[Value]) -> CallResult {
    let mut bytes = [0; 16];
    call.host.fill_random(&mut bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let n = u128::from_be_bytes(bytes);
    let text = format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        n >> 96,
        (n >> 80) & 0xffff,
        (n >> 64) & 0xffff,
        (n >> 48) & 0xffff,
        n & 0xffff_ffff_ffff
    );
    Ok(Value::str(text))
}
