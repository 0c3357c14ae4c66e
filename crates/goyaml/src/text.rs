//! Go strings that are not UTF-8, as encoding/json writes them.

use std::borrow::Cow;

/// Replaces each byte that is not UTF-8 by U+FFFD. (`String::from_utf8_lossy` replaces each invalid sequence, which may
/// have several bytes.)
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
