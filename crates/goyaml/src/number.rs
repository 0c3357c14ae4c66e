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
