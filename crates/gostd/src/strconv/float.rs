//! `strconv.FormatFloat`

/// `0.DIGITS * 10^point`, without leading or trailing zeros.
struct Decimal {
    digits: Vec<u8>,
    point: i32,
}

/// No float has more decimal digits; a larger precision only appends zeros.
const MAX_DIGITS: usize = 1100;

/// `strconv.AppendFloat` with 64 bits. No precision, which is -1 in Go, means the shortest digits that parse back to `x`.
pub fn append_float(out: &mut Vec<u8>, x: f64, format: u8, precision: Option<usize>) {
    if append_small_integer(out, x, format, precision) || append_special(out, x) {
        return;
    }
    if x.is_sign_negative() {
        out.push(b'-');
    }
    let x = x.abs();
    match format {
        b'b' => append_binary(out, x),
        b'x' | b'X' => append_hex(out, x, format, precision),
        b'e' | b'E' => {
            let decimal = Decimal::new(x, precision.map(|p| p + 1));
            let places = precision.unwrap_or_else(|| decimal.digits.len().saturating_sub(1));
            decimal.append_exponent(out, places, format);
        }
        b'f' | b'F' => {
            let decimal = match precision {
                Some(places) => Decimal::with_places(x, places),
                None => Decimal::new(x, None),
            };
            let places = precision.unwrap_or_else(|| decimal.places());
            decimal.append_point(out, places);
        }
        _ => {
            let precision = precision.map(|p| p.max(1));
            append_general(out, &Decimal::new(x, precision), format, precision);
        }
    }
}

/// `strconv.FormatFloat` with 64 bits.
pub fn format_float(x: f64, format: u8, precision: Option<usize>) -> String {
    let mut out = Vec::new();
    append_float(&mut out, x, format, precision);
    String::from_utf8(out).unwrap_or_default()
}

/// `strconv.FormatFloat(x, 'g', -1, 32)`
pub fn format_float32(x: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "Go rounds to 32 bits as well"
    )]
    let short = x as f32;
    let mut out = Vec::new();
    if !append_special(&mut out, f64::from(short)) {
        if short.is_sign_negative() {
            out.push(b'-');
        }
        append_general(&mut out, &Decimal::shortest32(short.abs()), b'g', None);
    }
    String::from_utf8(out).unwrap_or_default()
}

/// The fast path: a small integer.
fn append_small_integer(out: &mut Vec<u8>, x: f64, format: u8, precision: Option<usize>) -> bool {
    let fits = format == b'g' && precision.is_none() && x.abs() < 1e6 && x.fract() == 0.0;
    if !fits || (x == 0.0 && x.is_sign_negative()) {
        return false;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a whole number below a million"
    )]
    super::append_int(out, x as i64);
    true
}

fn append_special(out: &mut Vec<u8>, x: f64) -> bool {
    let text: &[u8] = if x.is_nan() {
        b"NaN"
    } else if x == f64::INFINITY {
        b"+Inf"
    } else if x == f64::NEG_INFINITY {
        b"-Inf"
    } else {
        return false;
    };
    out.extend_from_slice(text);
    true
}

fn append_general(out: &mut Vec<u8>, decimal: &Decimal, format: u8, precision: Option<usize>) {
    let count = decimal.digits.len();
    let threshold = match precision {
        None => 6,
        Some(p) if p > count && as_i64(count) >= i64::from(decimal.point) => as_i64(count),
        Some(p) => as_i64(p),
    };
    let exponent = i64::from(decimal.point) - 1;
    if exponent < -4 || exponent >= threshold {
        let places = precision.unwrap_or(count).min(count).max(1) - 1;
        decimal.append_exponent(out, places, if format == b'G' { b'E' } else { b'e' });
    } else {
        decimal.append_point(out, decimal.places());
    }
}

fn as_i64(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Decimal {
    /// `count` significant digits, or the shortest digits that parse back to `x`.
    fn new(x: f64, count: Option<usize>) -> Self {
        let text = match count {
            None => format!("{x:e}"),
            Some(count) => format!("{x:.*e}", count.clamp(1, MAX_DIGITS) - 1),
        };
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        if count.is_none() {
            round_tie_to_even(x, &mut digits, 15, |mantissa| {
                format!("{mantissa}e{exponent}").parse() == Ok(x)
            });
        }
        Self::trimmed(digits, exponent.parse::<i32>().unwrap_or(0) + 1)
    }

    /// The shortest digits that parse back to `x` with 32 bits.
    fn shortest32(x: f32) -> Self {
        let text = format!("{x:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        round_tie_to_even(f64::from(x), &mut digits, 6, |mantissa| {
            format!("{mantissa}e{exponent}").parse() == Ok(x)
        });
        Self::trimmed(digits, exponent.parse::<i32>().unwrap_or(0) + 1)
    }

    /// Rounded to `places` digits after the decimal point.
    fn with_places(x: f64, places: usize) -> Self {
        let text = format!("{x:.*}", places.min(MAX_DIGITS));
        let point = text.find('.').unwrap_or(text.len());
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
        let leading = digits.iter().take_while(|d| **d == b'0').count();
        let point = as_i32(point) - as_i32(leading);
        Self::trimmed(digits[leading..].to_vec(), point)
    }

    fn trimmed(mut digits: Vec<u8>, point: i32) -> Self {
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Self { digits, point: 0 };
        }
        Self { digits, point }
    }

    /// The number of digits after the decimal point.
    fn places(&self) -> usize {
        usize::try_from(as_i32(self.digits.len()) - self.point).unwrap_or(0)
    }

    fn digit(&self, at: i32) -> u8 {
        usize::try_from(at)
            .ok()
            .and_then(|at| self.digits.get(at).copied())
            .unwrap_or(b'0')
    }

    fn append_exponent(&self, out: &mut Vec<u8>, places: usize, letter: u8) {
        out.push(self.digit(0));
        if places > 0 {
            out.push(b'.');
            let known = self.digits.get(1..).unwrap_or_default();
            let known = &known[..known.len().min(places)];
            out.extend_from_slice(known);
            out.resize(out.len() + places - known.len(), b'0');
        }
        let exponent = if self.digits.is_empty() {
            0
        } else {
            self.point - 1
        };
        out.push(letter);
        out.push(if exponent < 0 { b'-' } else { b'+' });
        out.extend_from_slice(format!("{:02}", exponent.unsigned_abs()).as_bytes());
    }

    fn append_point(&self, out: &mut Vec<u8>, places: usize) {
        if self.point <= 0 {
            out.push(b'0');
        }
        out.extend((0..self.point).map(|at| self.digit(at)));
        if places > 0 {
            out.push(b'.');
            out.extend((0..as_i32(places)).map(|at| self.digit(self.point.saturating_add(at))));
        }
    }
}

/// Of two shortest forms that are equally near to `x`, Go chooses the one with an even last digit, Rust the larger one.
/// Numbers with fewer than `min_digits` digits have only one shortest form.
fn round_tie_to_even(
    x: f64,
    digits: &mut [u8],
    min_digits: usize,
    parses_back: impl Fn(&str) -> bool,
) {
    let count = digits.len();
    let Some(last) = digits
        .last_mut()
        .filter(|last| count >= min_digits && **last % 2 == 1)
    else {
        return;
    };
    *last -= 1;
    let smaller = String::from_utf8_lossy(digits);
    let parses_back = parses_back(&format!("{}.{}", &smaller[..1], &smaller[1..]));
    // It is a tie if the digits after the last one are a five and zeros.
    let exact = format!("{x:.*e}", count + 30);
    let tail = exact.split('e').next().unwrap_or_default();
    let is_tie = tail.get(count + 1..).is_some_and(|tail| {
        tail.strip_prefix('5')
            .is_some_and(|zeros| zeros.bytes().all(|b| b == b'0'))
    });
    if !(parses_back && is_tie)
        && let Some(last) = digits.last_mut()
    {
        *last += 1;
    }
}

fn as_i32(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// The mantissa as an integer, and the binary exponent.
fn parts(x: f64) -> (u64, i64) {
    let bits = x.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let exponent = i64::try_from((bits >> 52) & 0x7ff).unwrap_or(0);
    if exponent == 0 {
        (fraction, 1 - 1075)
    } else {
        (fraction | (1 << 52), exponent - 1075)
    }
}

fn append_binary(out: &mut Vec<u8>, x: f64) {
    let (mantissa, exponent) = parts(x);
    out.extend_from_slice(format!("{mantissa}p{exponent:+}").as_bytes());
}

fn append_hex(out: &mut Vec<u8>, x: f64, format: u8, precision: Option<usize>) {
    let (mut mantissa, mut exponent) = parts(x);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // One bit before the binary point, sixty after it, and one for the carry of the rounding.
        exponent += 52;
        mantissa <<= 60 - 52;
        while mantissa & (1 << 60) == 0 {
            mantissa <<= 1;
            exponent -= 1;
        }
    }
    if let Some(places) = precision.filter(|p| *p < 15) {
        let shift = places * 4;
        let extra = (mantissa << shift) & ((1 << 60) - 1);
        mantissa >>= 60 - shift;
        if extra | (mantissa & 1) > 1 << 59 {
            mantissa += 1;
        }
        mantissa <<= 60 - shift;
        if mantissa & (1 << 61) != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let upper = format == b'X';
    out.extend_from_slice(if upper { b"0X" } else { b"0x" });
    out.push(if mantissa >> 60 == 0 { b'0' } else { b'1' });
    let mut rest = mantissa & ((1 << 60) - 1);
    let digits = std::iter::from_fn(|| {
        let digit = rest >> 56;
        rest = (rest << 4) & ((1 << 60) - 1);
        Some(char::from_digit(u32::try_from(digit).unwrap_or(0), 16).unwrap_or('0'))
    });
    let mut text: String = match precision {
        None => digits.take(15).collect(),
        Some(places) => digits.take(places).collect(),
    };
    if precision.is_none() {
        text.truncate(text.trim_end_matches('0').len());
    }
    if !text.is_empty() {
        out.push(b'.');
        if upper {
            text.make_ascii_uppercase();
        }
        out.extend_from_slice(text.as_bytes());
    }
    out.push(if upper { b'P' } else { b'p' });
    out.push(if exponent < 0 { b'-' } else { b'+' });
    out.extend_from_slice(format!("{:02}", exponent.unsigned_abs()).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn formats_shortest_floats_like_go() {
        // The number, and its form with 64 bits, with 32 bits and in JSON.
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
        for (number, general, general32, json) in cases {
            let x: f64 = number.parse().unwrap();
            assert_eq!(format_float(x, b'g', None), general);
            assert_eq!(format_float32(x), general32);
            assert_eq!(json::format_float(x).as_deref(), Some(json));
        }
    }

    #[test]
    fn formats_special_values_by_name() {
        assert_eq!(format_float(f64::NAN, b'g', None), "NaN");
        assert_eq!(format_float(f64::NEG_INFINITY, b'g', None), "-Inf");
        assert_eq!(format_float32(1e300), "+Inf");
        assert_eq!(json::format_float(f64::INFINITY), None);
    }
}
