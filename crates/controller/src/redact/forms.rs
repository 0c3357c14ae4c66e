//! The forms that the template engine gives a value: quoted, escaped, encoded, and as a float.

use outrigger_gostd::{base64, json, strconv};
use serde_json::Number;

/// A text as it is, and as the functions of templates and the verbs of `printf` write it.
pub(super) fn of_text(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut raw_json = Vec::new();
    json::append_string(&mut raw_json, bytes, false);
    let forms = [
        text.to_owned(),
        unquoted(&strconv::quote(text)),
        unquoted(&strconv::quote_to_ascii(bytes)),
        unquoted(&json::marshal_string(text)),
        unquoted(&lossy(&raw_json)),
        html(text),
        js(text),
        url_query(bytes),
        // Single quotes in YAML.
        text.replace('\'', "''"),
        text.to_uppercase(),
        text.to_lowercase(),
        unpadded_base64(bytes),
        hex(bytes),
        hex(bytes).to_uppercase(),
    ];
    forms.into_iter().filter(|form| !form.is_empty()).collect()
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

fn unpadded_base64(bytes: &[u8]) -> String {
    base64::encode(bytes).trim_end_matches('=').to_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As `html` of templates.
fn html(text: &str) -> String {
    let escape = |c: char| match c {
        '"' => "&#34;".to_owned(),
        '\'' => "&#39;".to_owned(),
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(escape).collect()
}

/// As `js` of templates.
fn js(text: &str) -> String {
    let escape = |c: char| match c {
        '\\' | '\'' | '"' => format!("\\{c}"),
        '<' | '>' | '&' | '=' => format!("\\u{:04X}", u32::from(c)),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        other => other.to_string(),
    };
    text.chars().map(escape).collect()
}

/// As `urlquery` of templates.
fn url_query(bytes: &[u8]) -> String {
    let escape = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(*byte).to_string()
        }
        b' ' => "+".to_owned(),
        other => format!("%{other:02X}"),
    };
    bytes.iter().map(escape).collect()
}
