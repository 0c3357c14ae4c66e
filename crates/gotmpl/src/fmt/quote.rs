//! Go string and character literals, like `strconv.Quote`.

use super::unicode;

/// A double-quoted Go string literal. With `ascii`, every other character is escaped too.
pub(crate) fn quote(text: &[u8], ascii: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write(&mut out, text, ascii);
    out
}

pub(crate) fn write(out: &mut Vec<u8>, text: &[u8], ascii: bool) {
    out.push(b'"');
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest
            .iter()
            .position(|b| !matches!(b, b' '..=b'~') || matches!(b, b'"' | b'\\'))
            .unwrap_or(rest.len());
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        let Some((c, length)) = unicode::decode(rest) else {
            break;
        };
        if c == unicode::REPLACEMENT && length == 1 {
            write_hex_byte(out, rest[0]);
        } else {
            write_char(out, c, '"', ascii);
        }
        rest = &rest[length..];
    }
    out.push(b'"');
}

/// The text between double quotes, for callers that hold valid text.
pub(crate) fn quote_text(text: &str) -> String {
    String::from_utf8_lossy(&quote(text.as_bytes(), false)).into_owned()
}

/// A single-quoted Go character literal.
pub(crate) fn quote_char(c: char, ascii: bool) -> Vec<u8> {
    let mut out = vec![b'\''];
    write_char(&mut out, c, '\'', ascii);
    out.push(b'\'');
    out
}

/// Whether the text can stand between back quotes on one line.
pub(crate) fn can_backquote(text: &[u8]) -> bool {
    let mut at = 0;
    while let Some((c, length)) = unicode::decode(&text[at..]) {
        let is_bad_byte = c == unicode::REPLACEMENT && length == 1;
        if is_bad_byte || c == '\u{feff}' || c == '`' || c == '\x7f' || (c < ' ' && c != '\t') {
            return false;
        }
        at += length;
    }
    true
}

fn write_char(out: &mut Vec<u8>, c: char, delimiter: char, ascii: bool) {
    if c == delimiter || c == '\\' {
        out.push(b'\\');
        unicode::push(out, c);
        return;
    }
    if unicode::is_printable(c) && (c.is_ascii() || !ascii) {
        unicode::push(out, c);
        return;
    }
    let short: &[u8] = match c {
        '\x07' => b"\\a",
        '\x08' => b"\\b",
        '\x0c' => b"\\f",
        '\n' => b"\\n",
        '\r' => b"\\r",
        '\t' => b"\\t",
        '\x0b' => b"\\v",
        _ => b"",
    };
    let code = u32::from(c);
    if !short.is_empty() {
        out.extend_from_slice(short);
    } else if code < 0x20 || code == 0x7f {
        write_hex_byte(out, code.to_le_bytes()[0]);
    } else if code < 0x10000 {
        out.extend_from_slice(format!("\\u{code:04x}").as_bytes());
    } else {
        out.extend_from_slice(format!("\\U{code:08x}").as_bytes());
    }
}

fn write_hex_byte(out: &mut Vec<u8>, byte: u8) {
    out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
}
