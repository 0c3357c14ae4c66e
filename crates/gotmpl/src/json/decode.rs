//! `json.Unmarshal`: every number becomes a `float64`.

use std::borrow::Cow;

use outrigger_gostd::json::{SyntaxError, literal_contexts};
use outrigger_gostd::unicode;

use crate::traversal::MAX_DEPTH;
use crate::value::{Element, List, Map, MapType, Str, Value, memory};

/// Why JSON cannot be unmarshaled, with Go's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error("exceeded max depth")]
    MaxDepth,
    /// Go has no limit.
    #[error("json: exceeded maximum memory of values ({limit} bytes)")]
    TooLarge { limit: usize },
    #[error("json: cannot unmarshal {found} into Go value of type {go_type}")]
    Type {
        found: String,
        go_type: &'static str,
    },
}

/// `json.Unmarshal` into an `interface {}`.
pub fn decode(bytes: &[u8]) -> Result<Value, DecodeError> {
    decode_within(bytes, usize::MAX)
}

/// [`decode`], unless all values of the thread would need more than `memory_bytes`.
pub(crate) fn decode_within(bytes: &[u8], memory_bytes: usize) -> Result<Value, DecodeError> {
    match decode_partly(bytes, memory_bytes) {
        (value, None) => Ok(value),
        (_, Some(error)) => Err(error),
    }
}

/// `json.Unmarshal` into a `map[string]interface {}`: the map, which may be incomplete, and the error if any.
pub(crate) fn decode_map(bytes: &[u8], memory_bytes: usize) -> (Map, Option<DecodeError>) {
    match decode_partly(bytes, memory_bytes) {
        (Value::Map(map), error) => (map, error),
        (Value::Nil, None) => (Map::nil(MapType::Any), None),
        (other, error) => {
            let error = error.unwrap_or_else(|| mismatch(&other, "map[string]interface {}"));
            (Map::default(), Some(error))
        }
    }
}

/// `json.Unmarshal` into a `[]interface {}`.
pub(crate) fn decode_list(bytes: &[u8], memory_bytes: usize) -> Result<List, DecodeError> {
    match decode_within(bytes, memory_bytes)? {
        Value::List(list) => Ok(list),
        Value::Nil => Ok(List::nil(Element::Any)),
        other => Err(mismatch(&other, "[]interface {}")),
    }
}

fn mismatch(value: &Value, go_type: &'static str) -> DecodeError {
    let found = match value {
        Value::Bool(_) => "bool",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
        _ => "number",
    };
    DecodeError::Type {
        found: found.to_owned(),
        go_type,
    }
}

/// A number out of range is an error, but Go decodes everything else.
fn decode_partly(bytes: &[u8], memory_bytes: usize) -> (Value, Option<DecodeError>) {
    let mut decoder = Decoder {
        bytes,
        at: 0,
        depth: 0,
        number_error: None,
        memory_bytes,
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
    number_error: Option<DecodeError>,
    memory_bytes: usize,
}

impl Decoder<'_> {
    fn document(&mut self) -> Result<Value, DecodeError> {
        let value = self.value()?;
        self.skip_space();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.unexpected("after top-level value").into()),
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

    /// The error at the next byte, or at the end of the input.
    fn unexpected(&self, context: &'static str) -> SyntaxError {
        match self.peek() {
            Some(byte) => SyntaxError::InvalidCharacter { byte, context },
            None => SyntaxError::UnexpectedEnd,
        }
    }

    /// The error inside a number or an escape, where Go's scanner sees the end of the input as a space.
    fn unexpected_in_token(&self, context: &'static str) -> SyntaxError {
        SyntaxError::InvalidCharacter {
            byte: self.peek().unwrap_or(b' '),
            context,
        }
    }

    fn value(&mut self) -> Result<Value, DecodeError> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => Ok(Value::Str(self.string()?)),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Nil),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.unexpected("looking for beginning of value").into()),
        }
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Value, DecodeError>,
    ) -> Result<Value, DecodeError> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(DecodeError::MaxDepth);
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Fails if all values, and the members of an open collection, need too much memory.
    fn check_memory<T>(&self, members: &[T]) -> Result<(), DecodeError> {
        // Growing doubles the capacity.
        if !memory::fits(2 * size_of_val(members), self.memory_bytes) {
            return Err(DecodeError::TooLarge {
                limit: self.memory_bytes,
            });
        }
        Ok(())
    }

    fn object(&mut self) -> Result<Value, DecodeError> {
        let mut entries = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::map(entries));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self
                    .unexpected("looking for beginning of object key string")
                    .into());
            }
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key").into());
            }
            self.at += 1;
            entries.push((key, self.value()?));
            self.check_memory(&entries)?;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected("after object key:value pair").into()),
            }
        }
        self.at += 1;
        Ok(Value::map(entries))
    }

    fn array(&mut self) -> Result<Value, DecodeError> {
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::list(items));
        }
        loop {
            items.push(self.value()?);
            self.check_memory(&items)?;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected("after array element").into()),
            }
        }
        self.at += 1;
        Ok(Value::grown_list(items))
    }

    fn literal(&mut self, literal: &'static str, value: Value) -> Result<Value, DecodeError> {
        self.at += 1;
        for (expected, context) in literal.bytes().skip(1).zip(literal_contexts(literal)) {
            if self.peek() != Some(expected) {
                return Err(self.unexpected_in_token(context).into());
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, DecodeError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.unexpected_in_token("in numeric literal").into()),
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
                let error = DecodeError::Type {
                    found: format!("number {text}"),
                    go_type: "float64",
                };
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

    fn some_digits(&mut self, context: &'static str) -> Result<(), DecodeError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected_in_token(context).into());
        }
        self.digits();
        Ok(())
    }

    fn string(&mut self) -> Result<Str, DecodeError> {
        self.at += 1;
        let start = self.at;
        let mut decoded: Option<Vec<u8>> = None;
        loop {
            let from = self.at;
            while let Some(b' '..=b'!' | b'#'..=b'[' | b']'..) = self.peek() {
                self.at += 1;
            }
            let run = to_valid_utf8(&self.bytes[from..self.at]);
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
                        unicode::append_rune(before, c);
                    }
                }
                _ => return Err(self.unexpected("in string literal").into()),
            }
        }
    }

    /// One escape; a surrogate pair of two escapes counts as one.
    fn escape(&mut self) -> Result<char, DecodeError> {
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
            _ => return Err(self.unexpected_in_token("in string escape code").into()),
        };
        self.at += 1;
        Ok(c)
    }

    fn unicode_escape(&mut self) -> Result<char, DecodeError> {
        let first = self.four_hex_digits()?;
        if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.four_hex_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(unicode::RUNE_ERROR));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(unicode::RUNE_ERROR))
    }

    fn four_hex_digits(&mut self) -> Result<u32, DecodeError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self
                    .unexpected_in_token("in \\u hexadecimal character escape")
                    .into());
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

/// Replaces each byte that is not UTF-8 by U+FFFD.
fn to_valid_utf8(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(unicode::runes(bytes).map(|(_, c)| c).collect()),
    }
}
