//! `fmt`: the formatter of basic values that `Printf` and its variants use.
//!
//! Methods are named as in Go's `format.go`. The parser of format strings is in `gotmpl`, with the values that it prints.

use serde_json::Value;

use crate::{strconv, unicode};

/// Padding stops at this many bytes of output.
const MAX_PADDED: usize = 64 << 20;

/// The flags, width and precision of a verb, such as `%+08.3f`.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "five independent flags of the format language"
)]
pub struct Formatter {
    pub plus: bool,
    pub minus: bool,
    pub sharp: bool,
    pub space: bool,
    pub zero: bool,
    pub width: Option<usize>,
    pub precision: Option<usize>,
    /// `%+v`
    pub plus_v: bool,
    /// `%#v`
    pub sharp_v: bool,
}

impl Formatter {
    /// Appends `text` padded to the width.
    pub fn pad(&self, out: &mut Vec<u8>, text: &[u8]) {
        let missing = match self.width {
            None | Some(0) => 0,
            Some(width) => width.saturating_sub(unicode::rune_count(text)),
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

    /// `%s`; the precision counts runes.
    pub fn fmt_s(&self, out: &mut Vec<u8>, text: &[u8]) {
        self.pad(out, self.truncated(text));
    }

    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(limit) = self.precision else {
            return text;
        };
        match unicode::runes(text).nth(limit) {
            Some((offset, _)) => &text[..offset],
            None => text,
        }
    }

    /// `%q` of a string.
    pub fn fmt_q(&self, out: &mut Vec<u8>, text: &[u8]) {
        let text = self.truncated(text);
        if self.sharp && strconv::can_backquote(text) {
            let mut raw = vec![b'`'];
            raw.extend_from_slice(text);
            raw.push(b'`');
            self.pad(out, &raw);
        } else {
            let quoted = if self.plus {
                strconv::quote_to_ascii(text)
            } else {
                strconv::quote_bytes(text)
            };
            self.pad(out, quoted.as_bytes());
        }
    }

    /// `%x` and `%X` of a string.
    pub fn fmt_sx(&self, out: &mut Vec<u8>, text: &[u8], upper: bool) {
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

    /// `%c`
    pub fn fmt_c(&self, out: &mut Vec<u8>, code: u64) {
        let mut encoded = Vec::new();
        unicode::append_rune(&mut encoded, rune(code));
        self.pad(out, &encoded);
    }

    /// `%q` of a rune.
    pub fn fmt_qc(&self, out: &mut Vec<u8>, code: u64) {
        let quoted = if self.plus {
            strconv::quote_rune_to_ascii(rune(code))
        } else {
            strconv::quote_rune(rune(code))
        };
        self.pad(out, quoted.as_bytes());
    }

    /// `%U`: `U+0041`, or `U+0041 'A'` with the flag `#`.
    pub fn fmt_unicode(&self, out: &mut Vec<u8>, code: u64) {
        let digits = self.precision.unwrap_or(0).max(4);
        let mut text = format!("U+{code:0digits$X}").into_bytes();
        let printable = u32::try_from(code)
            .ok()
            .and_then(char::from_u32)
            .filter(|c| unicode::is_print(*c));
        if let (true, Some(c)) = (self.sharp, printable) {
            text.extend_from_slice(format!(" '{c}'").as_bytes());
        }
        self.pad_without_zeros(out, &text);
    }

    pub fn fmt_integer(&self, out: &mut Vec<u8>, magnitude: u64, negative: bool, verb: char) {
        let signed = negative || self.plus || self.space;
        let min_digits = match (self.precision, self.width) {
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
        let zeros = min_digits.saturating_sub(digits.len());
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

    /// `default` is the precision of the verb if there is none in the format.
    pub fn fmt_float(&self, out: &mut Vec<u8>, x: f64, format: u8, default: Option<usize>) {
        let precision = self.precision.or(default);
        let mut number = strconv::format_float(x, format, precision).into_bytes();
        let sign = match number.first() {
            Some(b'-' | b'+') => number.remove(0),
            _ => b'+',
        };
        let sign = if self.space && sign == b'+' && !self.plus {
            b' '
        } else {
            sign
        };
        let has_sign = self.plus || sign != b'+';
        if !x.is_finite() {
            // Infinity keeps its sign, NaN has one only with the flags `+` and space.
            if !x.is_nan() || self.plus || self.space {
                number.insert(0, sign);
            }
            self.pad_without_zeros(out, &number);
            return;
        }
        if self.sharp && format != b'b' {
            number = with_point_and_zeros(&number, format, precision);
        }
        if !has_sign {
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

/// The flag `#` on floats: always a decimal point, and the trailing zeros that `%g` removes.
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

fn rune(code: u64) -> char {
    u32::try_from(code)
        .ok()
        .and_then(char::from_u32)
        .unwrap_or(unicode::RUNE_ERROR)
}

/// `%#U` of a rune, such as `U+0021 '!'`.
pub fn sharp_unicode(c: char) -> String {
    let code = u32::from(c);
    if unicode::is_print(c) {
        format!("U+{code:04X} '{c}'")
    } else {
        format!("U+{code:04X}")
    }
}

/// `%v` of a decoded JSON value.
pub fn sprint_json(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (None, None, Some(x)) => strconv::format_float(x, b'g', None),
            _ => number.to_string(),
        },
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(sprint_json).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields: Vec<_> = fields
                .into_iter()
                .map(|(name, item)| format!("{name}:{}", sprint_json(item)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prints_json_objects_as_go_maps() {
        assert_eq!(
            sprint_json(&json!({"b": [1, "x", 1e6], "a": null})),
            "map[a:<nil> b:[1 x 1e+06]]"
        );
    }
}
