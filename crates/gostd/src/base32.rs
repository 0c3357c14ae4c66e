//! `encoding/base32`: the functions of `StdEncoding`.

const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// `base32.CorruptInputError`: the offset of the first illegal byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("illegal base32 data at input byte {0}")]
pub struct CorruptInputError(pub usize);

/// `StdEncoding.EncodeToString`
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for chunk in bytes.chunks(5) {
        let mut padded = [0; 8];
        padded[3..3 + chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_be_bytes(padded);
        let used = (chunk.len() * 8).div_ceil(5);
        for at in 0..8 {
            let digit = usize::try_from((bits >> (35 - 5 * at)) & 31).unwrap_or(0);
            out.push(if at < used {
                char::from(DIGITS[digit])
            } else {
                '='
            });
        }
    }
    out
}

/// `StdEncoding.DecodeString`, which skips line breaks.
pub fn decode(text: &[u8]) -> Result<Vec<u8>, CorruptInputError> {
    let is_digit = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    let digits: Vec<u8> = text.iter().copied().filter(is_digit).collect();
    decode_digits(&digits).map_err(CorruptInputError)
}

fn decode_digits(text: &[u8]) -> Result<Vec<u8>, usize> {
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
                check_padding(text, at, count)?;
                padded = true;
                break;
            }
            let digit = DIGITS
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
fn check_padding(text: &[u8], at: usize, count: usize) -> Result<(), usize> {
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
