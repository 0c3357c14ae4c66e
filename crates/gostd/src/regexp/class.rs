//! Translates the character classes, escapes and literals of RE2 syntax to the syntax of the `regex` crate.

use std::fmt::Write;

use super::Error;

/// Writes a character that matches itself.
pub(super) fn push_literal(out: &mut String, c: char) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() {
        push_code_point(out, u32::from(c));
    } else {
        out.push(c);
    }
}

pub(super) fn push_code_point(out: &mut String, code: u32) {
    match char::from_u32(code) {
        Some(c) if c.is_ascii_alphanumeric() => out.push(c),
        // A surrogate matches nothing in valid UTF-8.
        None => out.push_str(r"[^\x00-\x{10FFFF}]"),
        Some(_) => {
            // Writing to a string cannot fail.
            let _ = write!(out, r"\x{{{code:X}}}");
        }
    }
}

/// Translates a bracketed class at the start of `text`; returns its length.
pub(super) fn bracketed(text: &str, out: &mut String) -> Result<usize, Error> {
    let mut at = 1;
    out.push('[');
    if text[at..].starts_with('^') {
        at += 1;
        out.push('^');
    }
    let mut is_first = true;
    let mut is_empty = true;
    while is_first || !text[at..].starts_with(']') {
        is_first = false;
        let rest = &text[at..];
        let class_length = match posix_class(rest, out)? {
            Some(length) => Some(length),
            None => escaped_class(rest, out)?,
        };
        if let Some(length) = class_length {
            at += length;
            is_empty = false;
            continue;
        }
        let start = at;
        let (low, length) = class_char(rest, text)?;
        at += length;
        let mut high = low;
        let after = &text[at..];
        if after.len() >= 2 && after.starts_with('-') && !after[1..].starts_with(']') {
            let (c, length) = class_char(&after[1..], text)?;
            at += 1 + length;
            high = c;
            if high < low {
                return Err(Error::new(
                    "invalid character class range",
                    &text[start..at],
                ));
            }
        }
        is_empty &= !push_range(out, low, high);
    }
    if is_empty {
        // Only surrogates, which match nothing in valid UTF-8.
        out.push_str(r"&&[^\x00-\x{10FFFF}]");
    }
    out.push(']');
    Ok(at + 1)
}

/// Writes a range without surrogates; returns false if nothing is left.
fn push_range(out: &mut String, low: u32, high: u32) -> bool {
    let low = if (0xd800..0xe000).contains(&low) {
        0xe000
    } else {
        low
    };
    let high = if (0xd800..0xe000).contains(&high) {
        0xd7ff
    } else {
        high
    };
    if low > high {
        return false;
    }
    // Writing to a string cannot fail.
    let _ = if low == high {
        write!(out, r"\x{{{low:X}}}")
    } else {
        write!(out, r"\x{{{low:X}}}-\x{{{high:X}}}")
    };
    true
}

fn class_char(text: &str, whole: &str) -> Result<(u32, usize), Error> {
    match text.chars().next() {
        None => Err(Error::new("missing closing ]", whole)),
        Some('\\') => escaped_char(text),
        Some(c) => Ok((u32::from(c), c.len_utf8())),
    }
}

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// `[:alpha:]` inside brackets.
fn posix_class(text: &str, out: &mut String) -> Result<Option<usize>, Error> {
    if !text.starts_with("[:") || text.len() < 3 {
        return Ok(None);
    }
    let Some(end) = text[2..].find(":]") else {
        return Ok(None);
    };
    let written = &text[..end + 4];
    let name = &text[2..end + 2];
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(Error::new("invalid character class range", written));
    }
    out.push_str(written);
    Ok(Some(written.len()))
}

/// Perl and Unicode classes: `\d`, `\pL`, `\p{Greek}`. Returns `None` if `text` does not start with one.
pub(super) fn escaped_class(text: &str, out: &mut String) -> Result<Option<usize>, Error> {
    let class = match text.as_bytes() {
        [b'\\', b'd', ..] => "[0-9]",
        [b'\\', b'D', ..] => "[^0-9]",
        [b'\\', b's', ..] => r"[\t\n\x0C\r\x20]",
        [b'\\', b'S', ..] => r"[^\t\n\x0C\r\x20]",
        [b'\\', b'w', ..] => "[0-9A-Za-z_]",
        [b'\\', b'W', ..] => "[^0-9A-Za-z_]",
        [b'\\', b'p' | b'P', _, ..] => return unicode_class(text, out).map(Some),
        _ => return Ok(None),
    };
    out.push_str(class);
    Ok(Some(2))
}

const CATEGORIES: [&str; 36] = [
    "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N",
    "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So",
    "Z", "Zl", "Zp", "Zs",
];

fn unicode_class(text: &str, out: &mut String) -> Result<usize, Error> {
    let first = text[2..].chars().next().unwrap_or_default();
    let (name, length) = if first == '{' {
        let end = text
            .find('}')
            .ok_or_else(|| Error::new("invalid character class range", text))?;
        (&text[3..end], end + 1)
    } else {
        let end = 2 + first.len_utf8();
        (&text[2..end], end)
    };
    let invalid = || Error::new("invalid character class range", &text[..length]);
    let (inverted, name) = match name.strip_prefix('^') {
        Some(name) => (true, name),
        None => (false, name),
    };
    let is_negative = text.starts_with(r"\P") != inverted;
    let mark = if is_negative { 'P' } else { 'p' };
    let class = if name == "Any" {
        format!(r"\{mark}{{Any}}")
    } else if CATEGORIES.contains(&name) {
        format!(r"\{mark}{{gc={name}}}")
    } else if name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.len() > 2
    {
        format!(r"\{mark}{{sc={name}}}")
    } else {
        return Err(invalid());
    };
    if regex::Regex::new(&class).is_err() {
        return Err(invalid());
    }
    out.push_str(&class);
    Ok(length)
}

/// The code point of an escape, and the length of the escape.
pub(super) fn escaped_char(text: &str) -> Result<(u32, usize), Error> {
    let Some(c) = text[1..].chars().next() else {
        return Err(Error::new("trailing backslash at end of expression", ""));
    };
    let length = 1 + c.len_utf8();
    let simple = match c {
        'a' => '\x07',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        'x' => return hex_escape(text),
        '0'..='7' => return octal_escape(text),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
        _ => return Err(Error::new("invalid escape sequence", &text[..length])),
    };
    Ok((u32::from(simple), length))
}

/// Up to three octal digits. A single digit other than 0 is a backreference, which RE2 does not support.
fn octal_escape(text: &str) -> Result<(u32, usize), Error> {
    let digits = text[1..]
        .bytes()
        .take(3)
        .take_while(|b| matches!(b, b'0'..=b'7'))
        .count();
    if digits == 1 && !text[1..].starts_with('0') {
        return Err(Error::new("invalid escape sequence", &text[..2]));
    }
    let code = u32::from_str_radix(&text[1..=digits], 8).unwrap_or(0);
    Ok((code, 1 + digits))
}

/// `\x41` or `\x{1F600}`. The error contains the text up to the first invalid character.
fn hex_escape(text: &str) -> Result<(u32, usize), Error> {
    let invalid = |end: usize| {
        Err(Error::new(
            "invalid escape sequence",
            &text[..end.min(text.len())],
        ))
    };
    let body = &text[2..];
    if let Some(braced) = body.strip_prefix('{') {
        let mut code = 0_u32;
        for (offset, c) in braced.char_indices() {
            let end = 3 + offset + c.len_utf8();
            if c == '}' && offset > 0 {
                return Ok((code, end));
            }
            let Some(digit) = c.to_digit(16) else {
                return invalid(end);
            };
            code = code * 16 + digit;
            if code > 0x10_ffff {
                return invalid(end);
            }
        }
        return invalid(text.len());
    }
    let mut chars = body.chars();
    let (Some(high), low) = (chars.next(), chars.next()) else {
        return invalid(2);
    };
    let end = 2 + high.len_utf8() + low.map_or(0, char::len_utf8);
    match (high.to_digit(16), low.and_then(|low| low.to_digit(16))) {
        (Some(high), Some(low)) => Ok((high * 16 + low, end)),
        _ => invalid(end),
    }
}
