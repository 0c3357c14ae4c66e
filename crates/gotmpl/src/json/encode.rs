//! `json.Marshal`

use outrigger_gostd::{base64, json, strconv};

use crate::traversal::{MAX_DEPTH, MAX_TEXT};
use crate::value::go_struct::{fields_of, json_entries};
use crate::value::{Element, List, Map, Str, Value};

/// Why a value cannot be marshaled, with Go's message. Go has no limit on the length.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EncodeError {
    #[error("json: unsupported value: encountered a cycle via {0}")]
    Cycle(String),
    #[error("json: unsupported value: {}", strconv::format_float(*.0, b'g', None))]
    Float(f64),
    #[error("json: exceeded maximum size of a value ({MAX_TEXT} bytes)")]
    TooLarge,
}

/// `json.Marshal`; `escape_html` is that of `Encoder.SetEscapeHTML`.
pub fn encode(value: &Value, escape_html: bool) -> Result<Vec<u8>, EncodeError> {
    Encoder::run(value, escape_html, None)
}

/// `json.MarshalIndent` with two spaces.
pub fn encode_pretty(value: &Value) -> Result<Vec<u8>, EncodeError> {
    Encoder::run(value, true, Some("  "))
}

struct Encoder {
    out: Vec<u8>,
    escape_html: bool,
    indent: Option<&'static str>,
    depth: usize,
}

impl Encoder {
    fn run(
        value: &Value,
        escape_html: bool,
        indent: Option<&'static str>,
    ) -> Result<Vec<u8>, EncodeError> {
        let mut encoder = Self {
            out: Vec::with_capacity(128),
            escape_html,
            indent,
            depth: 0,
        };
        encoder.value(value)?;
        Ok(encoder.out)
    }

    fn value(&mut self, value: &Value) -> Result<(), EncodeError> {
        match value {
            Value::Nil => self.out.extend_from_slice(b"null"),
            Value::Bool(true) => self.out.extend_from_slice(b"true"),
            Value::Bool(false) => self.out.extend_from_slice(b"false"),
            Value::Int(_) | Value::Int64(_) | Value::Uint8(_) | Value::Uint64(_) => {
                crate::fmt::write_display(&mut self.out, value);
            }
            Value::Float(x) => {
                if !json::append_float(&mut self.out, *x) {
                    return Err(EncodeError::Float(*x));
                }
            }
            Value::Str(text) => self.string(text.as_bytes()),
            Value::List(list) => self.list(list)?,
            Value::Map(map) => self.map(map)?,
            Value::Object(_) if let Some(fields) = fields_of(value) => {
                self.entries(&json_entries(fields), &value.type_name())?;
            }
            Value::Object(object) => {
                self.enter(object.type_name())?;
                self.value(&object.to_plain())?;
                self.depth -= 1;
            }
        }
        Ok(())
    }

    fn enter(&mut self, type_name: &str) -> Result<(), EncodeError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(EncodeError::Cycle(type_name.to_owned()));
        }
        Ok(())
    }

    fn list(&mut self, list: &List) -> Result<(), EncodeError> {
        if list.is_nil() {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        if list.element() == Element::Byte {
            let bytes: Vec<u8> = list
                .items()
                .iter()
                .filter_map(|item| match item {
                    Value::Uint8(byte) => Some(*byte),
                    _ => None,
                })
                .collect();
            self.string(base64::encode(&bytes).as_bytes());
            return Ok(());
        }
        self.enter("[]interface {}")?;
        self.out.push(b'[');
        for (at, item) in list.items().iter().enumerate() {
            self.separate(at)?;
            self.value(item)?;
        }
        self.close(list.items().is_empty(), b']');
        Ok(())
    }

    fn map(&mut self, map: &Map) -> Result<(), EncodeError> {
        if map.is_nil() {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        map.with_entries(|entries| self.entries(entries, "map[string]interface {}"))
    }

    fn entries(&mut self, entries: &[(Str, Value)], type_name: &str) -> Result<(), EncodeError> {
        self.enter(type_name)?;
        self.out.push(b'{');
        for (at, (key, value)) in entries.iter().enumerate() {
            self.separate(at)?;
            self.string(key.as_bytes());
            self.out.push(b':');
            if self.indent.is_some() {
                self.out.push(b' ');
            }
            self.value(value)?;
        }
        self.close(entries.is_empty(), b'}');
        Ok(())
    }

    fn separate(&mut self, at: usize) -> Result<(), EncodeError> {
        if self.out.len() > MAX_TEXT {
            return Err(EncodeError::TooLarge);
        }
        if at > 0 {
            self.out.push(b',');
        }
        self.new_line();
        Ok(())
    }

    fn close(&mut self, is_empty: bool, bracket: u8) {
        self.depth -= 1;
        if !is_empty {
            self.new_line();
        }
        self.out.push(bracket);
    }

    fn new_line(&mut self) {
        if let Some(indent) = self.indent {
            self.out.push(b'\n');
            for _ in 0..self.depth {
                self.out.extend_from_slice(indent.as_bytes());
            }
        }
    }

    fn string(&mut self, text: &[u8]) {
        json::append_string(&mut self.out, text, self.escape_html);
    }
}
