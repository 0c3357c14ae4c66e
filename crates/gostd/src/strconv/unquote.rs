//! `strconv.Unquote` and `strconv.UnquoteChar`

use std::borrow::Cow;

use crate::unicode::decode_rune;

/// `strconv.ErrSyntax`
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid syntax")]
pub struct SyntaxError;

/// The value of one element of a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unquoted {
    /// A byte escape such as `\xff`.
    Byte(u8),
    Rune(char),
}

/// `strconv.Unquote` of a literal in double quotes or back quotes. Borrows the text between the quotes if it contains
/// no escapes.
pub fn unquote(literal: &[u8]) -> Result<Cow<'_, [u8]>, SyntaxError> {
    let [quote, inner @ .., _] = literal else {
        return Err(SyntaxError);
    };
    if *quote == b'`' {
        return Ok(if inner.contains(&b'\r') {
            inner.iter().copied().filter(|b| *b != b'\r').collect()
        } else {
            Cow::Borrowed(inner)
        });
    }
    if inner.iter().all(|byte| byte.is_ascii() && *byte != b'\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let mut rest = inner;
    let mut text = Vec::with_capacity(inner.len());
    while !rest.is_empty() {
        let (unquoted, length) = unquote_char(rest, b'"')?;
        match unquoted {
            Unquoted::Byte(byte) => text.push(byte),
            Unquoted::Rune(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(Cow::Owned(text))
}

/// `strconv.UnquoteChar`: the first character or escape of `text`, and its length.
pub fn unquote_char(text: &[u8], quote: u8) -> Result<(Unquoted, usize), SyntaxError> {
    let unquoted = match text {
        [first, ..] if *first == quote => None,
        [b'\\', escape, rest @ ..] => unquote_escape(*escape, rest, quote),
        [b'\\'] => None,
        _ => decode_rune(text).map(|(c, width)| (Unquoted::Rune(c), width)),
    };
    unquoted.ok_or(SyntaxError)
}

fn unquote_escape(escape: u8, rest: &[u8], quote: u8) -> Option<(Unquoted, usize)> {
    let byte = |byte| Some((Unquoted::Byte(byte), 2));
    let rune = |count| {
        let c = char::from_u32(digits(rest, count, 16)?)?;
        Some((Unquoted::Rune(c), 2 + count))
    };
    match escape {
        b'a' => byte(7),
        b'b' => byte(8),
        b'f' => byte(12),
        b'n' => byte(b'\n'),
        b'r' => byte(b'\r'),
        b't' => byte(b'\t'),
        b'v' => byte(11),
        b'\\' => byte(b'\\'),
        b'\'' | b'"' if escape == quote => byte(quote),
        b'x' => {
            let value = u8::try_from(digits(rest, 2, 16)?).ok()?;
            Some((Unquoted::Byte(value), 4))
        }
        b'u' => rune(4),
        b'U' => rune(8),
        b'0'..=b'7' => {
            let value = u32::from(escape - b'0') << 6 | digits(rest, 2, 8)?;
            Some((Unquoted::Byte(u8::try_from(value).ok()?), 4))
        }
        _ => None,
    }
}

/// The value of the first `count` digits.
fn digits(text: &[u8], count: usize, radix: u32) -> Option<u32> {
    let digits = text.get(..count)?;
    digits.iter().try_fold(0_u32, |value, digit| {
        let digit = char::from(*digit).to_digit(radix)?;
        value.checked_mul(radix)?.checked_add(digit)
    })
}
