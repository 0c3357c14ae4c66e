//! `unicode` and `unicode/utf8`: classes and case of runes, and decoding of bytes that need not be UTF-8.
//!
//! Go maps one rune to one rune (`ß` has no upper case) and has the tables of Unicode 15, so the methods of `char` have
//! other results.

mod tables;

use tables::{DIGITS, LETTERS, LOWER_BY_PROPERTY_ONLY, PRINTABLE, PUNCTUATION, TITLE};

/// `utf8.RuneError`, which replaces bytes that are not UTF-8.
pub const RUNE_ERROR: char = '\u{fffd}';

/// `utf8.DecodeRune`: the first rune and its width in bytes, `None` for empty input. A byte that is not UTF-8 decodes to
/// [`RUNE_ERROR`] of width 1.
#[inline]
pub fn decode_rune(bytes: &[u8]) -> Option<(char, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((char::from(first), 1));
    }
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((RUNE_ERROR, 1)),
    };
    let decoded = bytes
        .get(..length)
        .and_then(|encoded| std::str::from_utf8(encoded).ok())
        .and_then(|text| text.chars().next());
    Some(decoded.map_or((RUNE_ERROR, 1), |c| (c, length)))
}

/// `utf8.DecodeLastRune`
pub fn decode_last_rune(bytes: &[u8]) -> Option<(char, usize)> {
    let end = bytes.len();
    for length in 1..=end.min(4) {
        let tail = &bytes[end - length..];
        if let Some((c, width)) = decode_rune(tail)
            && width == length
            && (c != RUNE_ERROR || length == 3)
        {
            return Some((c, length));
        }
    }
    (end > 0).then_some((RUNE_ERROR, 1))
}

/// The runes with their byte offsets, as `for i, r := range s` yields them.
pub fn runes(bytes: &[u8]) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (c, length) = decode_rune(&bytes[at..])?;
        let offset = at;
        at += length;
        Some((offset, c))
    })
}

/// `utf8.RuneCount`
pub fn rune_count(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().count(),
        Err(_) => runes(bytes).count(),
    }
}

/// `utf8.AppendRune`
#[inline]
pub fn append_rune(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

pub fn is_print(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\0'..='\x7f' => false,
        _ => in_table(PRINTABLE, c),
    }
}

pub fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || (!c.is_ascii() && in_table(LETTERS, c))
}

pub fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || (!c.is_ascii() && in_table(DIGITS, c))
}

pub fn is_number(c: char) -> bool {
    c.is_numeric() && is_print(c)
}

pub fn is_punct(c: char) -> bool {
    match c {
        '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~' => false,
        c if c.is_ascii() => c.is_ascii_punctuation(),
        c => in_table(PUNCTUATION, c),
    }
}

pub fn is_upper(c: char) -> bool {
    c.is_uppercase() && is_letter(c)
}

pub fn is_lower(c: char) -> bool {
    c.is_lowercase() && is_letter(c) && !in_table(LOWER_BY_PROPERTY_ONLY, c)
}

pub fn is_title(c: char) -> bool {
    in_table(TITLE, c)
}

pub fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

pub fn to_upper(c: char) -> char {
    match c {
        c if c.is_ascii() => c.to_ascii_uppercase(),
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => shift(c, 8),
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => shift(c, 9),
        c => mapped_in_unicode_15(c, c.to_uppercase()),
    }
}

pub fn to_lower(c: char) -> char {
    match c {
        c if c.is_ascii() => c.to_ascii_lowercase(),
        '\u{130}' => 'i',
        c => mapped_in_unicode_15(c, c.to_lowercase()),
    }
}

pub fn to_title(c: char) -> char {
    match c {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => c,
        c => to_upper(c),
    }
}

/// The rune that `c` maps to, or `c` itself if the mapping is not one to one or not in Unicode 15.
fn mapped_in_unicode_15(c: char, mut mapped: impl ExactSizeIterator<Item = char>) -> char {
    if mapped.len() != 1 || !is_print(c) {
        return c;
    }
    mapped.next().filter(|m| is_print(*m)).unwrap_or(c)
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
    fn decodes_each_invalid_byte_to_rune_error() {
        let cases: &[(&[u8], char, usize)] = &[
            (b"a", 'a', 1),
            ("é".as_bytes(), 'é', 2),
            ("€".as_bytes(), '€', 3),
            ("😀".as_bytes(), '😀', 4),
            (b"\xff", RUNE_ERROR, 1),
            (b"\xe2\x82", RUNE_ERROR, 1),
            (b"\xed\xa0\x80", RUNE_ERROR, 1),
            ("\u{fffd}".as_bytes(), RUNE_ERROR, 3),
        ];
        for (bytes, c, length) in cases {
            assert_eq!(decode_rune(bytes), Some((*c, *length)), "{bytes:?}");
            let last_length = if *length == 1 { 1 } else { *length };
            assert_eq!(
                decode_last_rune(bytes),
                Some((*c, last_length)),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn case_mapping_is_one_rune_to_one_rune() {
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
