//! Percent encoding in the parts of a URL.

use crate::fmt::quote::quote_text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    Host,
    /// The zone of an IPv6 address.
    Zone,
    User,
    Fragment,
}

fn must_escape(byte: u8, part: Part) -> bool {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => false,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':'
        | b'[' | b']' | b'<' | b'>' | b'"'
            if matches!(part, Part::Host | Part::Zone) =>
        {
            false
        }
        b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' => match part {
            Part::Path => byte == b'?',
            Part::User => matches!(byte, b'@' | b'/' | b'?' | b':'),
            Part::Fragment => false,
            Part::Host | Part::Zone => true,
        },
        b'!' | b'(' | b')' | b'*' => part != Part::Fragment,
        _ => true,
    }
}

pub(super) fn escaped(text: &[u8], part: Part) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if must_escape(*byte, part) {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        } else {
            out.push(*byte);
        }
    }
    out
}

pub(super) fn unescaped(text: &[u8], part: Part) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    let in_host = matches!(part, Part::Host | Part::Zone);
    while let Some(byte) = rest.first().copied() {
        if byte != b'%' {
            if in_host && byte.is_ascii() && must_escape(byte, part) {
                let shown = quote_text(&char::from(byte).to_string());
                return Err(format!("invalid character {shown} in host name"));
            }
            out.push(byte);
            rest = &rest[1..];
            continue;
        }
        let written = &rest[..rest.len().min(3)];
        let refused = || {
            let shown = quote_text(&String::from_utf8_lossy(written));
            Err(format!("invalid URL escape {shown}"))
        };
        let Some(value) = hex_value(written) else {
            return refused();
        };
        let allowed = match part {
            Part::Host => value >= 0x80 || value == b'%',
            Part::Zone => value == b'%' || value == b' ' || !must_escape(value, Part::Host),
            _ => true,
        };
        if !allowed {
            return refused();
        }
        out.push(value);
        rest = &rest[3..];
    }
    Ok(out)
}

fn hex_value(written: &[u8]) -> Option<u8> {
    let [_, high, low] = written else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let value = digit(*high)? * 16 + digit(*low)?;
    u8::try_from(value).ok()
}
