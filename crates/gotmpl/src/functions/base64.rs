//! Standard base64 with padding, as Go's `base64.StdEncoding` writes and reads it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |shift: u32| ALPHABET[usize::try_from((bits >> shift) & 63).unwrap_or(0)];
        out.push(digit(18));
        out.push(digit(12));
        out.push(if chunk.len() > 1 { digit(6) } else { b'=' });
        out.push(if chunk.len() > 2 { digit(0) } else { b'=' });
    }
    out
}

/// The decoded bytes, or the offset of the first byte that is wrong. Line breaks are skipped.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    loop {
        let mut bits: u32 = 0;
        let mut count = 0;
        while count < 4 {
            let Some(byte) = text.get(at).copied() else {
                return if count == 0 { Ok(out) } else { Err(at - count) };
            };
            at += 1;
            if byte == b'\n' || byte == b'\r' {
                continue;
            }
            if let Some(digit) = digit(byte) {
                bits = bits << 6 | digit;
                count += 1;
                continue;
            }
            if byte != b'=' {
                return Err(at - 1);
            }
            check_padding(text, at, count)?;
            let [_, first, second, _] = (bits << (6 * (4 - count))).to_be_bytes();
            out.push(first);
            if count == 3 {
                out.push(second);
            }
            return Ok(out);
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
}

/// What may stand behind the first `=`, which is at `at - 1` after `count` digits of a group.
fn check_padding(text: &[u8], at: usize, count: usize) -> Result<(), usize> {
    if count < 2 {
        return Err(at - 1);
    }
    let is_break = |byte: u8| byte == b'\n' || byte == b'\r';
    let skip = |mut at: usize| {
        while text.get(at).copied().is_some_and(is_break) {
            at += 1;
        }
        at
    };
    let mut at = at;
    if count == 2 {
        at = skip(at);
        match text.get(at) {
            None => return Err(text.len()),
            Some(b'=') => at += 1,
            Some(_) => return Err(at - 1),
        }
    }
    at = skip(at);
    if at < text.len() { Err(at) } else { Ok(()) }
}

fn digit(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
