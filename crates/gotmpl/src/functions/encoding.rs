//! Base64, base32 and checksums.

use aws_lc_rs::digest;

use outrigger_gostd::base64;

use super::args::bytes;
use super::{CallResult, fixed};
use crate::function::{Call, Function, Ty};
use crate::value::Value;

const STR: Ty = Ty::String;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("b64enc", &[STR], STR, |_, args| {
        Ok(Value::str(base64::encode(bytes(args, 0))))
    }),
    fixed("b64dec", &[STR], STR, decode_base64),
    fixed("b32enc", &[STR], STR, |_, args| {
        Ok(Value::str(encode_base32(bytes(args, 0))))
    }),
    fixed("b32dec", &[STR], STR, decode_base32),
    fixed("sha1sum", &[STR], STR, |_, args| {
        Ok(hex_digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, args))
    }),
    fixed("sha256sum", &[STR], STR, |_, args| {
        Ok(hex_digest(&digest::SHA256, args))
    }),
    fixed("sha512sum", &[STR], STR, |_, args| {
        Ok(hex_digest(&digest::SHA512, args))
    }),
    fixed("adler32sum", &[STR], STR, |_, args| {
        Ok(Value::str(adler32(bytes(args, 0)).to_string()))
    }),
];

/// Returns errors as text.
fn decode_base64(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(match base64::decode(bytes(args, 0)) {
        Ok(decoded) => Value::str(decoded),
        Err(error) => Value::str(error.to_string()),
    })
}

fn hex_digest(algorithm: &'static digest::Algorithm, args: &[Value]) -> Value {
    let digest = digest::digest(algorithm, bytes(args, 0));
    let mut out = Vec::with_capacity(2 * digest.as_ref().len());
    for byte in digest.as_ref() {
        for half in [byte >> 4, byte & 15] {
            out.push(if half < 10 {
                b'0' + half
            } else {
                b'a' + half - 10
            });
        }
    }
    Value::str(out)
}

fn adler32(text: &[u8]) -> u32 {
    let (mut a, mut b) = (1_u32, 0_u32);
    // The sums of this many bytes do not overflow.
    for chunk in text.chunks(5552) {
        for byte in chunk {
            a += u32::from(*byte);
            b += a;
        }
        a %= 65521;
        b %= 65521;
    }
    b << 16 | a
}

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn encode_base32(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len().div_ceil(5) * 8);
    for chunk in text.chunks(5) {
        let mut padded = [0; 8];
        padded[3..3 + chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_be_bytes(padded);
        let used = (chunk.len() * 8).div_ceil(5);
        for at in 0..8 {
            let digit = usize::try_from((bits >> (35 - 5 * at)) & 31).unwrap_or(0);
            out.push(if at < used { BASE32[digit] } else { b'=' });
        }
    }
    out
}

fn decode_base32(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let text: Vec<u8> = bytes(args, 0)
        .iter()
        .copied()
        .filter(|b| !matches!(b, b'\r' | b'\n'))
        .collect();
    Ok(match base32_bytes(&text) {
        Ok(decoded) => Value::str(decoded),
        Err(at) => Value::str(format!("illegal base32 data at input byte {at}")),
    })
}

fn base32_bytes(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 8 * 5);
    let mut at = 0;
    while at < text.len() {
        let mut bits: u64 = 0;
        let mut count = 0;
        let mut padded = false;
        while count < 8 {
            let Some(byte) = text.get(at).copied() else {
                return Err(at - count);
            };
            at += 1;
            if byte == b'=' && count >= 2 && text.len() - at < 8 {
                check_base32_padding(text, at, count)?;
                padded = true;
                break;
            }
            let digit = BASE32
                .iter()
                .position(|letter| *letter == byte)
                .ok_or(at - 1)?;
            bits = bits << 5 | u64::try_from(digit).unwrap_or(0);
            count += 1;
        }
        let aligned = bits << (5 * (8 - count));
        let bytes = &aligned.to_be_bytes()[3..];
        out.extend_from_slice(&bytes[..count * 5 / 8]);
        if padded {
            break;
        }
    }
    Ok(out)
}

/// Checks the bytes after the first `=`, which is at `at - 1` after `count` digits of a group.
fn check_base32_padding(text: &[u8], at: usize, count: usize) -> Result<(), usize> {
    let rest = &text[at..];
    if rest.len() + count < 7 {
        return Err(text.len());
    }
    if let Some(invalid) = rest.iter().take(7 - count).position(|byte| *byte != b'=') {
        return Err(at + invalid - 1);
    }
    if matches!(count, 3 | 6) {
        return Err(at - 1);
    }
    Ok(())
}
