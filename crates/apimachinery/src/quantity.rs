//! Resource quantities such as `500m` and `1Gi`: parsing, comparison, addition, and the canonical text.

mod canonical;

use std::cmp::Ordering;

pub use canonical::canonicalize;

/// The smallest unit is a billionth. The largest quantities still fit into an `i128` with room to spare.
const NANO: i128 = 1_000_000_000;
/// Texts with more significant digits are rejected.
const MAX_DIGITS: usize = 27;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    DecimalSi,
    BinarySi,
    DecimalExponent,
}

/// A number and the format of the text that it was parsed from.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// Why a text is not a quantity. The messages are those of kube-apiserver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    #[error("unable to parse quantity's suffix")]
    Suffix,
    #[error("unable to parse numeric part of quantity")]
    Number,
}

impl Quantity {
    pub const ZERO: Self = Self {
        nanos: 0,
        format: Format::DecimalSi,
    };

    pub const ONE: Self = Self {
        nanos: NANO,
        format: Format::DecimalSi,
    };

    pub fn from_count(count: usize) -> Self {
        let count = i128::try_from(count).unwrap_or(i128::MAX);
        Self {
            nanos: count.saturating_mul(NANO),
            format: Format::DecimalSi,
        }
    }

    pub fn parse(text: &str) -> Result<Self, Error> {
        let (is_negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            Some(_) => (false, text),
            None => return Err(Error::Format),
        };
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, suffix) = unsigned.split_at(end.unwrap_or(unsigned.len()));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return Err(Error::Format);
        }
        let (format, base, exponent) = parse_suffix(suffix)?;
        let magnitude = magnitude(whole, fraction, base, exponent)?;
        let nanos = if is_negative { -magnitude } else { magnitude };
        let format = if format == Format::BinarySi && (1..NANO).contains(&nanos) {
            Format::DecimalSi
        } else {
            format
        };
        Ok(Self { nanos, format })
    }

    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    pub fn is_negative(&self) -> bool {
        self.nanos < 0
    }

    pub fn is_whole(&self) -> bool {
        self.nanos % NANO == 0
    }

    /// The value rounded away from zero to a whole number.
    pub fn rounded_up(&self) -> i128 {
        let whole = self.nanos / NANO;
        whole + (self.nanos % NANO).signum()
    }

    /// Rounds away from zero to a whole number.
    #[must_use]
    pub fn to_whole(mut self) -> Self {
        self.nanos = self.rounded_up().saturating_mul(NANO);
        self
    }

    /// Rounds away from zero to thousandths, the precision of resource usage.
    #[must_use]
    pub fn to_millis(mut self) -> Self {
        const MICRO_NANO: i128 = NANO / 1000;
        let rest = self.nanos % MICRO_NANO;
        if rest != 0 {
            self.nanos += rest.signum() * MICRO_NANO - rest;
        }
        self
    }

    #[expect(clippy::cast_precision_loss, reason = "ratios are approximate")]
    pub fn to_f64(self) -> f64 {
        self.nanos as f64 / NANO as f64
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let format = if self.is_zero() {
            other.format
        } else {
            self.format
        };
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            format,
        }
    }

    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.plus(other.negated())
    }

    #[must_use]
    pub fn negated(self) -> Self {
        Self {
            nanos: self.nanos.saturating_neg(),
            ..self
        }
    }

    /// The canonical text: no fractional digits, and the largest possible suffix.
    pub fn canonical(&self) -> String {
        let whole = self.nanos / NANO;
        let text = match self.format {
            Format::BinarySi if self.is_whole() && whole.abs() >= 1024 => {
                if whole % 1024 != 0 {
                    return whole.to_string();
                }
                format!("{}Ki", whole / 1024)
            }
            Format::DecimalExponent => format!("{}e-9", self.nanos),
            Format::BinarySi | Format::DecimalSi => format!("{}n", self.nanos),
        };
        canonicalize(&text).unwrap_or(text)
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::ZERO
    }
}

impl From<i64> for Quantity {
    fn from(number: i64) -> Self {
        Self {
            nanos: i128::from(number).saturating_mul(NANO),
            format: Format::DecimalSi,
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.nanos.partial_cmp(&other.nanos)
    }
}

/// The format, base and exponent of a suffix.
fn parse_suffix(suffix: &str) -> Result<(Format, i128, i32), Error> {
    let decimal = |exponent| Ok((Format::DecimalSi, 10, exponent));
    let binary = |exponent| Ok((Format::BinarySi, 2, exponent));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => match suffix.strip_prefix(['e', 'E']) {
            Some(exponent) if is_integer(exponent) => {
                let exponent = exponent.parse().map_err(|_| Error::Suffix)?;
                Ok((Format::DecimalExponent, 10, exponent))
            }
            _ if is_well_formed_suffix(suffix) => Err(Error::Suffix),
            _ => Err(Error::Format),
        },
    }
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a suffix matches the regular expression of [`Error::Format`].
fn is_well_formed_suffix(suffix: &str) -> bool {
    let rest = suffix.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    rest.bytes().all(|byte| byte.is_ascii_digit())
}

/// The value in billionths, rounded up.
fn magnitude(whole: &str, fraction: &str, base: i128, exponent: i32) -> Result<i128, Error> {
    // Larger ones are all the same. The text of this one can be parsed.
    const LARGEST: i128 = 10i128.pow(35);
    let whole = whole.trim_start_matches('0');
    let fraction = fraction.trim_end_matches('0');
    if whole.len() + fraction.len() > MAX_DIGITS {
        return Err(Error::Number);
    }
    let digits = format!("0{whole}{fraction}");
    let digits: i128 = digits.parse().map_err(|_| Error::Number)?;
    // The value is digits * base^exponent / 10^fraction; in billionths, times 10^9.
    let mut tens = 9 - i32::try_from(fraction.len()).map_err(|_| Error::Number)?;
    let mut value = digits;
    if base == 2 {
        let factor = 1i128.checked_shl(exponent.unsigned_abs());
        value = value.saturating_mul(factor.unwrap_or(LARGEST)).min(LARGEST);
    } else {
        tens = tens.saturating_add(exponent);
    }
    if value == 0 {
        return Ok(0);
    }
    if tens >= 0 {
        let factor = 10i128.checked_pow(tens.unsigned_abs()).unwrap_or(LARGEST);
        return Ok(value.saturating_mul(factor).min(LARGEST));
    }
    let divisor = 10i128.checked_pow(tens.unsigned_abs()).unwrap_or(LARGEST);
    Ok(value / divisor + i128::from(value % divisor != 0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, canonical: &str) {
        assert_eq!(
            Quantity::parse(text).unwrap().canonical(),
            canonical,
            "{text}"
        );
    }

    #[test]
    fn canonical_text_matches_kube_apiserver() {
        for (text, canonical) in [
            ("0", "0"),
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1000", "1k"),
            ("1500", "1500"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1023", "1023"),
            ("1Ki", "1Ki"),
            ("0.5Ki", "512"),
            ("812.5Ki", "832000"),
            ("832000", "832k"),
            ("0.1Ti", "109951162777600m"),
            ("2e3", "2e3"),
            ("12e5", "1200e3"),
            ("2000.0", "2k"),
            ("100u", "100u"),
            ("0.0000000001", "1n"),
            ("-1", "-1"),
            ("+1.50", "1500m"),
            ("1E", "1E"),
            (".5", "500m"),
            ("5.", "5"),
        ] {
            check(text, canonical);
        }
    }

    #[test]
    fn quantities_beyond_the_largest_are_greater_than_others_and_can_be_parsed_again() {
        for text in ["1e30", "1e400", "99999999999999999999Ei"] {
            let large = Quantity::parse(text).unwrap();
            assert!(large > Quantity::parse("1E").unwrap(), "{text}");
            let again = Quantity::parse(&large.to_millis().canonical()).unwrap();
            assert!(again > Quantity::parse("1E").unwrap(), "{text}");
        }
    }

    #[test]
    fn parse_errors_name_the_reason() {
        assert_eq!(Quantity::parse("1x").unwrap_err(), Error::Format);
        assert_eq!(Quantity::parse("").unwrap_err(), Error::Format);
        assert_eq!(Quantity::parse("1.2.3").unwrap_err(), Error::Format);
        assert_eq!(Quantity::parse("1mi").unwrap_err(), Error::Suffix);
    }

    proptest! {
        #[test]
        fn canonical_text_keeps_the_value_and_is_canonical(text in "[-+]?[0-9]{1,6}(\\.[0-9]{1,4})?(Ki|Mi|Gi|m|k|M|e[0-9])?") {
            let quantity = Quantity::parse(&text).unwrap();
            let canonical = quantity.canonical();
            let again = Quantity::parse(&canonical).unwrap();
            prop_assert_eq!(again, quantity);
            // A binary quantity may become a decimal one, as in kube-apiserver.
            let becomes_decimal = text.ends_with('i') && !canonical.ends_with('i');
            if !becomes_decimal {
                prop_assert_eq!(again.canonical(), canonical);
            }
        }

        #[test]
        fn parsing_never_panics(text in "\\PC{0,12}") {
            let _ = Quantity::parse(&text).map(|quantity| quantity.canonical());
        }
    }
}
