//! Numbers and dates in TOML documents.

use outrigger_gostd::strconv::{NumError, parse_float, parse_int, quote, quote_rune};

use super::Edition;
use super::scan::{END, Result, Scanner};
use crate::function::Call;
use crate::functions::dates;
use crate::value::Value;

/// A value that starts with a digit.
pub(super) fn number_or_date(scan: &mut Scanner<'_>, call: &Call<'_>) -> Result<Value> {
    let start = scan.at;
    let is_zero = scan.next()? == '0';
    let prefix = base_prefix(scan.peek()?, scan.edition).filter(|_| is_zero);
    if let Some((name, base)) = prefix {
        scan.next()?;
        let first = scan.peek()?;
        if !first.is_digit(base) {
            let message = format!("not {name} number: '{}{first}'", scan.since(start));
            return Err(scan.error(message));
        }
        scan.skip_while(|c| c == '_' || c.is_digit(base))?;
        return integer(scan, start);
    }
    // A date that starts with a zero has at least two digits.
    let may_be_date = !is_zero || scan.peek()?.is_ascii_digit();
    scan.skip_while(|c| c.is_ascii_digit())?;
    if may_be_date && matches!(scan.peek()?, '-' | ':') {
        scan.skip_while(|c| c.is_ascii_digit() || "-:Tt .Zz+".contains(c))?;
        return date(scan, start, call);
    }
    rest_of_decimal(scan, start)
}

fn base_prefix(mark: char, edition: Edition) -> Option<(&'static str, u32)> {
    match mark {
        'b' => Some(("a binary", 2)),
        'o' => Some(("an octal", 8)),
        'x' if edition == Edition::V1_4 => Some(("a hexidecimal", 16)),
        'x' => Some(("a hexadecimal", 16)),
        _ => None,
    }
}

/// A number after the sign at `start`.
pub(super) fn signed_number(scan: &mut Scanner<'_>, start: usize) -> Result<Value> {
    let first = scan.next()?;
    match first {
        'i' | 'n' => {
            let rest = if first == 'i' { ['n', 'f'] } else { ['a', 'n'] };
            for expected in rest {
                if !scan.accept(expected)? {
                    let message = format!("invalid float: '{}'", scan.since(start));
                    return Err(scan.error(message));
                }
            }
            float(scan, start)
        }
        '0' if matches!(scan.peek()?, 'b' | 'o' | 'x') => {
            let mark = scan.peek()?;
            let shown = scan.since(start);
            Err(scan.error(format!(
                "cannot use sign with non-decimal numbers: '{shown}{mark}'"
            )))
        }
        '.' => Err(scan.error("floats must start with a digit, not '.'")),
        first if first.is_ascii_digit() => rest_of_decimal(scan, start),
        first => Err(scan.error_at(
            first,
            format!("expected a digit but got {}", quote_rune(first)),
        )),
    }
}

fn rest_of_decimal(scan: &mut Scanner<'_>, start: usize) -> Result<Value> {
    scan.skip_while(|c| c == '_' || c.is_ascii_digit())?;
    let next = scan.peek()?;
    if next != END && matches!(next, '.' | 'e' | 'E') {
        scan.skip_while(|c| c.is_ascii_digit() || "_.-+eE".contains(c))?;
        return float(scan, start);
    }
    integer(scan, start)
}

/// The integer since `start`.
fn integer(scan: &Scanner<'_>, start: usize) -> Result<Value> {
    let text = scan.since(start);
    let invalid =
        |reason: &str| Err(scan.error(format!("Invalid integer {}: {reason}", quote(text))));
    if !underscores_ok(text) {
        return invalid("underscores must be surrounded by digits");
    }
    if has_leading_zero(text) {
        return invalid("cannot have leading zeroes");
    }
    match parse_int(text.as_bytes(), 0) {
        Ok(number) => Ok(Value::Int64(number)),
        Err(NumError::Syntax) => invalid("not a number"),
        Err(_) => Err(scan.error(format!("{text} is out of range for int64"))),
    }
}

/// The float since `start`.
pub(super) fn float(scan: &Scanner<'_>, start: usize) -> Result<Value> {
    let text = scan.since(start);
    let invalid =
        |reason: &str| Err(scan.error(format!("Invalid float {}: {reason}", quote(text))));
    let parts: Vec<&str> = text
        .split(['.', 'e', 'E'])
        .filter(|part| !part.is_empty())
        .collect();
    if !parts.iter().all(|part| underscores_ok(part)) {
        return invalid("underscores must be surrounded by digits");
    }
    if parts.first().is_some_and(|whole| has_leading_zero(whole)) {
        return invalid("cannot have leading zeroes");
    }
    let bytes = text.as_bytes();
    let bare_point =
        |at: usize| bytes[at] == b'.' && !bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
    if (0..bytes.len()).any(bare_point) {
        return invalid("'.' must be followed by one or more digits");
    }
    let plain = text.replace('_', "");
    let unsigned = plain.trim_start_matches(['+', '-']);
    if unsigned == "nan" {
        return Ok(Value::Float(f64::NAN));
    }
    match parse_float(plain.as_bytes()) {
        Some(number) => Ok(Value::Float(number)),
        None if plain.parse::<f64>().is_ok() => {
            Err(scan.error(format!("{text} is out of range for float64")))
        }
        None => Err(scan.error(format!("Invalid float value: {}", quote(text)))),
    }
}

/// Whether each underscore is between digits.
fn underscores_ok(text: &str) -> bool {
    if matches!(text.trim_start_matches(['+', '-']), "nan" | "inf") {
        return true;
    }
    let mut after_digit = false;
    for c in text.chars() {
        if c == '_' && !after_digit {
            return false;
        }
        after_digit = c.is_ascii_hexdigit();
    }
    after_digit
}

fn has_leading_zero(text: &str) -> bool {
    match text.as_bytes() {
        [b'0', b'b' | b'o' | b'x', ..] => false,
        [b'0', _, ..] | [b'+' | b'-', b'0', _, ..] => true,
        _ => false,
    }
}

/// The date or time since `start`.
fn date(scan: &Scanner<'_>, start: usize, call: &Call<'_>) -> Result<Value> {
    let text = scan
        .since(start)
        .trim()
        .replace('z', "Z")
        .replace(['t', ' '], "T");
    let with_optional_seconds = scan.edition == Edition::V1_6;
    dates::from_toml(&text, with_optional_seconds, call.host)
        .ok_or_else(|| scan.error(format!("invalid datetime: {}", quote(&text))))
}
