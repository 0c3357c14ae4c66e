//! `strconv.ParseUint`, `strconv.ParseInt` and `strconv.ParseFloat`.

/// The `Err` of a `strconv.NumError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumError {
    /// `strconv.ErrSyntax`
    Syntax,
    /// `strconv.ErrRange` above the largest value.
    Overflow,
    /// `strconv.ErrRange` below the smallest value.
    Underflow,
}

impl NumError {
    /// The value that `ParseInt` returns together with the error.
    pub fn value(self) -> i64 {
        match self {
            Self::Syntax => 0,
            Self::Overflow => i64::MAX,
            Self::Underflow => i64::MIN,
        }
    }
}

/// `strconv.ParseUint(text, base, 64)`. Base 0 allows the prefixes and underscores of Go source.
pub fn parse_uint(text: &[u8], base: u32) -> Result<u64, NumError> {
    let (radix, digits) = match (base, text) {
        (0, [b'0', b'x' | b'X', digits @ ..]) => (16, digits),
        (0, [b'0', b'b' | b'B', digits @ ..]) => (2, digits),
        (0, [b'0', b'o' | b'O', digits @ ..]) => (8, digits),
        (0, [b'0', digits @ ..]) if !digits.is_empty() => (8, digits),
        (0, digits) => (10, digits),
        (base, digits) => (base, digits),
    };
    if digits.is_empty() {
        return Err(NumError::Syntax);
    }
    let mut value: u64 = 0;
    let mut has_underscore = false;
    for byte in digits {
        if *byte == b'_' && base == 0 {
            has_underscore = true;
            continue;
        }
        let digit = char::from(*byte).to_digit(radix).ok_or(NumError::Syntax)?;
        value = value
            .checked_mul(u64::from(radix))
            .and_then(|value| value.checked_add(u64::from(digit)))
            .ok_or(NumError::Overflow)?;
    }
    if has_underscore && !underscore_ok(text) {
        return Err(NumError::Syntax);
    }
    Ok(value)
}

/// `strconv.ParseInt(text, base, 64)`
pub fn parse_int(text: &[u8], base: u32) -> Result<i64, NumError> {
    match text {
        [b'-', digits @ ..] => {
            let magnitude = parse_uint(digits, base).map_err(|error| match error {
                NumError::Overflow => NumError::Underflow,
                other => other,
            })?;
            0_i64
                .checked_sub_unsigned(magnitude)
                .ok_or(NumError::Underflow)
        }
        [b'+', digits @ ..] | digits => {
            i64::try_from(parse_uint(digits, base)?).map_err(|_| NumError::Overflow)
        }
    }
}

/// `strconv.ParseFloat(text, 64)`; `None` if it fails, also for numbers out of range.
pub fn parse_float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    if text.contains('_') && !underscore_ok(text.as_bytes()) {
        return None;
    }
    let text = text.replace('_', "");
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let lower = unsigned.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        let magnitude = parse_hex_float(hex)?;
        return Some(if text.starts_with('-') {
            -magnitude
        } else {
            magnitude
        });
    }
    let is_special = matches!(lower.as_str(), "inf" | "infinity" | "nan");
    if is_special && !(lower == "nan" && unsigned.len() < text.len()) {
        return text.to_ascii_lowercase().parse().ok();
    }
    let is_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && !unsigned.contains(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E');
    let number: f64 = text.parse().ok().filter(|_| is_number)?;
    number.is_finite().then_some(number)
}

/// `1.8p3` after the prefix `0x`; the exponent is required.
fn parse_hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
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
    let number = value * f64::from(exponent).exp2();
    number.is_finite().then_some(number)
}

/// `underscoreOK`: whether each underscore is between digits, or between the base prefix and a digit.
fn underscore_ok(text: &[u8]) -> bool {
    let text = match text {
        [b'+' | b'-', text @ ..] | text => text,
    };
    let has_prefix = matches!(text, [b'0', b'b' | b'B' | b'o' | b'O' | b'x' | b'X', ..]);
    let is_hex = matches!(text, [b'0', b'x' | b'X', ..]);
    let mut before = if has_prefix { b'0' } else { b'^' };
    for byte in &text[if has_prefix { 2 } else { 0 }..] {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_integers_like_go() {
        for (text, base, expected) in [
            ("42", 10, Ok(42)),
            ("+42", 10, Ok(42)),
            ("1_000", 0, Ok(1000)),
            ("1_000", 10, Err(NumError::Syntax)),
            ("0x_1f", 0, Ok(31)),
            ("0x1__f", 0, Err(NumError::Syntax)),
            ("_1", 0, Err(NumError::Syntax)),
            ("017", 0, Ok(15)),
            ("0b101", 0, Ok(5)),
            ("0x", 0, Err(NumError::Syntax)),
            ("", 10, Err(NumError::Syntax)),
            ("-9223372036854775808", 10, Ok(i64::MIN)),
            ("9223372036854775808", 10, Err(NumError::Overflow)),
            ("-9223372036854775809", 10, Err(NumError::Underflow)),
            ("99999999999999999999x", 10, Err(NumError::Overflow)),
            ("9223372036854775808x", 10, Err(NumError::Syntax)),
        ] {
            assert_eq!(parse_int(text.as_bytes(), base), expected, "{text}");
        }
    }

    #[test]
    fn parses_floats_like_go() {
        for (text, expected) in [
            ("1.5", Some(1.5)),
            ("-.5e1", Some(-5.0)),
            ("0x1.8p3", Some(12.0)),
            ("-0x1p-2", Some(-0.25)),
            ("1_0.5", Some(10.5)),
            ("_1", None),
            ("0x1", None),
            ("+Inf", Some(f64::INFINITY)),
            ("1e400", None),
            ("1.5f", None),
            ("", None),
        ] {
            assert_eq!(parse_float(text.as_bytes()), expected, "{text}");
        }
    }
}
