//! Standard base64, read as forgivingly and written in lines as go-yaml does.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Line breaks are skipped; the padding must be there.
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\n' | b'\r'))
        .collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3);
    let groups = digits.len() / 4;
    for (index, group) in digits.chunks_exact(4).enumerate() {
        let padding = match group {
            [_, _, b'=', b'='] => 2,
            [_, _, _, b'='] => 1,
            _ => 0,
        };
        if padding != 0 && index + 1 != groups {
            return None;
        }
        let mut bits = 0_u32;
        for &digit in &group[..4 - padding] {
            bits = (bits << 6) | value(digit)?;
        }
        bits <<= 6 * padding;
        out.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    Some(out)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

/// In lines of 70 digits, each with its line break, if there is more than one.
pub(crate) fn encode_in_lines(bytes: &[u8]) -> String {
    const LINE: usize = 70;
    let mut digits = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut bits = 0_u32;
        for at in 0..3 {
            bits = (bits << 8) | u32::from(group.get(at).copied().unwrap_or(0));
        }
        for at in 0..4 {
            if at <= group.len() {
                let digit = (bits >> (18 - 6 * at)) & 0x3F;
                digits.push(char::from(ALPHABET[usize::try_from(digit).unwrap_or(0)]));
            } else {
                digits.push('=');
            }
        }
    }
    if digits.len() < LINE {
        return digits;
    }
    let mut lines = String::with_capacity(digits.len() + digits.len() / LINE + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && at % LINE == 0 {
            lines.push('\n');
        }
        lines.push(digit);
    }
    lines.push('\n');
    lines
}
