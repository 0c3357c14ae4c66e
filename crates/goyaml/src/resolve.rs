//! The types of scalars, by the YAML 1.1 rules of go-yaml v2.

use crate::error::Error;
use crate::timestamp::is_timestamp;

pub(crate) const TAG_PREFIX: &str = "tag:yaml.org,2002:";

/// The resolved type and value of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Resolved {
    Null,
    Bool(bool),
    Int(i64),
    /// Above `i64::MAX`.
    Uint(u64),
    Float(f64),
    /// A timestamp, which JSON represents as a string.
    Timestamp,
    Text,
}

impl Resolved {
    fn tag(self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Int(_) | Self::Uint(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Timestamp => "!!timestamp",
            Self::Text => "!!str",
        }
    }
}

/// `resolveTable`: what a scalar may be, by its first byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    Text,
    Word,
    Point,
    Number,
}

const HINTS: [Hint; 256] = {
    let mut hints = [Hint::Text; 256];
    let words = b"yYnNtTfFoO~";
    let mut at = 0;
    while at < words.len() {
        hints[words[at] as usize] = Hint::Word;
        at += 1;
    }
    let numbers = b"+-0123456789";
    at = 0;
    while at < numbers.len() {
        hints[numbers[at] as usize] = Hint::Number;
        at += 1;
    }
    hints[b'.' as usize] = Hint::Point;
    hints
};

/// The type of a plain scalar without a tag.
#[inline]
pub(crate) fn resolve(text: &str) -> Resolved {
    let Some(&first) = text.as_bytes().first() else {
        return Resolved::Null;
    };
    match HINTS[usize::from(first)] {
        Hint::Text => Resolved::Text,
        Hint::Word => resolve_word(text),
        Hint::Point => resolve_point(text),
        Hint::Number => resolve_number(text, true),
    }
}

/// The type of a scalar with a tag of the YAML type library; `expected` is the tag without its prefix.
pub(crate) fn resolve_as(expected: &str, text: &str) -> Result<Resolved, Error> {
    let expected = match expected {
        "bool" => "!!bool",
        "int" => "!!int",
        "float" => "!!float",
        "null" => "!!null",
        "timestamp" => "!!timestamp",
        // `!!str` and other tags accept any text.
        _ => return Ok(Resolved::Text),
    };
    let is_number = text
        .bytes()
        .next()
        .is_some_and(|byte| HINTS[usize::from(byte)] == Hint::Number);
    let resolved = if is_number {
        resolve_number(text, expected == "!!timestamp")
    } else {
        resolve(text)
    };
    match resolved {
        Resolved::Int(value) if expected == "!!float" =>
        {
            #[expect(clippy::cast_precision_loss, reason = "Go converts the same way")]
            Ok(Resolved::Float(value as f64))
        }
        resolved if resolved.tag() == expected => Ok(resolved),
        resolved => Err(Error::Tag {
            found: resolved.tag(),
            text: text.to_owned(),
            expected,
        }),
    }
}

fn resolve_word(text: &str) -> Resolved {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Resolved::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Resolved::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Resolved::Null,
        _ => Resolved::Text,
    }
}

fn resolve_point(text: &str) -> Resolved {
    match text {
        ".nan" | ".NaN" | ".NAN" => Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" => Resolved::Float(f64::INFINITY),
        _ if !text.contains('_') => parse_float(text).map_or(Resolved::Text, Resolved::Float),
        _ if has_underscores_between_digits(text) => {
            parse_float(&text.replace('_', "")).map_or(Resolved::Text, Resolved::Float)
        }
        _ => Resolved::Text,
    }
}

/// Whether each underscore is between digits, as in a Go number.
fn has_underscores_between_digits(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    (0..bytes.len())
        .filter(|&at| bytes[at] == b'_')
        .all(|at| at > 0 && is_digit(at - 1) && is_digit(at + 1))
}

fn resolve_number(text: &str, dates: bool) -> Resolved {
    match text {
        "+.inf" | "+.Inf" | "+.INF" => return Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Resolved::Float(f64::NEG_INFINITY),
        _ => {}
    }
    if dates && is_timestamp(text) {
        return Resolved::Timestamp;
    }
    let without;
    let digits = if text.contains('_') {
        without = text.replace('_', "");
        &without
    } else {
        text
    };
    if let Some(value) = parse_int(digits) {
        return value;
    }
    if let Some(value) = parse_float(digits) {
        return Resolved::Float(value);
    }
    // go-yaml accepts a sign after the binary prefix.
    digits
        .strip_prefix("0b")
        .and_then(|rest| parse_signed(rest, 2))
        .map_or(Resolved::Text, Resolved::Int)
}

/// `strconv.ParseInt` with base 0, or `ParseUint` if the number is too large.
fn parse_int(text: &str) -> Option<Resolved> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let value = parse_digits(digits, radix)?;
    if negative {
        return 0_i64.checked_sub_unsigned(value).map(Resolved::Int);
    }
    match i64::try_from(value) {
        Ok(value) => Some(Resolved::Int(value)),
        // `ParseUint` accepts no sign.
        Err(_) if text.starts_with('+') => None,
        Err(_) => Some(Resolved::Uint(value)),
    }
}

fn parse_signed(text: &str, radix: u32) -> Option<i64> {
    if let Some(digits) = text.strip_prefix('-') {
        return 0_i64.checked_sub_unsigned(parse_digits(digits, radix)?);
    }
    let digits = text.strip_prefix('+').unwrap_or(text);
    i64::try_from(parse_digits(digits, radix)?).ok()
}

fn parse_digits(digits: &str, radix: u32) -> Option<u64> {
    let is_digits =
        !digits.is_empty() && digits.bytes().all(|byte| char::from(byte).is_digit(radix));
    is_digits
        .then(|| u64::from_str_radix(digits, radix).ok())
        .flatten()
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, if it is finite.
fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text).as_bytes();
    let whole = count_digits(unsigned);
    let mut at = whole;
    if unsigned.get(at) == Some(&b'.') {
        let fraction = count_digits(&unsigned[at + 1..]);
        if whole == 0 && fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    } else if whole == 0 {
        return None;
    }
    if matches!(unsigned.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(unsigned.get(at + 1), Some(b'-' | b'+')));
        let exponent = count_digits(&unsigned[at..]);
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    if at != unsigned.len() {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

fn count_digits(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count()
}

/// `[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?`: a base 60 number to other YAML 1.1 decoders.
pub(crate) fn is_base60(text: &str) -> bool {
    if !matches!(text.as_bytes().first(), Some(b'-' | b'+' | b'0'..=b'9')) {
        return false;
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or("").as_bytes();
    let is_digit_or_mark = |byte: &u8| byte.is_ascii_digit() || *byte == b'_';
    let mut groups = 0;
    let is_right = parts.all(|part| {
        groups += 1;
        matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
    });
    is_right
        && groups > 0
        && first.first().is_some_and(u8::is_ascii_digit)
        && first.iter().all(is_digit_or_mark)
        && fraction.as_bytes().iter().all(is_digit_or_mark)
}

/// Whether go-yaml v3 resolves a scalar to a string: unlike in v2, `0o` with a sign after it is a number.
pub(crate) fn is_text_to_v3(text: &str) -> bool {
    match resolve(text) {
        Resolved::Text => {
            let is_octal = |text: &str| {
                let digits = text.replace('_', "");
                digits
                    .strip_prefix("0o")
                    .is_some_and(|rest| parse_signed(rest, 8).is_some())
            };
            !(text.starts_with('0') && is_octal(text))
        }
        // YAML 1.1 booleans such as `yes` are strings in v3, but it quotes them.
        _ => false,
    }
}
