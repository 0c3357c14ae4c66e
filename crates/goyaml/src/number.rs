//! Floating point numbers as Go prints them.

/// Go's `strconv.FormatFloat(value, 'g', -1, 64)`: shortest digits, with an exponent from a million on and
/// below a ten thousandth.
pub fn format_general(value: f64) -> String {
    general(special(value), || format!("{value:e}"))
}

/// Go's `strconv.FormatFloat(value, 'g', -1, 32)`, which is how a number becomes text where a text is wanted,
/// such as an annotation or a chart's version.
pub fn format_as_text(value: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "32 bits is what Go is told"
    )]
    let short = value as f32;
    general(special(f64::from(short)), || format!("{short:e}"))
}

/// The number as Go's JSON package prints it; none if JSON has no form for it.
pub fn format_json(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let (digits, exponent) = split(&format!("{value:e}"));
        return Some(with_exponent(&digits, exponent, 1));
    }
    Some(format!("{value}"))
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

fn general(special: Option<&str>, scientific: impl Fn() -> String) -> String {
    if let Some(name) = special {
        return name.to_owned();
    }
    let (digits, exponent) = split(&scientific());
    if (-4..6).contains(&exponent) {
        positional(&digits, exponent)
    } else {
        with_exponent(&digits, exponent, 2)
    }
}

/// Splits `-1.25e-7` into `-125` and the exponent of its first digit.
fn split(scientific: &str) -> (String, i32) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (
        mantissa.replace('.', ""),
        exponent.parse().unwrap_or_default(),
    )
}

fn with_exponent(digits: &str, exponent: i32, width: usize) -> String {
    let (sign, digits) = unsign(digits);
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let direction = if exponent < 0 { '-' } else { '+' };
    let exponent = exponent.unsigned_abs();
    format!("{sign}{first}{point}{rest}e{direction}{exponent:0width$}")
}

fn positional(digits: &str, exponent: i32) -> String {
    let (sign, digits) = unsign(digits);
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

fn unsign(digits: &str) -> (&str, &str) {
    match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    }
}
