//! The values of string and bytes literals.

/// Why a literal has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    #[error("unable to unescape string")]
    Malformed,
    #[error("invalid unicode code point")]
    CodePoint,
}

/// The value of a literal with its quotes and an optional `r`. In bytes, `\x` and octal escapes are bytes instead of code
/// points.
pub(super) fn unescape(literal: &str, is_bytes: bool) -> Result<Vec<u8>, Error> {
    let literal = literal.replace("\r\n", "\n").replace('\r', "\n");
    let unprefixed = literal.trim_start_matches(['r', 'R']);
    let is_raw = unprefixed.len() < literal.len();
    let quoted = |quote: &str| {
        let inner = unprefixed.strip_prefix(quote)?.strip_suffix(quote)?;
        Some(inner.to_owned())
    };
    let quotes = ["'''", "\"\"\"", "'", "\""];
    let text = quotes
        .into_iter()
        .find_map(quoted)
        .ok_or(Error::Malformed)?;
    if is_raw || !text.contains('\\') {
        return Ok(text.into_bytes());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\\' {
            escape(&mut characters, is_bytes, &mut out)?;
        } else {
            push(&mut out, character);
        }
    }
    Ok(out)
}

fn push(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn escape(
    characters: &mut std::str::Chars<'_>,
    is_bytes: bool,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let kind = characters.next().ok_or(Error::Malformed)?;
    let simple = match kind {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' | '\'' | '"' | '`' | '?' => kind,
        'x' | 'X' => return number(characters, 2, 16, 0, is_bytes, out),
        'u' if !is_bytes => return number(characters, 4, 16, 0, false, out),
        'U' if !is_bytes => return number(characters, 8, 16, 0, false, out),
        '0'..='3' => {
            let first = kind.to_digit(8).unwrap_or(0);
            return number(characters, 2, 8, first, is_bytes, out);
        }
        _ => return Err(Error::Malformed),
    };
    push(out, simple);
    Ok(())
}

fn number(
    characters: &mut std::str::Chars<'_>,
    digits: usize,
    radix: u32,
    first: u32,
    as_byte: bool,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut value = first;
    for _ in 0..digits {
        let digit = characters.next().and_then(|c| c.to_digit(radix));
        let digit = digit.ok_or(Error::Malformed)?;
        value = value.wrapping_mul(radix).wrapping_add(digit);
    }
    match u8::try_from(value) {
        Ok(byte) if as_byte => out.push(byte),
        _ => push(out, char::from_u32(value).ok_or(Error::CodePoint)?),
    }
    Ok(())
}
