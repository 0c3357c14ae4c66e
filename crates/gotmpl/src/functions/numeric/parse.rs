//! Numbers read from text, like Go's `strconv`.

/// Why a text is no integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::functions) enum IntError {
    Syntax,
    TooLarge,
    TooSmall,
}

impl IntError {
    /// What Go returns beside the error.
    pub(in crate::functions) fn nearest(self) -> i64 {
        match self {
            Self::Syntax => 0,
            Self::TooLarge => i64::MAX,
            Self::TooSmall => i64::MIN,
        }
    }
}

/// An integer to the given base. Base 0 takes the base from the prefix, as in Go source, with underscores.
pub(in crate::functions) fn parse_int(text: &[u8], base: u32) -> Result<i64, IntError> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let (base, digits, allows_underscore) = match (base, digits) {
        (0, [b'0', b'x' | b'X', digits @ ..]) => (16, digits, true),
        (0, [b'0', b'b' | b'B', digits @ ..]) => (2, digits, true),
        (0, [b'0', b'o' | b'O', digits @ ..]) => (8, digits, true),
        (0, [b'0', digits @ ..]) if !digits.is_empty() => (8, digits, true),
        (0, digits) => {
            if digits.first() == Some(&b'_') {
                return Err(IntError::Syntax);
            }
            (10, digits, true)
        }
        (base, digits) => (base, digits, false),
    };
    if digits.is_empty() || (allows_underscore && !underscores_separate_digits(digits)) {
        return Err(IntError::Syntax);
    }
    let mut value: i128 = 0;
    let mut overflow = false;
    for digit in digits
        .iter()
        .filter(|byte| !allows_underscore || **byte != b'_')
    {
        let digit = char::from(*digit).to_digit(base).ok_or(IntError::Syntax)?;
        value = value * i128::from(base) + i128::from(digit);
        overflow |= value > i128::from(i64::MAX) + 1;
        if overflow {
            value = 0;
        }
    }
    let value = if negative { -value } else { value };
    match i64::try_from(value) {
        Ok(value) if !overflow => Ok(value),
        _ if negative => Err(IntError::TooSmall),
        _ => Err(IntError::TooLarge),
    }
}

/// One underscore may stand between digits, and behind a prefix.
fn underscores_separate_digits(digits: &[u8]) -> bool {
    digits.last() != Some(&b'_') && !digits.windows(2).any(|pair| pair == b"__")
}

/// A float in decimal or hexadecimal; `None` also for numbers out of range.
pub(in crate::functions) fn parse_float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let text = &without_underscores(text)?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
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

/// Underscores may stand between digits; `None` if one stands elsewhere.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_hexdigit)
    };
    let is_prefix = |at: usize| at >= 2 && matches!(bytes[at - 2..at], [b'0', b'x' | b'X']);
    let misplaced = |(at, byte): (usize, &u8)| {
        *byte == b'_' && !((is_digit(at.checked_sub(1)) || is_prefix(at)) && is_digit(Some(at + 1)))
    };
    if bytes.iter().enumerate().any(misplaced) {
        return None;
    }
    Some(text.chars().filter(|c| *c != '_').collect())
}

/// `1.8p3` behind the prefix `0x`; the exponent is required.
fn parse_hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || digits.len() > 13 {
        return None;
    }
    let mantissa = u64::from_str_radix(&digits, 16).ok()?;
    let is_exponent = exponent
        .trim_start_matches(['+', '-'])
        .bytes()
        .all(|b| b.is_ascii_digit());
    let exponent: i32 = exponent.parse().ok().filter(|_| is_exponent)?;
    let shift = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    #[expect(clippy::cast_precision_loss, reason = "at most 52 bits")]
    let number = mantissa as f64 * 2_f64.powi(exponent.checked_sub(shift)?);
    number.is_finite().then_some(number)
}
