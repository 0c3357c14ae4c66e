//! Go's constants: quoted strings, characters and numbers.

use crate::ir::{Number, Span};
use crate::quote::{decode, quoted};

const BAD_SYNTAX: &str = "invalid syntax";

/// What a string constant stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unquoted {
    /// The source between the quotes.
    AsIs,
    Own(Vec<u8>),
}

/// `strconv.Unquote` of a token in double quotes or back quotes.
pub(super) fn unquote(token: &[u8]) -> Result<Unquoted, &'static str> {
    let [quote, inner @ .., _] = token else {
        return Err(BAD_SYNTAX);
    };
    if *quote == b'`' {
        return Ok(if inner.contains(&b'\r') {
            Unquoted::Own(inner.iter().copied().filter(|b| *b != b'\r').collect())
        } else {
            Unquoted::AsIs
        });
    }
    if inner.iter().all(|byte| byte.is_ascii() && *byte != b'\\') {
        return Ok(Unquoted::AsIs);
    }
    let mut rest = inner;
    let mut text = Vec::with_capacity(inner.len());
    while !rest.is_empty() {
        let piece = unquote_char(rest, b'"').ok_or(BAD_SYNTAX)?;
        match piece.value {
            Unit::Byte(byte) => text.push(byte),
            Unit::Char(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        rest = rest.get(piece.length..).unwrap_or_default();
    }
    Ok(Unquoted::Own(text))
}

struct Piece {
    value: Unit,
    length: usize,
}

#[derive(Clone, Copy)]
enum Unit {
    Byte(u8),
    Char(char),
}

/// `strconv.UnquoteChar`: one character or escape.
fn unquote_char(text: &[u8], quote: u8) -> Option<Piece> {
    let simple = |value, length| Some(Piece { value, length });
    match text {
        [first, ..] if *first == quote => None,
        [b'\\', escape, rest @ ..] => {
            let byte = |byte| simple(Unit::Byte(byte), 2);
            match escape {
                b'a' => byte(7),
                b'b' => byte(8),
                b'f' => byte(12),
                b'n' => byte(b'\n'),
                b'r' => byte(b'\r'),
                b't' => byte(b'\t'),
                b'v' => byte(11),
                b'\\' => byte(b'\\'),
                b'\'' | b'"' if *escape == quote => byte(quote),
                b'x' => simple(Unit::Byte(u8::try_from(hex(rest, 2)?).ok()?), 4),
                b'u' => simple(Unit::Char(char::from_u32(hex(rest, 4)?)?), 6),
                b'U' => simple(Unit::Char(char::from_u32(hex(rest, 8)?)?), 10),
                b'0'..=b'7' => simple(Unit::Byte(octal(text.get(1..4)?)?), 4),
                _ => None,
            }
        }
        [b'\\'] | [] => None,
        _ => {
            let (c, length) = decode(text);
            simple(Unit::Char(c), length)
        }
    }
}

fn hex(digits: &[u8], count: usize) -> Option<u32> {
    let digits = digits.get(..count)?;
    digits.iter().try_fold(0, |value, digit| {
        Some(value << 4 | char::from(*digit).to_digit(16)?)
    })
}

fn octal(digits: &[u8]) -> Option<u8> {
    let value = digits.iter().try_fold(0, |value, digit| {
        Some(value << 3 | char::from(*digit).to_digit(8)?)
    })?;
    u8::try_from(value).ok()
}

/// A character constant with its quotes.
pub(super) fn char_constant(token: &[u8], span: Span) -> Result<Number, String> {
    let rest = token.get(1..).unwrap_or_default();
    let piece = unquote_char(rest, b'\'').ok_or(BAD_SYNTAX)?;
    if rest.get(piece.length..) != Some(b"'") {
        return Err(format!(
            "malformed character constant: {}",
            String::from_utf8_lossy(token)
        ));
    }
    let code = match piece.value {
        Unit::Byte(byte) => u32::from(byte),
        Unit::Char(c) => u32::from(c),
    };
    Ok(Number {
        text: span,
        int: Some(i64::from(code)),
        float: Some(f64::from(code)),
    })
}

/// A number constant. Imaginary ones are refused: no chart can do anything with them.
pub(super) fn number(token: &[u8], span: Span) -> Result<Number, String> {
    let illegal = || format!("illegal number syntax: {}", quoted(token));
    if let Some(n) = small_decimal(token) {
        return Ok(Number {
            text: span,
            int: Some(i64::from(n)),
            float: Some(f64::from(n)),
        });
    }
    let text = std::str::from_utf8(token).map_err(|_| illegal())?;
    let uint = parse_uint(text);
    let int = parse_int(text);
    #[expect(
        clippy::cast_precision_loss,
        reason = "Go converts the constant the same way"
    )]
    let float = int.map(|n| n as f64).or_else(|| uint.map(|n| n as f64));
    if float.is_some() {
        return Ok(Number {
            text: span,
            int,
            float,
        });
    }
    let float = parse_float(text).ok_or_else(illegal)?;
    if !text.contains(['.', 'e', 'E', 'p', 'P']) {
        return Err(format!("integer overflow: {}", quoted(token)));
    }
    Ok(Number {
        text: span,
        int: integral(float),
        float: Some(float),
    })
}

/// Nearly every number in a template: a few digits.
fn small_decimal(token: &[u8]) -> Option<i32> {
    match token {
        [b'0'] => Some(0),
        [b'1'..=b'9', rest @ ..] if rest.len() < 9 => token.iter().try_fold(0, |n, digit| {
            let digit = char::from(*digit).to_digit(10)?;
            Some(n * 10 + i32::try_from(digit).ok()?)
        }),
        _ => None,
    }
}

const TWO_63: f64 = 9_223_372_036_854_775_808.0;

fn integral(float: f64) -> Option<i64> {
    let fits = (-TWO_63..TWO_63).contains(&float) && float.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the value is whole and in range"
    )]
    fits.then_some(float as i64)
}

/// `strconv.ParseUint` with base 0.
fn parse_uint(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (digits, base) = if let Some(digits) = lower.strip_prefix("0x") {
        (digits, 16)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        (digits, 2)
    } else if let Some(digits) = lower.strip_prefix("0o") {
        (digits, 8)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (&lower[1..], 8)
    } else {
        (lower.as_str(), 10)
    };
    if digits.contains('_') && !underscores_ok(text) {
        return None;
    }
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    if !digits.starts_with(|c: char| c.is_digit(base)) {
        return None;
    }
    u64::from_str_radix(&digits, base).ok()
}

/// `strconv.ParseInt` with base 0.
fn parse_int(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix('-') {
        let magnitude = parse_uint(digits)?;
        return 0_i64.checked_sub_unsigned(magnitude);
    }
    let digits = text.strip_prefix('+').unwrap_or(text);
    i64::try_from(parse_uint(digits)?).ok()
}

/// `strconv.ParseFloat`, without infinities and not-a-number, which no token spells.
fn parse_float(text: &str) -> Option<f64> {
    if text.contains('_') && !underscores_ok(text) {
        return None;
    }
    let text: String = text.chars().filter(|c| *c != '_').collect();
    let unsigned = text.trim_start_matches(['+', '-']);
    let float = match unsigned
        .strip_prefix("0x")
        .or_else(|| unsigned.strip_prefix("0X"))
    {
        Some(digits) => {
            let value = parse_hex_float(digits)?;
            if text.starts_with('-') { -value } else { value }
        }
        None => text.parse().ok()?,
    };
    float.is_finite().then_some(float)
}

/// The part of a hexadecimal float after `0x`, such as `1.8p3`. The exponent is mandatory.
fn parse_hex_float(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let shift = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let exponent = exponent.parse::<i32>().ok()?.checked_sub(shift)?;
    Some(value * f64::from(exponent).exp2())
}

/// Whether each underscore stands between digits, or between the base prefix and a digit.
fn underscores_ok(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text).as_bytes();
    let prefixed = matches!(text, [b'0', b'b' | b'B' | b'o' | b'O' | b'x' | b'X', ..]);
    let is_hex = matches!(text, [b'0', b'x' | b'X', ..]);
    let mut before = if prefixed { b'0' } else { b'^' };
    for byte in &text[if prefixed { 2 } else { 0 }..] {
        let is_digit = byte.is_ascii_digit() || is_hex && byte.is_ascii_hexdigit();
        before = match (byte, before) {
            _ if is_digit => b'0',
            (b'_', b'0') => b'_',
            (b'_', _) | (_, b'_') => return false,
            _ => b'!',
        };
    }
    before != b'_'
}
