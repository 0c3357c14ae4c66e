//! Go's `%q` and `%#U`, and the characters that make up names, for messages and for the lexer.

use crate::fmt::{quote, unicode};

/// `strconv.Quote`.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&quote::quote(bytes, false)).into_owned()
}

/// The first character and its length; U+FFFD where the bytes are not UTF-8, length 0 at the end.
pub(crate) fn decode(bytes: &[u8]) -> (char, usize) {
    unicode::decode(bytes).unwrap_or((unicode::REPLACEMENT, 0))
}

/// `%#U`, such as `U+0021 '!'`.
pub(crate) fn unicode_name(c: char) -> String {
    let code = u32::from(c);
    if unicode::is_printable(c) {
        format!("U+{code:04X} '{c}'")
    } else {
        format!("U+{code:04X}")
    }
}

/// Whether the character may be in a name.
pub(crate) fn alphanumeric(c: char) -> bool {
    c == '_' || unicode::is_letter(c) || unicode::is_digit(c)
}

/// Go's `unicode.IsPrint`.
pub(crate) fn printable(c: char) -> bool {
    unicode::is_printable(c)
}
