//! Quantities (`500m`, `1Gi`) in the one form that a server writes: a whole number with the largest suffix that
//! keeps it whole.

/// How a quantity was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    Decimal,
    Binary,
    Exponent,
}

/// One thousand million parts: the smallest that is kept.
const NANO: i128 = 1_000_000_000;

/// The canonical form of a quantity, or nothing if it is none or too large to tell.
pub(super) fn canonical(text: &str) -> Option<String> {
    let text = text.trim();
    let (is_negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (factor, power, notation) = scale(suffix)?;
    if notation != Notation::Binary && looks_canonical(number, power) {
        return Some(text.to_owned());
    }
    let nanos = nanos(number, factor, power)?;
    let nanos = if is_negative { -nanos } else { nanos };
    if nanos == 0 {
        return Some("0".to_owned());
    }
    let is_small = nanos.abs() < 1024 * NANO;
    match notation {
        Notation::Binary if !is_small && nanos % NANO == 0 => Some(binary(nanos / NANO)),
        Notation::Exponent => Some(decimal(nanos, exponent_suffix)),
        Notation::Binary | Notation::Decimal => Some(decimal(nanos, decimal_suffix)),
    }
}

/// Whether a text is a quantity.
pub(crate) fn is_quantity(text: &str) -> bool {
    let unsigned = text.trim().trim_start_matches(['+', '-']);
    let end = unsigned
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let has_digits = number.bytes().any(|byte| byte.is_ascii_digit());
    let exponent = suffix.strip_prefix(['e', 'E']).map(str::parse::<i64>);
    has_digits
        && number.matches('.').count() <= 1
        && (scale(suffix).is_some() || matches!(exponent, Some(Ok(_))))
}

/// Numbers that look canonical are kept as they are written, even `1.500`.
fn looks_canonical(number: &str, power: i32) -> bool {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('0'));
    let Ok(places) = i32::try_from(fraction.len()) else {
        return false;
    };
    let power = power - places;
    let is_known = digits.len() < 18 && !whole.trim_start_matches('0').is_empty() && power >= -9;
    is_known && power % 3 == 0 && !digits.ends_with("000")
}

/// The factor and the power of ten that a suffix stands for.
fn scale(suffix: &str) -> Option<(i128, i32, Notation)> {
    let decimal = |power| Some((1, power, Notation::Decimal));
    let binary = |power: u32| Some((1024_i128.checked_pow(power)?, 0, Notation::Binary));
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
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (-30..=30)
                .contains(&power)
                .then_some((1, power, Notation::Exponent))
        }
    }
}

/// Billionths, rounded up.
fn nanos(number: &str, factor: i128, power: i32) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let digits = digits.checked_mul(factor)?;
    let power = power + 9 - i32::try_from(fraction.len()).ok()?;
    let tens = 10_i128.checked_pow(power.unsigned_abs())?;
    if power >= 0 {
        return digits.checked_mul(tens);
    }
    Some(digits / tens + i128::from(digits % tens != 0))
}

fn binary(mut number: i128) -> String {
    let suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let mut place = 0;
    while number % 1024 == 0 && place + 1 < suffixes.len() {
        number /= 1024;
        place += 1;
    }
    format!("{number}{}", suffixes[place])
}

fn decimal(mut number: i128, suffix: impl Fn(i32) -> String) -> String {
    let mut power = -9;
    while number % 1000 == 0 && power < 18 {
        number /= 1000;
        power += 3;
    }
    format!("{number}{}", suffix(power))
}

fn decimal_suffix(power: i32) -> String {
    let suffix = match power {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => "",
    };
    suffix.to_owned()
}

fn exponent_suffix(power: i32) -> String {
    if power == 0 {
        String::new()
    } else {
        format!("e{power}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_one_form() {
        let cases = [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1.5", "1500m"),
            ("100000", "100k"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1e3"),
            ("12e6", "12e6"),
            ("0Gi", "0"),
            ("512Ki", "512Ki"),
            ("1Ki", "1Ki"),
            ("0.5Ki", "512"),
            ("-1000m", "-1"),
            ("1234567890", "1234567890"),
            ("0.0000000001", "1n"),
            ("+5k", "+5k"),
            ("1.500", "1.500"),
            ("1.5k", "1500"),
            ("0.1Gi", "107374182400m"),
            ("1000e0", "1e3"),
            ("3e-3", "3e-3"),
        ];
        for (text, expected) in cases {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "x", "1x", "--1", ".", "1e999"] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
