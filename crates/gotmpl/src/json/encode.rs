//! Values to JSON text.

use crate::fmt::{float, unicode};
use crate::functions::base64;
use crate::value::{Element, List, Map, Value};
use crate::walk::{MAX_DEPTH, MAX_TEXT};

/// `json.Marshal`; without `escape_html` the characters `< > &` stay as they are.
pub fn encode(value: &Value, escape_html: bool) -> Result<Vec<u8>, String> {
    Encoder::run(value, escape_html, None)
}

/// `json.MarshalIndent` with two spaces.
pub fn encode_pretty(value: &Value) -> Result<Vec<u8>, String> {
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
    ) -> Result<Vec<u8>, String> {
        let mut encoder = Self {
            out: Vec::with_capacity(128),
            escape_html,
            indent,
            depth: 0,
        };
        encoder.value(value)?;
        Ok(encoder.out)
    }

    fn value(&mut self, value: &Value) -> Result<(), String> {
        match value {
            Value::Nil => self.out.extend_from_slice(b"null"),
            Value::Bool(true) => self.out.extend_from_slice(b"true"),
            Value::Bool(false) => self.out.extend_from_slice(b"false"),
            Value::Int(_) | Value::Int64(_) | Value::Uint8(_) | Value::Uint64(_) => {
                crate::fmt::write_display(&mut self.out, value);
            }
            Value::Float(x) => write_float(&mut self.out, *x)?,
            Value::Str(text) => self.string(text.as_bytes()),
            Value::List(list) => self.list(list)?,
            Value::Map(map) => self.map(map)?,
            Value::Object(object) => {
                self.enter(object.type_name())?;
                self.value(&object.to_plain())?;
                self.depth -= 1;
            }
        }
        Ok(())
    }

    fn enter(&mut self, type_name: &str) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!(
                "json: unsupported value: encountered a cycle via {type_name}"
            ));
        }
        if self.out.len() > MAX_TEXT {
            return Err("json: value is too large".to_owned());
        }
        Ok(())
    }

    fn list(&mut self, list: &List) -> Result<(), String> {
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
            self.string(&base64::encode(&bytes));
            return Ok(());
        }
        self.enter("[]interface {}")?;
        self.out.push(b'[');
        for (at, item) in list.items().iter().enumerate() {
            self.separate(at);
            self.value(item)?;
        }
        self.close(list.items().is_empty(), b']');
        Ok(())
    }

    fn map(&mut self, map: &Map) -> Result<(), String> {
        if map.is_nil() {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        self.enter("map[string]interface {}")?;
        self.out.push(b'{');
        map.with_entries(|entries| {
            for (at, (key, value)) in entries.iter().enumerate() {
                self.separate(at);
                self.string(key.as_bytes());
                self.out.push(b':');
                if self.indent.is_some() {
                    self.out.push(b' ');
                }
                self.value(value)?;
            }
            Ok::<(), String>(())
        })?;
        self.close(map.is_empty(), b'}');
        Ok(())
    }

    fn separate(&mut self, at: usize) {
        if at > 0 {
            self.out.push(b',');
        }
        self.new_line();
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
        self.out.push(b'"');
        let mut rest = text;
        loop {
            let plain = rest
                .iter()
                .position(|byte| !self.is_plain(*byte))
                .unwrap_or(rest.len());
            self.out.extend_from_slice(&rest[..plain]);
            rest = &rest[plain..];
            let Some((c, length)) = unicode::decode(rest) else {
                break;
            };
            self.escaped(c, length);
            rest = &rest[length..];
        }
        self.out.push(b'"');
    }

    fn is_plain(&self, byte: u8) -> bool {
        match byte {
            b'"' | b'\\' | 0..0x20 | 0x80.. => false,
            b'<' | b'>' | b'&' => !self.escape_html,
            _ => true,
        }
    }

    fn escaped(&mut self, c: char, length: usize) {
        let short: &[u8] = match c {
            '"' => b"\\\"",
            '\\' => b"\\\\",
            '\x08' => b"\\b",
            '\x0c' => b"\\f",
            '\n' => b"\\n",
            '\r' => b"\\r",
            '\t' => b"\\t",
            '\u{2028}' => b"\\u2028",
            '\u{2029}' => b"\\u2029",
            unicode::REPLACEMENT if length == 1 => b"\\ufffd",
            c if c.is_ascii() => {
                let code = format!("\\u{:04x}", u32::from(c));
                self.out.extend_from_slice(code.as_bytes());
                return;
            }
            c => {
                unicode::push(&mut self.out, c);
                return;
            }
        };
        self.out.extend_from_slice(short);
    }
}

fn write_float(out: &mut Vec<u8>, x: f64) -> Result<(), String> {
    if !x.is_finite() {
        let text = float::text(x, b'g', None);
        return Err(format!(
            "json: unsupported value: {}",
            String::from_utf8_lossy(&text)
        ));
    }
    let magnitude = x.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let mut text = float::text(x, b'e', None);
        // A single digit of a negative exponent loses its leading zero.
        if let [.., b'e', b'-', b'0', _] = text[..] {
            text.remove(text.len() - 2);
        }
        out.extend_from_slice(&text);
    } else {
        float::write(out, x, b'f', None);
    }
    Ok(())
}
