//! Durations in nanoseconds, as Go's `time.Duration` reads and prints them.

use super::parse::quote;

const SECOND: u64 = 1_000_000_000;

/// `1h30m`, `1.5s` or `-300ms` in nanoseconds.
pub(super) fn parse(text: &[u8]) -> Result<i64, String> {
    let problem = |problem: &str| format!("time: {problem} {}", quote(text));
    let invalid = || problem("invalid duration");
    let (negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    if rest == b"0" {
        return Ok(0);
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
        if let [b'.', behind @ ..] = rest {
            fraction = &behind[..leading_digits(behind)];
            rest = &behind[fraction.len()..];
        }
        if whole_length == 0 && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_length = rest
            .iter()
            .position(|b| *b == b'.' || b.is_ascii_digit())
            .unwrap_or(rest.len());
        if unit_length == 0 {
            return Err(problem("missing unit in duration"));
        }
        let (name, behind) = rest.split_at(unit_length);
        rest = behind;
        let unit = unit_nanos(name)
            .ok_or_else(|| problem(&format!("unknown unit {} in duration", quote(name))))?;
        let part = whole
            .checked_mul(unit)
            .and_then(|nanos| nanos.checked_add(fraction_nanos(fraction, unit)));
        total = part
            .and_then(|part| total.checked_add(part))
            .filter(|total| *total <= 1 << 63)
            .ok_or_else(invalid)?;
    }
    match (negative, i64::try_from(total)) {
        (true, _) => Ok(total.wrapping_neg().cast_signed()),
        (false, Ok(total)) => Ok(total),
        (false, Err(_)) => Err(invalid()),
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

/// A decimal fraction of a unit, calculated in floats as Go does.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the result is below one unit"
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

/// The nearest multiple of `unit`, half away from zero.
pub(super) fn rounded(nanos: i64, unit: i64) -> i64 {
    if unit <= 0 {
        return nanos;
    }
    let rest = nanos % unit;
    let toward_zero = nanos - rest;
    if rest.unsigned_abs() * 2 < unit.unsigned_abs() {
        toward_zero
    } else {
        toward_zero.saturating_add(if nanos < 0 { -unit } else { unit })
    }
}

/// What Go prints, such as `1h2m3.5s`.
pub(super) fn text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let magnitude = nanos.unsigned_abs();
    if magnitude == 0 {
        return "0s".to_owned();
    }
    if magnitude < SECOND {
        let (unit, name) = match magnitude {
            0..1000 => (1, "ns"),
            1000..1_000_000 => (1000, "µs"),
            _ => (1_000_000, "ms"),
        };
        return format!("{sign}{}{name}", decimal(magnitude, unit));
    }
    let (hours, rest) = (magnitude / (3600 * SECOND), magnitude % (3600 * SECOND));
    let (minutes, rest) = (rest / (60 * SECOND), rest % (60 * SECOND));
    let seconds = decimal(rest, SECOND);
    if hours > 0 {
        format!("{sign}{hours}h{minutes}m{seconds}s")
    } else if minutes > 0 {
        format!("{sign}{minutes}m{seconds}s")
    } else {
        format!("{sign}{seconds}s")
    }
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
