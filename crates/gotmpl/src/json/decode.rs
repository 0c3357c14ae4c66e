//! JSON text to values. Every number becomes a float.

use std::borrow::Cow;

use crate::fmt::{quote, unicode};
use crate::value::{Element, List, Map, MapType, Str, Value};
use crate::walk::MAX_DEPTH;

/// `json.Unmarshal` into an empty interface.
pub fn decode(bytes: &[u8]) -> Result<Value, String> {
    match decode_partly(bytes) {
        (value, None) => Ok(value),
        (_, Some(error)) => Err(error),
    }
}

/// `json.Unmarshal` into a `map[string]interface {}`: what was read, and the error if any.
pub(crate) fn decode_map(bytes: &[u8]) -> (Map, Option<String>) {
    match decode_partly(bytes) {
        (Value::Map(map), error) => (map, error),
        (Value::Nil, None) => (Map::nil(MapType::Any), None),
        (other, error) => {
            let error = error.unwrap_or_else(|| mismatch(&other, "map[string]interface {}"));
            (Map::default(), Some(error))
        }
    }
}

/// `json.Unmarshal` into a `[]interface {}`.
pub(crate) fn decode_list(bytes: &[u8]) -> Result<List, String> {
    match decode(bytes)? {
        Value::List(list) => Ok(list),
        Value::Nil => Ok(List::nil(Element::Any)),
        other => Err(mismatch(&other, "[]interface {}")),
    }
}

fn mismatch(value: &Value, wanted: &str) -> String {
    let found = match value {
        Value::Bool(_) => "bool",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
        _ => "number",
    };
    format!("json: cannot unmarshal {found} into Go value of type {wanted}")
}

/// A number out of range is an error, but Go still reads everything else.
fn decode_partly(bytes: &[u8]) -> (Value, Option<String>) {
    let mut decoder = Decoder {
        bytes,
        at: 0,
        depth: 0,
        number_error: None,
    };
    match decoder.document() {
        Ok(value) => (value, decoder.number_error),
        Err(error) => (Value::Nil, Some(error)),
    }
}

struct Decoder<'b> {
    bytes: &'b [u8],
    at: usize,
    depth: usize,
    number_error: Option<String>,
}

impl Decoder<'_> {
    fn document(&mut self) -> Result<Value, String> {
        let value = self.value()?;
        self.skip_space();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.unexpected("after top-level value")),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// The error for the byte here, or for the end of the input.
    fn unexpected(&self, context: &str) -> String {
        match self.peek() {
            Some(byte) => invalid_character(byte, context),
            None => "unexpected end of JSON input".into(),
        }
    }

    /// The error inside a number, literal or escape, where Go reads the end of the input as a space.
    fn unexpected_in_token(&self, context: &str) -> String {
        invalid_character(self.peek().unwrap_or(b' '), context)
    }

    fn value(&mut self) -> Result<Value, String> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => Ok(Value::Str(self.string()?)),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Nil),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, String>) -> Result<Value, String> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("exceeded max depth".into());
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut entries = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::map(entries));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            entries.push((key, self.value()?));
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
        self.at += 1;
        Ok(Value::map(entries))
    }

    fn array(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::list(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected("after array element")),
            }
        }
        self.at += 1;
        Ok(Value::grown_list(items))
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, String> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let expected = char::from(expected);
                return Err(self
                    .unexpected_in_token(&format!("in literal {word} (expecting '{expected}')")));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.unexpected_in_token("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        let text = String::from_utf8_lossy(&self.bytes[start..self.at]);
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number)),
            _ => {
                let error =
                    format!("json: cannot unmarshal number {text} into Go value of type float64");
                self.number_error.get_or_insert(error);
                Ok(Value::Nil)
            }
        }
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    fn some_digits(&mut self, context: &str) -> Result<(), String> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected_in_token(context));
        }
        self.digits();
        Ok(())
    }

    fn string(&mut self) -> Result<Str, String> {
        self.at += 1;
        let start = self.at;
        let mut decoded: Option<Vec<u8>> = None;
        loop {
            let from = self.at;
            while let Some(b' '..=b'!' | b'#'..=b'[' | b']'..) = self.peek() {
                self.at += 1;
            }
            let run = valid_text(&self.bytes[from..self.at]);
            match self.peek() {
                Some(b'"') => {
                    let end = self.at;
                    self.at += 1;
                    return Ok(match (decoded, run) {
                        (None, Cow::Borrowed(_)) => Str::from(&self.bytes[start..end]),
                        (None, Cow::Owned(text)) => Str::from(text),
                        (Some(mut before), run) => {
                            before.extend_from_slice(run.as_bytes());
                            Str::from(before)
                        }
                    });
                }
                Some(b'\\') => {
                    let before = decoded.get_or_insert_default();
                    before.extend_from_slice(run.as_bytes());
                    let c = self.escape()?;
                    if let Some(before) = decoded.as_mut() {
                        unicode::push(before, c);
                    }
                }
                _ => return Err(self.unexpected("in string literal")),
            }
        }
    }

    /// One escape; two that form a surrogate pair count as one.
    fn escape(&mut self) -> Result<char, String> {
        self.at += 1;
        let c = match self.peek() {
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            Some(b'b') => '\x08',
            Some(b'f') => '\x0c',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            _ => return Err(self.unexpected_in_token("in string escape code")),
        };
        self.at += 1;
        Ok(c)
    }

    fn unicode_escape(&mut self) -> Result<char, String> {
        let first = self.four_hex_digits()?;
        if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.four_hex_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(unicode::REPLACEMENT));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(unicode::REPLACEMENT))
    }

    fn four_hex_digits(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected_in_token("in \\u hexadecimal character escape"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

fn invalid_character(byte: u8, context: &str) -> String {
    let shown = match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let quoted = quote::quote_text(&char::from(byte).to_string());
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    };
    format!("invalid character {shown} {context}")
}

/// The bytes as text; every byte that is not UTF-8 becomes U+FFFD.
fn valid_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(unicode::chars(bytes).map(|(_, c)| c).collect()),
    }
}
