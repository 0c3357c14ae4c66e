//! `time.Duration`: `ParseDuration`, `String` and rounding.

use std::fmt;

use super::quote;

const SECOND: u64 = 1_000_000_000;

/// `time.Duration`, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(pub i64);

/// The error of `time.ParseDuration`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("time: invalid duration {}", quote(.0))]
    Invalid(Vec<u8>),
    #[error("time: missing unit in duration {}", quote(.0))]
    MissingUnit(Vec<u8>),
    #[error("time: unknown unit {} in duration {}", quote(.unit), quote(.duration))]
    UnknownUnit { unit: Vec<u8>, duration: Vec<u8> },
}

impl Duration {
    pub const SECOND: Self = Self(1_000_000_000);
    pub const MINUTE: Self = Self(60 * Self::SECOND.0);
    pub const HOUR: Self = Self(60 * Self::MINUTE.0);

    /// `time.ParseDuration`: `1h30m`, `1.5s`, `-300ms`.
    pub fn parse(text: &[u8]) -> Result<Self, DurationError> {
        let invalid = || DurationError::Invalid(text.to_vec());
        let (negative, mut rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] | rest => (false, rest),
        };
        if rest == b"0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let whole_length = leading_digits(rest);
            let whole = whole_number(&rest[..whole_length]).ok_or_else(invalid)?;
            rest = &rest[whole_length..];
            let mut fraction: &[u8] = b"";
            if let [b'.', after @ ..] = rest {
                fraction = &after[..leading_digits(after)];
                rest = &after[fraction.len()..];
            }
            if whole_length == 0 && fraction.is_empty() {
                return Err(invalid());
            }
            let unit_length = rest
                .iter()
                .position(|b| *b == b'.' || b.is_ascii_digit())
                .unwrap_or(rest.len());
            if unit_length == 0 {
                return Err(DurationError::MissingUnit(text.to_vec()));
            }
            let (name, after) = rest.split_at(unit_length);
            rest = after;
            let unit = unit_nanos(name).ok_or_else(|| DurationError::UnknownUnit {
                unit: name.to_vec(),
                duration: text.to_vec(),
            })?;
            let part = whole
                .checked_mul(unit)
                .and_then(|nanos| nanos.checked_add(fraction_nanos(fraction, unit)));
            total = part
                .and_then(|part| total.checked_add(part))
                .filter(|total| *total <= 1 << 63)
                .ok_or_else(invalid)?;
        }
        match (negative, i64::try_from(total)) {
            (true, _) => Ok(Self(total.wrapping_neg().cast_signed())),
            (false, Ok(total)) => Ok(Self(total)),
            (false, Err(_)) => Err(invalid()),
        }
    }

    /// `Duration.Round`: the nearest multiple of `unit`, halves away from zero.
    #[must_use]
    pub fn round(self, unit: Self) -> Self {
        if unit.0 <= 0 {
            return self;
        }
        let remainder = self.0 % unit.0;
        let truncated = self.0 - remainder;
        if remainder.unsigned_abs() * 2 < unit.0.unsigned_abs() {
            Self(truncated)
        } else {
            Self(truncated.saturating_add(if self.0 < 0 { -unit.0 } else { unit.0 }))
        }
    }

    /// `Duration.Truncate`: the multiple of `unit` towards zero.
    #[must_use]
    pub fn truncate(self, unit: Self) -> Self {
        if unit.0 <= 0 {
            return self;
        }
        Self(self.0 - self.0 % unit.0)
    }
}

/// `Duration.String`, such as `1h2m3.5s`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        if magnitude == 0 {
            return f.write_str("0s");
        }
        if magnitude < SECOND {
            let (unit, name) = match magnitude {
                0..1000 => (1, "ns"),
                1000..1_000_000 => (1000, "µs"),
                _ => (1_000_000, "ms"),
            };
            return write!(f, "{sign}{}{name}", decimal(magnitude, unit));
        }
        let (hours, rest) = (magnitude / (3600 * SECOND), magnitude % (3600 * SECOND));
        let (minutes, rest) = (rest / (60 * SECOND), rest % (60 * SECOND));
        let seconds = decimal(rest, SECOND);
        if hours > 0 {
            write!(f, "{sign}{hours}h{minutes}m{seconds}s")
        } else if minutes > 0 {
            write!(f, "{sign}{minutes}m{seconds}s")
        } else {
            write!(f, "{sign}{seconds}s")
        }
    }
}

fn leading_digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn whole_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    std::str::from_utf8(digits)
        .ok()?
        .parse()
        .ok()
        .filter(|n: &u64| *n <= 1 << 63)
}

fn unit_nanos(name: &[u8]) -> Option<u64> {
    Some(match name {
        b"ns" => 1,
        b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => 1000,
        b"ms" => 1_000_000,
        b"s" => SECOND,
        b"m" => 60 * SECOND,
        b"h" => 3600 * SECOND,
        _ => return None,
    })
}

/// A decimal fraction of a unit. Go computes it with a float, so that `0.3333333333333333333h` is 20 minutes.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the result is less than one unit"
)]
fn fraction_nanos(digits: &[u8], unit: u64) -> u64 {
    let mut value: u64 = 0;
    let mut scale = 1.0;
    for digit in digits {
        let next = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(u64::from(digit - b'0')));
        let Some(next) = next.filter(|next| *next <= 1 << 63) else {
            break;
        };
        value = next;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

/// `nanos / unit` with as many decimals as needed. The unit is a power of ten.
fn decimal(nanos: u64, unit: u64) -> String {
    let places = usize::try_from(unit.ilog10()).unwrap_or(0);
    let fraction = format!("{:0places$}", nanos % unit);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        (nanos / unit).to_string()
    } else {
        format!("{}.{fraction}", nanos / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints_durations_like_go() {
        for (text, nanos, string) in [
            ("0", 0, "0s"),
            ("300ms", 300_000_000, "300ms"),
            ("1m30s", 90_000_000_000, "1m30s"),
            ("1.5h", 5_400_000_000_000, "1h30m0s"),
            ("-1.5us", -1500, "-1.5µs"),
            (".5s", 500_000_000, "500ms"),
            ("0.3333333333333333333h", 1_200_000_000_000, "20m0s"),
            (
                "-9223372036854775808ns",
                i64::MIN,
                "-2562047h47m16.854775808s",
            ),
        ] {
            let duration = Duration::parse(text.as_bytes()).unwrap();
            assert_eq!((duration.0, &*duration.to_string()), (nanos, string));
        }
    }

    #[test]
    fn rejects_malformed_durations_with_the_errors_of_go() {
        for (text, message) in [
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            ("m", "time: invalid duration \"m\""),
            ("5", "time: missing unit in duration \"5\""),
            ("1.2.3s", "time: missing unit in duration \"1.2.3s\""),
            ("5x", "time: unknown unit \"x\" in duration \"5x\""),
            (
                "9223372036854775808ns",
                "time: invalid duration \"9223372036854775808ns\"",
            ),
        ] {
            let error = Duration::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
