//! Characters as Go's `unicode` and `unicode/utf8` packages see them.
//!
//! Go maps one character to one character (`ß` has no upper case) and knows Unicode 15, so Rust's own methods
//! alone do not agree with it.

mod tables;

use tables::{DIGITS, LETTERS, LOWER_BY_PROPERTY_ONLY, PRINTABLE, PUNCTUATION, TITLE};

/// What Go decodes from bytes that are not UTF-8.
pub(crate) const REPLACEMENT: char = '\u{fffd}';

/// The first character and its length in bytes; `None` for empty input. Bytes that are not UTF-8 are
/// [`REPLACEMENT`], one byte long.
pub(crate) fn decode(bytes: &[u8]) -> Option<(char, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((char::from(first), 1));
    }
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((REPLACEMENT, 1)),
    };
    let decoded = bytes
        .get(..length)
        .and_then(|encoded| std::str::from_utf8(encoded).ok())
        .and_then(|text| text.chars().next());
    Some(decoded.map_or((REPLACEMENT, 1), |c| (c, length)))
}

/// The last character and its length in bytes.
pub(crate) fn decode_last(bytes: &[u8]) -> Option<(char, usize)> {
    let end = bytes.len();
    for length in 1..=end.min(4) {
        let tail = &bytes[end - length..];
        if let Some((c, width)) = decode(tail)
            && width == length
            && (c != REPLACEMENT || length == 3)
        {
            return Some((c, length));
        }
    }
    (end > 0).then_some((REPLACEMENT, 1))
}

/// Every character with the offset of its first byte, as `for i, r := range s` yields them.
pub(crate) fn chars(bytes: &[u8]) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (c, length) = decode(&bytes[at..])?;
        let offset = at;
        at += length;
        Some((offset, c))
    })
}

pub(crate) fn char_count(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().count(),
        Err(_) => chars(bytes).count(),
    }
}

pub(crate) fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

pub(crate) fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\0'..='\x7f' => false,
        _ => in_table(PRINTABLE, c),
    }
}

pub(crate) fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || (!c.is_ascii() && in_table(LETTERS, c))
}

pub(crate) fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || (!c.is_ascii() && in_table(DIGITS, c))
}

pub(crate) fn is_number(c: char) -> bool {
    c.is_numeric() && is_printable(c)
}

pub(crate) fn is_punctuation(c: char) -> bool {
    match c {
        '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~' => false,
        c if c.is_ascii() => c.is_ascii_punctuation(),
        c => in_table(PUNCTUATION, c),
    }
}

pub(crate) fn is_upper(c: char) -> bool {
    c.is_uppercase() && is_letter(c)
}

pub(crate) fn is_lower(c: char) -> bool {
    c.is_lowercase() && is_letter(c) && !in_table(LOWER_BY_PROPERTY_ONLY, c)
}

pub(crate) fn is_title(c: char) -> bool {
    in_table(TITLE, c)
}

pub(crate) fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

pub(crate) fn to_upper(c: char) -> char {
    match c {
        c if c.is_ascii() => c.to_ascii_uppercase(),
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => shift(c, 8),
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => shift(c, 9),
        c => known_or_same(c, c.to_uppercase()),
    }
}

pub(crate) fn to_lower(c: char) -> char {
    match c {
        c if c.is_ascii() => c.to_ascii_lowercase(),
        '\u{130}' => 'i',
        c => known_or_same(c, c.to_lowercase()),
    }
}

pub(crate) fn to_title(c: char) -> char {
    match c {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => c,
        c => to_upper(c),
    }
}

/// The one character that `mapped` gives, if both ends of the mapping exist in Unicode 15.
fn known_or_same(c: char, mut mapped: impl ExactSizeIterator<Item = char>) -> char {
    if mapped.len() != 1 || !is_printable(c) {
        return c;
    }
    mapped.next().filter(|m| is_printable(*m)).unwrap_or(c)
}

fn shift(c: char, by: u32) -> char {
    char::from_u32(u32::from(c) + by).unwrap_or(c)
}

fn in_table(table: &[u32], c: char) -> bool {
    let c = u32::from(c);
    let (pairs, _) = table.as_chunks::<2>();
    let at = pairs.partition_point(|[_, last]| *last < c);
    pairs.get(at).is_some_and(|[first, _]| *first <= c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_bytes_that_are_not_utf8_one_by_one() {
        let cases: &[(&[u8], char, usize)] = &[
            (b"a", 'a', 1),
            ("é".as_bytes(), 'é', 2),
            ("€".as_bytes(), '€', 3),
            ("😀".as_bytes(), '😀', 4),
            (b"\xff", REPLACEMENT, 1),
            (b"\xe2\x82", REPLACEMENT, 1),
            (b"\xed\xa0\x80", REPLACEMENT, 1),
            ("\u{fffd}".as_bytes(), REPLACEMENT, 3),
        ];
        for (bytes, c, length) in cases {
            assert_eq!(decode(bytes), Some((*c, *length)), "{bytes:?}");
            let last_length = if *length == 1 { 1 } else { *length };
            assert_eq!(decode_last(bytes), Some((*c, last_length)), "{bytes:?}");
        }
    }

    #[test]
    fn maps_one_character_to_one_character() {
        for (from, upper, lower, title) in [
            ('ß', 'ß', 'ß', 'ß'),
            ('İ', 'İ', 'i', 'İ'),
            ('ǆ', 'Ǆ', 'ǆ', 'ǅ'),
            ('ა', 'Ა', 'ა', 'ა'),
            ('ᾳ', 'ᾼ', 'ᾳ', 'ᾼ'),
            ('é', 'É', 'é', 'É'),
            ('\u{19b}', '\u{19b}', '\u{19b}', '\u{19b}'),
        ] {
            assert_eq!(
                (to_upper(from), to_lower(from), to_title(from)),
                (upper, lower, title),
                "{from}"
            );
        }
    }
}
