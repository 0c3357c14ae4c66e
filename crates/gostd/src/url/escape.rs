//! Percent-encoding in the parts of a URL.

use super::ParseError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Path,
    Host,
    /// The zone of an IPv6 address.
    Zone,
    UserPassword,
    Fragment,
    QueryComponent,
}

fn should_escape(byte: u8, encoding: Encoding) -> bool {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => false,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':'
        | b'[' | b']' | b'<' | b'>' | b'"'
            if matches!(encoding, Encoding::Host | Encoding::Zone) =>
        {
            false
        }
        b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' => match encoding {
            Encoding::Path => byte == b'?',
            Encoding::UserPassword => matches!(byte, b'@' | b'/' | b'?' | b':'),
            Encoding::Fragment => false,
            Encoding::Host | Encoding::Zone | Encoding::QueryComponent => true,
        },
        b'!' | b'(' | b')' | b'*' => encoding != Encoding::Fragment,
        _ => true,
    }
}

pub(super) fn escape(text: &[u8], encoding: Encoding) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if *byte == b' ' && encoding == Encoding::QueryComponent {
            out.push(b'+');
        } else if should_escape(*byte, encoding) {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        } else {
            out.push(*byte);
        }
    }
    out
}

pub(super) fn unescape(text: &[u8], encoding: Encoding) -> Result<Vec<u8>, ParseError> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    let in_host = matches!(encoding, Encoding::Host | Encoding::Zone);
    while let Some(byte) = rest.first().copied() {
        if byte != b'%' {
            if in_host && byte.is_ascii() && should_escape(byte, encoding) {
                return Err(ParseError::InvalidHostCharacter(char::from(byte)));
            }
            out.push(byte);
            rest = &rest[1..];
            continue;
        }
        let written = &rest[..rest.len().min(3)];
        let invalid = || ParseError::InvalidEscape(String::from_utf8_lossy(written).into_owned());
        let value = hex_value(written).ok_or_else(invalid)?;
        let allowed = match encoding {
            Encoding::Host => value >= 0x80 || value == b'%',
            Encoding::Zone => {
                value == b'%' || value == b' ' || !should_escape(value, Encoding::Host)
            }
            _ => true,
        };
        if !allowed {
            return Err(invalid());
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
