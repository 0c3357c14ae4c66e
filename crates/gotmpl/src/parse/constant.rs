//! Character and number constants.

use outrigger_gostd::strconv::{
    SyntaxError, Unquoted, parse_float, parse_int, parse_uint, quote_bytes, unquote_char,
};

use crate::ir::{Number, Span};

/// Why a constant does not parse, with the message of text/template.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConstantError {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error("malformed character constant: {0}")]
    MalformedCharacter(String),
    #[error("illegal number syntax: {0}")]
    IllegalNumber(String),
    #[error("integer overflow: {0}")]
    IntegerOverflow(String),
    /// text/template has them, but no template function accepts them.
    #[error("complex constants are not supported: {0}")]
    Complex(String),
}

/// A character constant with its quotes.
pub(super) fn char_constant(token: &[u8], span: Span) -> Result<Number, ConstantError> {
    let rest = token.get(1..).unwrap_or_default();
    let (value, length) = unquote_char(rest, b'\'')?;
    if rest.get(length..) != Some(b"'") {
        let token = String::from_utf8_lossy(token).into_owned();
        return Err(ConstantError::MalformedCharacter(token));
    }
    let code = match value {
        Unquoted::Byte(byte) => u32::from(byte),
        Unquoted::Rune(c) => u32::from(c),
    };
    Ok(Number {
        text: span,
        int: Some(i64::from(code)),
        float: Some(f64::from(code)),
    })
}

/// A number constant that is not complex.
pub(super) fn number(token: &[u8], span: Span) -> Result<Number, ConstantError> {
    if let Some(n) = small_decimal(token) {
        return Ok(Number {
            text: span,
            int: Some(i64::from(n)),
            float: Some(f64::from(n)),
        });
    }
    let imaginary = token.strip_suffix(b"i");
    if imaginary.and_then(parse_float).is_some() {
        return Err(complex(token));
    }
    let uint = parse_uint(token, 0).ok();
    let int = parse_int(token, 0).ok();
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
    let float =
        parse_float(token).ok_or_else(|| ConstantError::IllegalNumber(quote_bytes(token)))?;
    if !token.iter().any(|byte| b".eEpP".contains(byte)) {
        return Err(ConstantError::IntegerOverflow(quote_bytes(token)));
    }
    Ok(Number {
        text: span,
        int: integral(float),
        float: Some(float),
    })
}

/// The error for a constant such as `1+2i`.
pub(super) fn complex(token: &[u8]) -> ConstantError {
    ConstantError::Complex(quote_bytes(token))
}

/// The fast path: a few decimal digits.
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

/// The integer that a float is equal to, if it fits.
fn integral(float: f64) -> Option<i64> {
    let fits = (-TWO_63..TWO_63).contains(&float) && float.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the value is whole and in range"
    )]
    fits.then_some(float as i64)
}
