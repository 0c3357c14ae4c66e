//! `encoding/json`: strings, floats and decoded values as `json.Marshal` writes them, and the errors of its scanner.

mod characters;
mod syntax;

use serde_json::Value;

use crate::strconv;
use crate::unicode::{self, RUNE_ERROR};

pub use characters::replace_invalid_characters;
pub use syntax::{SyntaxError, check_valid, literal_contexts};

/// `json.Marshal` of a decoded JSON value: sorted keys, and `<`, `>` and `&` escaped.
pub fn marshal(value: &Value) -> String {
    let mut out = Vec::new();
    append_value(&mut out, value);
    into_text(out)
}

/// `json.Marshal` of a string.
pub fn marshal_string(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    append_string(&mut out, text.as_bytes(), true);
    into_text(out)
}

fn into_text(json: Vec<u8>) -> String {
    String::from_utf8(json).unwrap_or_default()
}

fn append_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (None, None, Some(x)) if append_float(out, x) => {}
            _ => out.extend_from_slice(number.to_string().as_bytes()),
        },
        Value::String(text) => append_string(out, text.as_bytes(), true),
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                append_value(out, item);
            }
            out.push(b']');
        }
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            out.push(b'{');
            for (at, (name, item)) in fields.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                append_string(out, name.as_bytes(), true);
                out.push(b':');
                append_value(out, item);
            }
            out.push(b'}');
        }
    }
}

/// Appends a string with the escapes of Go's encoder; `escape_html` is that of `Encoder.SetEscapeHTML`. Bytes that are
/// not UTF-8 become `\ufffd`.
#[inline]
pub fn append_string(out: &mut Vec<u8>, text: &[u8], escape_html: bool) {
    let is_plain = |byte: u8| match byte {
        b'"' | b'\\' | 0..0x20 | 0x80.. => false,
        b'<' | b'>' | b'&' => !escape_html,
        _ => true,
    };
    out.push(b'"');
    let mut rest = text;
    loop {
        let plain = rest
            .iter()
            .position(|byte| !is_plain(*byte))
            .unwrap_or(rest.len());
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        let Some((c, width)) = unicode::decode_rune(rest) else {
            break;
        };
        append_escaped_rune(out, c, width);
        rest = &rest[width..];
    }
    out.push(b'"');
}

fn append_escaped_rune(out: &mut Vec<u8>, c: char, width: usize) {
    let short: &[u8] = match c {
        '"' => b"\\\"",
        '\\' => b"\\\\",
        '\x08' => b"\\b",
        '\x0c' => b"\\f",
        '\n' => b"\\n",
        '\r' => b"\\r",
        '\t' => b"\\t",
        '\u{2028}' => b"\\u2028",
        '\u{2029}' => b"\\u2029",
        RUNE_ERROR if width == 1 => b"\\ufffd",
        c if c.is_ascii() => {
            out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
            return;
        }
        c => {
            unicode::append_rune(out, c);
            return;
        }
    };
    out.extend_from_slice(short);
}

/// Appends a float in Go's JSON form. Returns false, and appends nothing, for numbers that JSON has no form for.
pub fn append_float(out: &mut Vec<u8>, x: f64) -> bool {
    if !x.is_finite() {
        return false;
    }
    let magnitude = x.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        strconv::append_float(out, x, b'f', None);
        return true;
    }
    strconv::append_float(out, x, b'e', None);
    // `e-09` becomes `e-9`.
    if let [.., b'e', b'-', b'0', _] = out[..] {
        out.remove(out.len() - 2);
    }
    true
}

/// A float in Go's JSON form; `None` for numbers that JSON has no form for.
pub fn format_float(x: f64) -> Option<String> {
    let mut out = Vec::new();
    append_float(&mut out, x).then(|| into_text(out))
}

/// The byte that a `json.SyntaxError` complains about, in quotes, as in `invalid character '}' after array element`.
pub fn quote_char(byte: u8) -> String {
    strconv::quote_rune(char::from(byte))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn escapes_html_and_sorts_keys() {
        assert_eq!(
            marshal(&json!({"b": "<&>\u{2028}\u{1}", "a": 1.0e30, "c": [1.5e-7, null]})),
            r#"{"a":1e+30,"b":"\u003c\u0026\u003e\u2028\u0001","c":[1.5e-7,null]}"#
        );
    }

    #[test]
    fn quotes_bytes_of_syntax_errors_like_go() {
        for (byte, expected) in [
            (b'\'', r"'\''"),
            (b'"', "'\"'"),
            (b'\\', r"'\\'"),
            (0, r"'\x00'"),
            (0x85, r"'\u0085'"),
            (0xe9, "'é'"),
        ] {
            assert_eq!(quote_char(byte), expected);
        }
    }
}
