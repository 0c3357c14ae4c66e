//! Floating point numbers as text, like Go's `strconv.FormatFloat` for 64 bits.

/// The decimal digits of a number without leading or trailing zeros, and where the point stands:
/// `0.DIGITS * 10^point`.
struct Decimal {
    digits: Vec<u8>,
    point: i32,
}

/// More decimal digits than any float has; a larger precision only appends zeros.
const MAX_DIGITS: usize = 1100;

/// Appends `x` in the format `e E f g G b x X`; without a precision, the fewest digits that read back the same.
pub(crate) fn write(out: &mut Vec<u8>, x: f64, format: u8, precision: Option<usize>) {
    if write_small_integer(out, x, format, precision) || write_special(out, x) {
        return;
    }
    if x.is_sign_negative() {
        out.push(b'-');
    }
    let x = x.abs();
    match format {
        b'b' => write_binary(out, x),
        b'x' | b'X' => write_hex(out, x, format, precision),
        b'e' | b'E' => {
            let decimal = Decimal::new(x, precision.map(|p| p + 1));
            let places = precision.unwrap_or_else(|| decimal.digits.len().saturating_sub(1));
            decimal.write_exponent(out, places, format);
        }
        b'f' | b'F' => {
            let decimal = match precision {
                Some(places) => Decimal::with_places(x, places),
                None => Decimal::new(x, None),
            };
            let places = precision.unwrap_or_else(|| decimal.places());
            decimal.write_point(out, places);
        }
        _ => write_general(out, x, format, precision),
    }
}

/// The text of `x` in the given format.
pub(crate) fn text(x: f64, format: u8, precision: Option<usize>) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, x, format, precision);
    out
}

/// The common case: a whole number that needs no exponent.
fn write_small_integer(out: &mut Vec<u8>, x: f64, format: u8, precision: Option<usize>) -> bool {
    let fits = format == b'g' && precision.is_none() && x.abs() < 1e6 && x.fract() == 0.0;
    if !fits || (x == 0.0 && x.is_sign_negative()) {
        return false;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a whole number below a million"
    )]
    super::write_integer(out, x as i64);
    true
}

fn write_special(out: &mut Vec<u8>, x: f64) -> bool {
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

fn write_general(out: &mut Vec<u8>, x: f64, format: u8, precision: Option<usize>) {
    let precision = precision.map(|p| p.max(1));
    let decimal = Decimal::new(x, precision);
    let count = decimal.digits.len();
    let threshold = match precision {
        None => 6,
        Some(p) if p > count && as_i64(count) >= i64::from(decimal.point) => as_i64(count),
        Some(p) => as_i64(p),
    };
    let exponent = i64::from(decimal.point) - 1;
    if exponent < -4 || exponent >= threshold {
        let places = precision.unwrap_or(count).min(count).max(1) - 1;
        decimal.write_exponent(out, places, if format == b'G' { b'E' } else { b'e' });
    } else {
        decimal.write_point(out, decimal.places());
    }
}

fn as_i64(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Decimal {
    /// `count` significant digits, or the fewest that read back the same.
    fn new(x: f64, count: Option<usize>) -> Self {
        let text = match count {
            None => format!("{x:e}"),
            Some(count) => format!("{x:.*e}", count.clamp(1, MAX_DIGITS) - 1),
        };
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        if count.is_none() {
            round_tie_to_even(x, &mut digits, exponent);
        }
        Self::trimmed(digits, exponent.parse::<i32>().unwrap_or(0) + 1)
    }

    /// Rounded to so many digits after the point.
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

    /// How many digits stand after the point.
    fn places(&self) -> usize {
        usize::try_from(as_i32(self.digits.len()) - self.point).unwrap_or(0)
    }

    fn digit(&self, at: i32) -> u8 {
        usize::try_from(at)
            .ok()
            .and_then(|at| self.digits.get(at).copied())
            .unwrap_or(b'0')
    }

    fn write_exponent(&self, out: &mut Vec<u8>, places: usize, letter: u8) {
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

    fn write_point(&self, out: &mut Vec<u8>, places: usize) {
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

/// Of two shortest forms equally near to `x`, Go takes the one with an even last digit, Rust the larger one.
fn round_tie_to_even(x: f64, digits: &mut [u8], exponent: &str) {
    // With fewer digits there is only one shortest form.
    let count = digits.len();
    let Some(last) = digits
        .last_mut()
        .filter(|last| count >= 15 && **last % 2 == 1)
    else {
        return;
    };
    *last -= 1;
    let smaller = String::from_utf8_lossy(digits);
    let reads_back = format!("{}.{}e{exponent}", &smaller[..1], &smaller[1..]).parse() == Ok(x);
    // The digits behind the last one are a five and zeros if, and only if, it is a tie.
    let exact = format!("{x:.*e}", count + 30);
    let tail = exact.split('e').next().unwrap_or_default();
    let is_tie = tail.get(count + 1..).is_some_and(|tail| {
        tail.strip_prefix('5')
            .is_some_and(|zeros| zeros.bytes().all(|b| b == b'0'))
    });
    if !(reads_back && is_tie)
        && let Some(last) = digits.last_mut()
    {
        *last += 1;
    }
}

fn as_i32(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// Mantissa and exponent to the base of two, with the mantissa as a whole number.
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

fn write_binary(out: &mut Vec<u8>, x: f64) {
    let (mantissa, exponent) = parts(x);
    out.extend_from_slice(format!("{mantissa}p{exponent:+}").as_bytes());
}

fn write_hex(out: &mut Vec<u8>, x: f64, format: u8, precision: Option<usize>) {
    let (mut mantissa, mut exponent) = parts(x);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // One bit before the point, sixty after it, one spare for rounding.
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
