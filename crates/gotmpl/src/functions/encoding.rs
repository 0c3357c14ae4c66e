//! Base64, base32 and checksums.

use aws_lc_rs::digest;

use outrigger_gostd::{base32, base64};

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
        Ok(Value::str(base32::encode(bytes(args, 0))))
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

/// Returns errors as text.
fn decode_base32(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(match base32::decode(bytes(args, 0)) {
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
