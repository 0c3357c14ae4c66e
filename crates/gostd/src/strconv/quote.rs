//! Go string and rune literals: `strconv.Quote` and its variants, which `%q` prints.

use crate::unicode::{self, RUNE_ERROR};

/// Which runes are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    Unprintable,
    NonAscii,
}

/// `strconv.Quote`
pub fn quote(text: &str) -> String {
    quote_bytes(text.as_bytes())
}

/// `strconv.Quote` of bytes that need not be UTF-8.
pub fn quote_bytes(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    append_quote(&mut out, text);
    into_text(out)
}

/// `strconv.AppendQuote`
pub fn append_quote(out: &mut Vec<u8>, text: &[u8]) {
    append(out, text, Escape::Unprintable);
}

/// `strconv.QuoteToASCII`
pub fn quote_to_ascii(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    append(&mut out, text, Escape::NonAscii);
    into_text(out)
}

/// `strconv.QuoteRune`
pub fn quote_rune(c: char) -> String {
    into_text(rune(c, Escape::Unprintable))
}

/// `strconv.QuoteRuneToASCII`
pub fn quote_rune_to_ascii(c: char) -> String {
    into_text(rune(c, Escape::NonAscii))
}

/// `strconv.CanBackquote`
pub fn can_backquote(text: &[u8]) -> bool {
    let mut at = 0;
    while let Some((c, width)) = unicode::decode_rune(&text[at..]) {
        let is_invalid = c == RUNE_ERROR && width == 1;
        if is_invalid || c == '\u{feff}' || c == '`' || c == '\x7f' || (c < ' ' && c != '\t') {
            return false;
        }
        at += width;
    }
    true
}

/// A literal is always UTF-8: bytes that are not are escaped.
fn into_text(literal: Vec<u8>) -> String {
    String::from_utf8(literal).unwrap_or_default()
}

fn rune(c: char, escape: Escape) -> Vec<u8> {
    let mut out = vec![b'\''];
    append_escaped_rune(&mut out, c, '\'', escape);
    out.push(b'\'');
    out
}

fn append(out: &mut Vec<u8>, text: &[u8], escape: Escape) {
    out.push(b'"');
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest
            .iter()
            .position(|b| !matches!(b, b' '..=b'~') || matches!(b, b'"' | b'\\'))
            .unwrap_or(rest.len());
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        let Some((c, width)) = unicode::decode_rune(rest) else {
            break;
        };
        if c == RUNE_ERROR && width == 1 {
            append_hex_byte(out, rest[0]);
        } else {
            append_escaped_rune(out, c, '"', escape);
        }
        rest = &rest[width..];
    }
    out.push(b'"');
}

fn append_escaped_rune(out: &mut Vec<u8>, c: char, delimiter: char, escape: Escape) {
    if c == delimiter || c == '\\' {
        out.push(b'\\');
        unicode::append_rune(out, c);
        return;
    }
    if unicode::is_print(c) && (c.is_ascii() || escape == Escape::Unprintable) {
        unicode::append_rune(out, c);
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
        append_hex_byte(out, code.to_le_bytes()[0]);
    } else if code < 0x10000 {
        out.extend_from_slice(format!("\\u{code:04x}").as_bytes());
    } else {
        out.extend_from_slice(format!("\\U{code:08x}").as_bytes());
    }
}

fn append_hex_byte(out: &mut Vec<u8>, byte: u8) {
    out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_strings_like_go() {
        assert_eq!(
            quote("a\"b\\c\n\u{1}é\u{a0}\u{200b}\u{7f}😀\u{e000}"),
            "\"a\\\"b\\\\c\\n\\x01é\\u00a0\\u200b\\x7f😀\\ue000\""
        );
        assert_eq!(quote_bytes(b"\xff\xe2\x82"), r#""\xff\xe2\x82""#);
        assert_eq!(quote_to_ascii("é😀".as_bytes()), r#""\u00e9\U0001f600""#);
    }

    #[test]
    fn quotes_runes_like_go() {
        assert_eq!(quote_rune('\''), r"'\''");
        assert_eq!(quote_rune('"'), "'\"'");
        assert_eq!(quote_rune('\u{a0}'), r"'\u00a0'");
        assert_eq!(quote_rune_to_ascii('é'), r"'\u00e9'");
    }
}
