//! Floating point numbers as Go prints them.

/// Go's `strconv.FormatFloat(value, 'g', -1, 64)`: shortest digits, with an exponent from a million on and
/// below a ten thousandth.
pub fn format_general(value: f64) -> String {
    match special(value) {
        Some(name) => name.to_owned(),
        None => general(&Decimal::shortest(&format!("{value:e}"), |places| {
            format!("{value:.places$e}")
        })),
    }
}

/// Go's `strconv.FormatFloat(value, 'g', -1, 32)`, which is how a number becomes text where a text is wanted,
/// such as an annotation or a chart's version.
pub fn format_as_text(value: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "32 bits is what Go is told"
    )]
    let short = value as f32;
    match special(f64::from(short)) {
        Some(name) => name.to_owned(),
        None => general(&Decimal::shortest(&format!("{short:e}"), |places| {
            format!("{short:.places$e}")
        })),
    }
}

/// The number as Go's JSON package prints it; none if JSON has no form for it.
pub fn format_json(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let decimal = Decimal::shortest(&format!("{value:e}"), |places| format!("{value:.places$e}"));
    let size = value.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return Some(positional(&decimal));
    }
    Some(with_exponent(&decimal, 1))
}

fn special(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        return Some("NaN");
    }
    match value {
        f64::INFINITY => Some("+Inf"),
        f64::NEG_INFINITY => Some("-Inf"),
        _ => None,
    }
}

fn general(decimal: &Decimal) -> String {
    if (-4..6).contains(&decimal.exponent) {
        positional(decimal)
    } else {
        with_exponent(decimal, 2)
    }
}

struct Decimal {
    sign: &'static str,
    /// Without a point.
    digits: String,
    /// Of the first digit.
    exponent: i32,
}

impl Decimal {
    /// From `-1.25e-7`.
    fn new(scientific: &str) -> Self {
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
        let (sign, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", mantissa),
        };
        Self {
            sign,
            digits: mantissa.replace('.', ""),
            exponent: exponent.parse().unwrap_or_default(),
        }
    }

    /// The shortest digits that give the number back. If two are equally near, Rust takes the upper one and Go
    /// the even one. `with_places` prints the number with so many digits after the first.
    fn shortest(scientific: &str, with_places: impl Fn(usize) -> String) -> Self {
        /// No double has more digits.
        const ALL_PLACES: usize = 770;
        let mut shortest = Self::new(scientific);
        let length = shortest.digits.len();
        let last = shortest.digits.pop().unwrap_or('0');
        let is_odd = last.to_digit(10).is_some_and(|digit| digit % 2 == 1);
        // Few digits are never in the middle between two.
        if is_odd && length > 6 {
            let below = char::from_digit(last.to_digit(10).unwrap_or(1) - 1, 10).unwrap_or('0');
            let middle = format!("{}{below}5", shortest.digits);
            if Self::new(&with_places(length)).digits == middle
                && Self::new(&with_places(ALL_PLACES))
                    .digits
                    .trim_end_matches('0')
                    == middle
            {
                shortest.digits.push(below);
                return shortest;
            }
        }
        shortest.digits.push(last);
        shortest
    }
}

fn with_exponent(decimal: &Decimal, width: usize) -> String {
    let (first, rest) = decimal.digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let direction = if decimal.exponent < 0 { '-' } else { '+' };
    let exponent = decimal.exponent.unsigned_abs();
    format!(
        "{}{first}{point}{rest}e{direction}{exponent:0width$}",
        decimal.sign
    )
}

fn positional(decimal: &Decimal) -> String {
    let Decimal {
        sign,
        digits,
        exponent,
    } = decimal;
    let before = usize::try_from(exponent + 1).unwrap_or(0);
    if before == 0 {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
        return format!("{sign}0.{zeros}{digits}");
    }
    if digits.len() <= before {
        let zeros = "0".repeat(before - digits.len());
        return format!("{sign}{digits}{zeros}");
    }
    let (whole, fraction) = digits.split_at(before);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_go() {
        // The number, and what Go makes of it in general, with 32 bits, and in JSON.
        let cases = [
            ("0", "0", "0", "0"),
            ("-0", "-0", "-0", "-0"),
            ("1", "1", "1", "1"),
            ("-1.5", "-1.5", "-1.5", "-1.5"),
            ("100000", "100000", "100000", "100000"),
            ("1000000", "1e+06", "1e+06", "1000000"),
            ("123456.7", "123456.7", "123456.7", "123456.7"),
            ("1234567.8", "1.2345678e+06", "1.2345678e+06", "1234567.8"),
            ("1e20", "1e+20", "1e+20", "100000000000000000000"),
            ("1e21", "1e+21", "1e+21", "1e+21"),
            (
                "123456789.125",
                "1.23456789125e+08",
                "1.2345679e+08",
                "123456789.125",
            ),
            ("0.0001", "0.0001", "0.0001", "0.0001"),
            ("0.00001", "1e-05", "1e-05", "0.00001"),
            ("0.000001", "1e-06", "1e-06", "0.000001"),
            ("0.0000001", "1e-07", "1e-07", "1e-7"),
            ("5e-324", "5e-324", "0", "5e-324"),
            (
                "1.7976931348623157e308",
                "1.7976931348623157e+308",
                "+Inf",
                "1.7976931348623157e+308",
            ),
            (
                "1005369574750092.25",
                "1.0053695747500922e+15",
                "1.0053696e+15",
                "1005369574750092.2",
            ),
            (
                "9007199254740993",
                "9.007199254740992e+15",
                "9.007199e+15",
                "9007199254740992",
            ),
            (
                "9223372036854775807",
                "9.223372036854776e+18",
                "9.223372e+18",
                "9223372036854776000",
            ),
            (
                "18446744073709551615",
                "1.8446744073709552e+19",
                "1.8446744e+19",
                "18446744073709552000",
            ),
            ("1.1", "1.1", "1.1", "1.1"),
            ("3.4028235e39", "3.4028235e+39", "+Inf", "3.4028235e+39"),
            ("16777217", "1.6777217e+07", "1.6777216e+07", "16777217"),
            ("8388608.5", "8.3886085e+06", "8.388608e+06", "8388608.5"),
            ("0.3", "0.3", "0.3", "0.3"),
        ];
        for (number, general, text, json) in cases {
            let value: f64 = number.parse().unwrap();
            assert_eq!(format_general(value), general);
            assert_eq!(format_as_text(value), text);
            assert_eq!(format_json(value).as_deref(), Some(json));
        }
    }

    #[test]
    fn specials_have_names_but_no_json() {
        assert_eq!(format_general(f64::NAN), "NaN");
        assert_eq!(format_general(f64::NEG_INFINITY), "-Inf");
        assert_eq!(format_as_text(1e300), "+Inf");
        assert_eq!(format_json(f64::INFINITY), None);
    }
}
