//! How one basic value looks under flags, width and precision.

use super::{MAX_PADDED, float, quote, unicode};

/// What stands between `%` and the verb.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "five independent flags of the format language"
)]
pub(super) struct Layout {
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    /// `%#v`
    pub(super) go_syntax: bool,
}

impl Layout {
    /// Appends `text` padded to the width.
    pub(super) fn pad(&self, out: &mut Vec<u8>, text: &[u8]) {
        let missing = match self.width {
            None | Some(0) => 0,
            Some(width) => width.saturating_sub(unicode::char_count(text)),
        };
        if !self.minus {
            self.write_padding(out, missing);
        }
        out.extend_from_slice(text);
        if self.minus {
            self.write_padding(out, missing);
        }
    }

    fn pad_without_zeros(self, out: &mut Vec<u8>, text: &[u8]) {
        Self {
            zero: false,
            ..self
        }
        .pad(out, text);
    }

    fn write_padding(&self, out: &mut Vec<u8>, count: usize) {
        if out.len() + count <= MAX_PADDED {
            let fill = if self.zero && !self.minus { b'0' } else { b' ' };
            out.resize(out.len() + count, fill);
        }
    }

    /// A string, cut to the precision in characters.
    pub(super) fn string(&self, out: &mut Vec<u8>, text: &[u8]) {
        self.pad(out, self.truncated(text));
    }

    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(limit) = self.precision else {
            return text;
        };
        match unicode::chars(text).nth(limit) {
            Some((offset, _)) => &text[..offset],
            None => text,
        }
    }

    pub(super) fn quoted(&self, out: &mut Vec<u8>, text: &[u8]) {
        let text = self.truncated(text);
        if self.sharp && quote::can_backquote(text) {
            let mut raw = vec![b'`'];
            raw.extend_from_slice(text);
            raw.push(b'`');
            self.pad(out, &raw);
        } else {
            self.pad(out, &quote::quote(text, self.plus));
        }
    }

    /// The bytes of a string in hexadecimal.
    pub(super) fn hex_string(&self, out: &mut Vec<u8>, text: &[u8], upper: bool) {
        let length = self.precision.map_or(text.len(), |p| p.min(text.len()));
        let prefix: &[u8] = if upper { b"0X" } else { b"0x" };
        let mut encoded = Vec::with_capacity(2 * length + 2);
        for (at, byte) in text[..length].iter().enumerate() {
            if self.space && at > 0 {
                encoded.push(b' ');
            }
            if self.sharp && (self.space || at == 0) {
                encoded.extend_from_slice(prefix);
            }
            let pair = if upper {
                format!("{byte:02X}")
            } else {
                format!("{byte:02x}")
            };
            encoded.extend_from_slice(pair.as_bytes());
        }
        self.pad(out, &encoded);
    }

    pub(super) fn character(&self, out: &mut Vec<u8>, code: u64) {
        let mut encoded = Vec::new();
        unicode::push(&mut encoded, char_of(code));
        self.pad(out, &encoded);
    }

    pub(super) fn quoted_character(&self, out: &mut Vec<u8>, code: u64) {
        self.pad(out, &quote::quote_char(char_of(code), self.plus));
    }

    /// `U+0041`, or `U+0041 'A'`.
    pub(super) fn code_point(&self, out: &mut Vec<u8>, code: u64) {
        let digits = self.precision.unwrap_or(0).max(4);
        let mut text = format!("U+{code:0digits$X}").into_bytes();
        let printable = u32::try_from(code)
            .ok()
            .and_then(char::from_u32)
            .filter(|c| unicode::is_printable(*c));
        if let (true, Some(c)) = (self.sharp, printable) {
            text.extend_from_slice(format!(" '{c}'").as_bytes());
        }
        self.pad_without_zeros(out, &text);
    }

    pub(super) fn integer(&self, out: &mut Vec<u8>, magnitude: u64, negative: bool, verb: char) {
        let signed = negative || self.plus || self.space;
        let digits_wanted = match (self.precision, self.width) {
            (Some(0), _) if magnitude == 0 => {
                Self {
                    zero: false,
                    ..*self
                }
                .write_padding(out, self.width.unwrap_or(0));
                return;
            }
            (Some(precision), _) => precision,
            (None, Some(width)) if self.zero && !self.minus => {
                width - usize::from(signed && width > 0)
            }
            _ => 0,
        };
        let digits = match verb {
            'b' => format!("{magnitude:b}"),
            'o' | 'O' => format!("{magnitude:o}"),
            'x' => format!("{magnitude:x}"),
            'X' => format!("{magnitude:X}"),
            _ => magnitude.to_string(),
        };
        let mut text = Vec::with_capacity(digits.len() + 3);
        if negative {
            text.push(b'-');
        } else if self.plus {
            text.push(b'+');
        } else if self.space {
            text.push(b' ');
        }
        if verb == 'O' {
            text.extend_from_slice(b"0o");
        }
        let zeros = digits_wanted.saturating_sub(digits.len());
        if self.sharp {
            let starts_with_zero = zeros > 0 || digits.starts_with('0');
            text.extend_from_slice(match verb {
                'b' => b"0b",
                'o' | 'O' if !starts_with_zero => b"0",
                'x' => b"0x",
                'X' => b"0X",
                _ => b"",
            });
        }
        text.resize(text.len() + zeros, b'0');
        text.extend_from_slice(digits.as_bytes());
        self.pad_without_zeros(out, &text);
    }

    pub(super) fn float(&self, out: &mut Vec<u8>, x: f64, format: u8, default: Option<usize>) {
        let precision = self.precision.or(default);
        let mut number = float::text(x, format, precision);
        let sign = match number.first() {
            Some(b'-' | b'+') => number.remove(0),
            _ => b'+',
        };
        let sign = if self.space && sign == b'+' && !self.plus {
            b' '
        } else {
            sign
        };
        let shows_sign = self.plus || sign != b'+';
        if !x.is_finite() {
            // Infinity keeps its sign; NaN shows one only on demand.
            if !x.is_nan() || self.plus || self.space {
                number.insert(0, sign);
            }
            self.pad_without_zeros(out, &number);
            return;
        }
        if self.sharp && format != b'b' {
            number = with_point_and_zeros(&number, format, precision);
        }
        if !shows_sign {
            self.pad(out, &number);
            return;
        }
        number.insert(0, sign);
        match self.width {
            Some(width) if self.zero && !self.minus && width > number.len() => {
                out.push(sign);
                self.write_padding(out, width - number.len());
                out.extend_from_slice(&number[1..]);
            }
            _ => self.pad(out, &number),
        }
    }
}

/// The `#` flag on floats: always a point, and the zeros that `%g` drops.
fn with_point_and_zeros(number: &[u8], format: u8, precision: Option<usize>) -> Vec<u8> {
    let is_hex = matches!(format, b'x' | b'X');
    let marks: &[u8] = if is_hex { b"pP" } else { b"eE" };
    let tail = number
        .iter()
        .position(|b| marks.contains(b))
        .unwrap_or(number.len());
    let mut text = number[..tail].to_vec();
    let mut wanted = match format {
        b'g' | b'G' | b'x' => precision.map_or(6, |p| isize::try_from(p).unwrap_or(0)),
        _ => 0,
    };
    let mut seen_nonzero = false;
    for digit in text.iter().filter(|b| **b != b'.') {
        seen_nonzero |= *digit != b'0';
        if seen_nonzero {
            wanted -= 1;
        }
    }
    if !text.contains(&b'.') {
        if text == b"0" {
            wanted -= 1;
        }
        text.push(b'.');
    }
    let zeros = usize::try_from(wanted).unwrap_or(0);
    text.resize(text.len() + zeros, b'0');
    text.extend_from_slice(&number[tail..]);
    text
}

fn char_of(code: u64) -> char {
    u32::try_from(code)
        .ok()
        .and_then(char::from_u32)
        .unwrap_or(unicode::REPLACEMENT)
}
