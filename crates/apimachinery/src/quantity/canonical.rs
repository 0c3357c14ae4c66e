//! The canonical text of a quantity, byte for byte as Kubernetes writes it.
//!
//! A text that is already canonical is kept as parsed. Any other is rewritten with the largest suffix that needs no
//! fractional digits, after rounding up to billionths.

/// Longer texts are rejected, which bounds the cost of the arithmetic.
const MAX_LENGTH: usize = 256;

const LARGEST_BINARY: u64 = i64::MAX.unsigned_abs();
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Returns the canonical text, or `None` if the text is not a quantity.
pub fn canonicalize(text: &str) -> Option<String> {
    if text.is_empty() || text.len() > MAX_LENGTH {
        return None;
    }
    let parsed = ParsedText::parse(text)?;
    let suffix = Suffix::parse(parsed.suffix)?;
    if !parsed.has_digits && !parsed.fits_int64(suffix) {
        return None;
    }
    if parsed.is_canonical(suffix) {
        return Some(text.to_owned());
    }
    Some(parsed.amount(suffix).format(suffix))
}

#[derive(Debug, Clone, Copy)]
enum Suffix {
    /// A power of ten, as in `k` and `M`.
    DecimalSi(i32),
    /// A power of ten, as in `e3`.
    DecimalExponent(i32),
    /// A power of 1024, as in `Ki` and `Mi`.
    BinarySi(usize),
}

impl Suffix {
    fn parse(text: &str) -> Option<Self> {
        if let Some(index) = DECIMAL.iter().position(|letter| *letter == text) {
            return i32::try_from(index)
                .ok()
                .map(|index| Self::DecimalSi(3 * (index - 3)));
        }
        if let Some(power) = BINARY.iter().position(|letters| *letters == text) {
            return Some(Self::BinarySi(power));
        }
        let exponent: i64 = text.strip_prefix(['e', 'E'])?.parse().ok()?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "Go truncates to 32 bits too"
        )]
        Some(Self::DecimalExponent(exponent as i32))
    }
}

/// A quantity split into sign, digits and suffix.
struct ParsedText<'a> {
    negative: bool,
    has_digits: bool,
    /// The digits of the whole part, without leading zeros but at least one, and of the fraction.
    digits: String,
    fraction: usize,
    suffix: &'a str,
}

impl<'a> ParsedText<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, rest) = split(unsigned.trim_start_matches('0'), |c| c.is_ascii_digit());
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split(rest, |c| c.is_ascii_digit()),
            None => ("", rest),
        };
        let (_, exponent) = split(suffix, |c| "eEinumkKMGTP".contains(c));
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let whole = if whole.is_empty() { "0" } else { whole };
        Some(Self {
            negative: text.starts_with('-'),
            has_digits: unsigned.starts_with(|c: char| c.is_ascii_digit()) || !fraction.is_empty(),
            digits: format!("{whole}{fraction}"),
            fraction: fraction.len(),
            suffix,
        })
    }

    /// Whether Kubernetes represents the value in 64 bits. Only then it keeps canonical text, and parses a lone suffix as
    /// zero.
    fn fits_int64(&self, suffix: Suffix) -> bool {
        match suffix {
            Suffix::DecimalSi(exponent) | Suffix::DecimalExponent(exponent) => {
                self.digits.len() <= 18 && self.scale(exponent) >= -9
            }
            Suffix::BinarySi(power) => {
                let most_digits = [0, 11, 8, 5, 2].get(power).copied().unwrap_or_default();
                self.fraction == 0 && self.digits.len() <= most_digits
            }
        }
    }

    fn is_canonical(&self, suffix: Suffix) -> bool {
        let canonical = match suffix {
            Suffix::DecimalSi(exponent) | Suffix::DecimalExponent(exponent) => {
                let zeros = self.digits.starts_with('0') || self.digits.ends_with("000");
                self.scale(exponent) % 3 == 0 && !zeros
            }
            Suffix::BinarySi(_) => self
                .digits
                .parse()
                .is_ok_and(|value: u64| !value.is_multiple_of(8)),
        };
        canonical && self.fits_int64(suffix)
    }

    /// The power of ten of the last digit.
    fn scale(&self, exponent: i32) -> i64 {
        i64::from(exponent) - self.fraction.cast_signed() as i64
    }

    fn amount(&self, suffix: Suffix) -> Amount {
        let mut amount = Amount {
            negative: self.negative,
            digits: self.digits.bytes().map(|byte| byte - b'0').collect(),
            exponent: -(self.fraction.cast_signed() as i64),
        };
        match suffix {
            Suffix::DecimalSi(exponent) | Suffix::DecimalExponent(exponent) => {
                amount.exponent += i64::from(exponent);
            }
            Suffix::BinarySi(power) => (0..power).for_each(|_| amount.multiply_by_1024()),
        }
        amount.round_up_to_billionths();
        if matches!(suffix, Suffix::BinarySi(_)) {
            amount.cap();
        }
        amount.normalize();
        amount
    }
}

/// Decimal digits, most significant first, times a power of ten.
struct Amount {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Amount {
    fn multiply_by_1024(&mut self) {
        let mut carry = 0;
        for digit in self.digits.iter_mut().rev() {
            let product = u32::from(*digit) * 1024 + carry;
            *digit = last_digit(product);
            carry = product / 10;
        }
        while carry > 0 {
            self.digits.insert(0, last_digit(carry));
            carry /= 10;
        }
    }

    fn round_up_to_billionths(&mut self) {
        let excess = usize::try_from(-9 - self.exponent).unwrap_or_default();
        if excess == 0 {
            return;
        }
        let kept = self.digits.len().saturating_sub(excess);
        let lost = self.digits.split_off(kept);
        self.exponent = -9;
        if lost.iter().any(|digit| *digit != 0) {
            self.increment();
        }
    }

    fn increment(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
    }

    /// Values with a binary suffix are capped at the largest `int64`.
    fn cap(&mut self) {
        self.normalize();
        let fits = match self.whole() {
            Some(whole) => whole < LARGEST_BINARY || whole == LARGEST_BINARY && self.exponent >= 0,
            None => false,
        };
        if !fits {
            self.digits = LARGEST_BINARY
                .to_string()
                .bytes()
                .map(|byte| byte - b'0')
                .collect();
            self.exponent = 0;
        }
    }

    /// Strips zeros at both ends.
    fn normalize(&mut self) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
    }

    /// The integer part, if it fits 64 bits.
    fn whole(&self) -> Option<u64> {
        let length = self.digits.len().cast_signed() as i64 + self.exponent;
        if length > 20 {
            return None;
        }
        let digits = self.digits.iter().copied().chain(std::iter::repeat(0));
        let mut digits = digits.take(usize::try_from(length).unwrap_or_default());
        digits.try_fold(0u64, |whole, digit| {
            whole.checked_mul(10)?.checked_add(u64::from(digit))
        })
    }

    fn format(&self, suffix: Suffix) -> String {
        if self.digits.is_empty() {
            return "0".to_owned();
        }
        let sign = if self.negative { "-" } else { "" };
        let (number, suffix) = match (suffix, self.whole()) {
            (Suffix::BinarySi(_), Some(whole)) if whole >= 1024 && self.exponent >= 0 => {
                binary(whole)
            }
            (Suffix::DecimalExponent(_), _) => self.decimal(|exponent| match exponent {
                0 => String::new(),
                exponent => format!("e{exponent}"),
            }),
            _ => self.decimal(|exponent| {
                let letter = usize::try_from(exponent / 3 + 3).ok();
                letter
                    .and_then(|index| DECIMAL.get(index))
                    .copied()
                    .unwrap_or_default()
                    .to_owned()
            }),
        };
        format!("{sign}{number}{suffix}")
    }

    /// The digits, and the suffix for a power of 1000.
    fn decimal(&self, suffix: impl FnOnce(i64) -> String) -> (String, String) {
        let digits = self.digits.iter().map(|digit| char::from(b'0' + digit));
        let beyond = self.exponent.rem_euclid(3);
        let zeros = (0..beyond).map(|_| '0');
        (
            digits.chain(zeros).collect(),
            suffix(self.exponent - beyond),
        )
    }
}

fn binary(mut whole: u64) -> (String, String) {
    let mut power = 0;
    while whole.is_multiple_of(1024) && power + 1 < BINARY.len() {
        whole /= 1024;
        power += 1;
    }
    (whole.to_string(), BINARY[power].to_owned())
}

fn last_digit(number: u32) -> u8 {
    (number % 10) as u8
}

fn split(text: &str, accept: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !accept(c)).unwrap_or(text.len()))
}
