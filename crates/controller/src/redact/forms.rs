//! The forms that the template engine gives a value: quoted, escaped, encoded, and as a float.
//!
//! These are the results of one function or verb of `printf` that keeps all of the value, so that it can be read from them:
//!
//! | function | here |
//! | --- | --- |
//! | `quote`, `squote`, `printf "%q"`, `%+q`, `%#q` | Go literals, without their quotes |
//! | `toJson`, `toPrettyJson`, `toRawJson`, `toToml` | JSON literals, with and without escapes for HTML |
//! | `toYaml` | single quotes are doubled; its other literals are those of JSON |
//! | `html`, `js`, `urlquery`, `regexQuoteMeta` | their escapes |
//! | `b64enc` | also of a longer text with the value in it, such as `user:password` |
//! | `b32enc`, `printf "%x"`, `%X`, `% x`, `%#x` | whole, and as bytes apart |
//! | `upper`, `lower`, `title`, `untitle`, `swapcase` | the redactor ignores the case; these are for letters that are not ASCII |
//! | `nospace` | without spaces |
//!
//! Not here: what is no longer the value. That is a part (`trunc`, `substr`, `abbrev`, `initials`), a sum or a cipher (`sha256sum`,
//! `htpasswd`, `encryptAES`, `derivePassword`), words put together in another way (`camelcase`, `snakecase`, `kebabcase`), and whatever
//! a chart composes out of several functions. `indent`, `wrap`, `cat`, `join` and the like leave lines or words of the value as they are.

use outrigger_gostd::{base32, base64, json, regexp, strconv, template, url};
use serde_json::Number;

/// Shorter pieces of base64 are words.
const MIN_PIECE: usize = 6;

/// A text as it is, and as the functions of templates and the verbs of `printf` write it.
pub(super) fn of_text(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut raw_json = Vec::new();
    json::append_string(&mut raw_json, bytes, false);
    let mut forms = vec![
        text.to_owned(),
        unquoted(&strconv::quote(text)),
        unquoted(&strconv::quote_to_ascii(bytes)),
        unquoted(&json::marshal_string(text)),
        unquoted(&lossy(&raw_json)),
        lossy(&template::html_escape(bytes)),
        lossy(&template::js_escape(bytes)),
        lossy(&url::query_escape(bytes)),
        lossy(&regexp::quote_meta(bytes)),
        text.replace('\'', "''"),
        text.to_uppercase(),
        text.to_lowercase(),
        text.split_whitespace().collect(),
        base64::encode(bytes).trim_end_matches('=').to_owned(),
        base32::encode(bytes).trim_end_matches('=').to_owned(),
        hex(bytes, ""),
        hex(bytes, " "),
        hex(bytes, " 0x"),
    ];
    forms.extend((0..3).map(|offset| piece_of_base64(bytes, offset)));
    forms.retain(|form| !form.is_empty());
    forms
}

/// A number as it is, and as a float: those in values are floats.
pub(super) fn of_number(number: &Number) -> Vec<String> {
    let mut forms = vec![number.to_string()];
    if let Some(x) = number.as_f64() {
        forms.extend(b"efg".map(|format| strconv::format_float(x, format, None)));
    }
    forms
}

/// A literal without the quotes around it.
fn unquoted(literal: &str) -> String {
    let inner = literal.strip_prefix('"');
    let inner = inner.and_then(|inner| inner.strip_suffix('"'));
    inner.unwrap_or(literal).to_owned()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn hex(bytes: &[u8], separator: &str) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(separator)
}

/// The digits in the base64 of a longer text that depend on the value alone, if the value begins `offset` bytes, modulo 3,
/// after the beginning of the text.
fn piece_of_base64(bytes: &[u8], offset: usize) -> String {
    let encoded = base64::encode(&[&[0; 2][..offset], bytes].concat());
    let first = (offset * 8).div_ceil(6);
    let end = (offset + bytes.len()) * 8 / 6;
    let piece = encoded.get(first..end).unwrap_or_default();
    if piece.len() < MIN_PIECE {
        return String::new();
    }
    piece.to_owned()
}
