//! Bytes that need not be UTF-8 as text, the way Go's JSON package writes them.

use std::borrow::Cow;

/// The text with a U+FFFD for each byte that is not part of a character. (Rust's own conversion puts one for
/// each broken sequence, which may be more than a byte.)
pub fn from_go_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(text)
}
