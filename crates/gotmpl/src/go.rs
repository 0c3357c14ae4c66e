//! Go's ways of writing things, for those who use this crate: quotes, YAML, base64, digests.

use aws_lc_rs::digest;

use crate::fmt::{quote as literal, unicode};
use crate::functions::base64 as standard;
use crate::value::Value;

/// `%q` of a string.
pub fn quote(text: &str) -> String {
    literal::quote_text(text)
}

/// `%q` of a character.
pub fn quote_char(c: char) -> String {
    String::from_utf8_lossy(&literal::quote_char(c, false)).into_owned()
}

/// `%v`, with U+FFFD where the bytes are not UTF-8.
pub fn display(value: &Value) -> String {
    crate::fmt::display_text(value)
}

/// What `toYaml` prints: no line break at the end, nothing for a value that has no YAML form.
pub fn yaml(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    crate::yaml::append_yaml(&mut out, value);
    out
}

/// Standard base64 with padding.
pub fn base64(bytes: &[u8]) -> Vec<u8> {
    standard::encode(bytes)
}

/// The SHA-256 digest in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, bytes);
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// `unicode.IsPrint`
pub fn is_printable(c: char) -> bool {
    unicode::is_printable(c)
}

/// `unicode.IsSpace`
pub fn is_space(c: char) -> bool {
    unicode::is_space(c)
}
