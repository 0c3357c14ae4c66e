//! AES-CBC; the key is the password, truncated or zero-padded to 32 bytes.

use aws_lc_rs::cipher::{
    AES_256, DecryptingKey, DecryptionContext, EncryptingKey, UnboundCipherKey,
};

use outrigger_gostd::base64;

use crate::function::{Call, CallError};
use crate::functions::args::bytes;
use crate::functions::{CallResult, MAX_TEXT, too_large};
use crate::value::Value;

const BLOCK: usize = 16;

fn unbound_key(password: &[u8]) -> Result<UnboundCipherKey, CallError> {
    let mut key = [0; 32];
    let used = password.len().min(key.len());
    key[..used].copy_from_slice(&password[..used]);
    UnboundCipherKey::new(&AES_256, &key).map_err(|_| cipher_error())
}

fn cipher_error() -> CallError {
    CallError::returned("cipher error")
}

pub(super) fn encrypt(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let text = bytes(args, 1);
    if text.is_empty() {
        return Ok(Value::str(""));
    }
    if text.len() > MAX_TEXT / 2 {
        return Err(too_large());
    }
    let key = EncryptingKey::ecb(unbound_key(bytes(args, 0))?).map_err(|_| cipher_error())?;
    let mut previous = [0; BLOCK];
    call.host.fill_random(&mut previous);
    let padding = BLOCK - text.len() % BLOCK;
    let mut padded = text.to_vec();
    padded.resize(text.len() + padding, u8::try_from(padding).unwrap_or(0));
    let mut out = previous.to_vec();
    for block in padded.chunks_exact_mut(BLOCK) {
        for (byte, other) in block.iter_mut().zip(previous) {
            *byte ^= other;
        }
        key.encrypt(block).map_err(|_| cipher_error())?;
        previous.copy_from_slice(block);
        out.extend_from_slice(block);
    }
    Ok(Value::str(base64::encode(&out)))
}

/// Sprig checks nothing, so invalid input panics in Go or results in garbage.
pub(super) fn decrypt(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let encoded = bytes(args, 1);
    if encoded.is_empty() {
        return Ok(Value::str(""));
    }
    let bytes_in =
        base64::decode(encoded).map_err(|error| CallError::returned(error.to_string()))?;
    let Some((iv, body)) = bytes_in.split_at_checked(BLOCK) else {
        let capacity = encoded.len() / 4 * 3;
        return Err(CallError::returned(format!(
            "runtime error: slice bounds out of range [:16] with capacity {capacity}"
        )));
    };
    if body.len() % BLOCK != 0 {
        return Err(CallError::returned("crypto/cipher: input not full blocks"));
    }
    let key = DecryptingKey::ecb(unbound_key(bytes(args, 0))?).map_err(|_| cipher_error())?;
    let mut out = Vec::with_capacity(body.len());
    let mut previous = iv;
    for block in body.chunks_exact(BLOCK) {
        let mut plain = block.to_vec();
        key.decrypt(&mut plain, DecryptionContext::None)
            .map_err(|_| cipher_error())?;
        out.extend(plain.iter().zip(previous).map(|(byte, other)| byte ^ other));
        previous = block;
    }
    let Some(padding) = out.last().copied() else {
        return Err(CallError::returned(
            "runtime error: index out of range [-1]",
        ));
    };
    let Some(length) = out.len().checked_sub(usize::from(padding)) else {
        let missing = usize::from(padding) - out.len();
        return Err(CallError::returned(format!(
            "runtime error: slice bounds out of range [:-{missing}]"
        )));
    };
    out.truncate(length);
    Ok(Value::str(out))
}
