//! `toml.Marshal`

use outrigger_gostd::strconv::format_float;

use super::{Edition, maybe_quoted};
use crate::functions::dates;
use crate::traversal::{MAX_DEPTH, MAX_TEXT, VisitBudget};
use crate::value::go_struct::{fields_of, toml_entries};
use crate::value::{Element, Str, Value};

/// Why a value cannot be encoded, with the message of the library, which has no limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in crate::functions) enum EncodeError {
    #[error("toml: value is nested too deeply")]
    TooDeep,
    #[error("toml: exceeded maximum size of a value ({MAX_TEXT} bytes)")]
    TooLarge,
    #[error("toml: cannot encode array with nil element")]
    NilElement,
    #[error("toml: top-level values must be Go maps or structs")]
    TopLevel,
}

/// `toml.Marshal`
pub(in crate::functions) fn encode(
    value: &Value,
    edition: Edition,
) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder {
        out: Vec::new(),
        edition,
        depth: 0,
        visits: VisitBudget::new(),
    };
    encoder.entry(&mut Vec::new(), &plain(value))?;
    Ok(encoder.out)
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nil,
    Table,
    Tables,
    Other,
}

struct Encoder {
    out: Vec<u8>,
    edition: Edition,
    /// The nesting of values on one line.
    depth: usize,
    visits: VisitBudget,
}

/// Objects other than times and structs are replaced by their values.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(_) if fields_of(value).is_some() => value.clone(),
        Value::Object(object) if !dates::is_time(value) => match object.scalar() {
            Some(Value::Int64(_)) => Value::str(object.display()),
            Some(scalar) => scalar,
            None => object.to_plain(),
        },
        other => other.clone(),
    }
}

fn shape(value: &Value, depth: usize, visits: &mut VisitBudget) -> Result<Shape, EncodeError> {
    if !visits.visit(depth) {
        return Err(EncodeError::TooDeep);
    }
    Ok(match plain(value) {
        Value::Nil => Shape::Nil,
        Value::Map(map) if map.is_nil() => Shape::Nil,
        Value::Map(_) => Shape::Table,
        structure @ Value::Object(_) if fields_of(&structure).is_some() => Shape::Table,
        Value::List(list) if list.is_nil() => Shape::Nil,
        Value::List(list) if list.element() == Element::Byte => Shape::Other,
        Value::List(list) => {
            let mut all_tables = !list.items().is_empty();
            for item in list.items() {
                match shape(item, depth + 1, visits)? {
                    Shape::Nil => return Err(EncodeError::NilElement),
                    Shape::Table => {}
                    _ => all_tables = false,
                }
            }
            if all_tables {
                Shape::Tables
            } else {
                Shape::Other
            }
        }
        _ => Shape::Other,
    })
}

impl Encoder {
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn check_length(&self) -> Result<(), EncodeError> {
        if self.out.len() > MAX_TEXT {
            return Err(EncodeError::TooLarge);
        }
        Ok(())
    }

    fn new_line(&mut self) {
        if !self.out.is_empty() {
            self.out.push(b'\n');
        }
    }

    fn indent(&mut self, key: &[Str]) {
        let levels = key.len().saturating_sub(1);
        self.out.resize(self.out.len() + 2 * levels, b' ');
    }

    /// A value with its full key, which is empty for the document.
    fn entry(&mut self, key: &mut Vec<Str>, value: &Value) -> Result<(), EncodeError> {
        self.check_length()?;
        match (shape(value, key.len(), &mut self.visits)?, value) {
            (Shape::Nil, _) => Ok(()),
            (Shape::Tables, Value::List(list)) => {
                if key.is_empty() {
                    return Err(EncodeError::TopLevel);
                }
                for item in list.items() {
                    self.new_line();
                    self.header(key, "[[", "]]");
                    self.table(key, members(&plain(item)))?;
                }
                Ok(())
            }
            (Shape::Table, table) => {
                if key.len() == 1 {
                    self.new_line();
                }
                if !key.is_empty() {
                    self.header(key, "[", "]");
                }
                self.table(key, members(table))
            }
            _ => {
                if let Some(last) = key.last() {
                    let last = maybe_quoted(last.as_bytes());
                    self.indent(key);
                    self.out.extend_from_slice(&last);
                    self.text(" = ");
                }
                self.element(value)?;
                if !key.is_empty() {
                    self.new_line();
                }
                Ok(())
            }
        }
    }

    fn header(&mut self, key: &[Str], open: &str, close: &str) {
        let parts: Vec<Vec<u8>> = key
            .iter()
            .map(|part| maybe_quoted(part.as_bytes()))
            .collect();
        self.indent(key);
        self.text(open);
        self.out.extend_from_slice(&parts.join(&b'.'));
        self.text(close);
        self.new_line();
    }

    /// Values first, then sub-tables.
    fn table(&mut self, key: &mut Vec<Str>, members: Entries) -> Result<(), EncodeError> {
        let (direct, tables) = split(members, key.len(), &mut self.visits)?;
        for (name, value) in direct.into_iter().chain(tables) {
            key.push(name);
            self.entry(key, &value)?;
            key.pop();
        }
        Ok(())
    }

    /// A value on one line.
    fn element(&mut self, value: &Value) -> Result<(), EncodeError> {
        self.check_length()?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(EncodeError::TooDeep);
        }
        match &plain(value) {
            Value::Str(text) => self.out.extend(quoted(text.as_bytes())),
            Value::Float(x) => self.float(*x),
            Value::List(list) => {
                self.text("[");
                for (at, item) in list.items().iter().enumerate() {
                    if at > 0 {
                        self.text(", ");
                    }
                    self.element(item)?;
                }
                self.text("]");
            }
            table @ Value::Map(_) => self.inline_table(members(table))?,
            structure @ Value::Object(_) if fields_of(structure).is_some() => {
                self.inline_table(members(structure))?;
            }
            time @ Value::Object(_) => self.text(&dates::to_toml(time)),
            other => crate::fmt::write_display(&mut self.out, other),
        }
        self.depth -= 1;
        Ok(())
    }

    /// Entries without a value are omitted, but not the comma before the next one.
    fn inline_table(&mut self, members: Entries) -> Result<(), EncodeError> {
        let (direct, tables) = split(members, self.depth, &mut self.visits)?;
        self.text("{");
        for (entries, more_follow) in [(&direct, !tables.is_empty()), (&tables, false)] {
            for (at, (name, value)) in entries.iter().enumerate() {
                if shape(value, self.depth, &mut self.visits)? == Shape::Nil {
                    continue;
                }
                self.out.extend(maybe_quoted(name.as_bytes()));
                self.text(" = ");
                self.element(value)?;
                if more_follow || at + 1 < entries.len() {
                    self.text(", ");
                }
            }
        }
        self.text("}");
        Ok(())
    }

    fn float(&mut self, x: f64) {
        if x.is_nan() {
            self.text("nan");
        } else if x.is_infinite() {
            self.text(if x < 0.0 { "-inf" } else { "inf" });
        } else {
            let format = if self.edition == Edition::V1_4 {
                b'f'
            } else {
                b'g'
            };
            let text = format_float(x, format, None);
            let is_whole = !text.contains(['.', 'e']);
            self.text(&text);
            if is_whole {
                self.text(".0");
            }
        }
    }
}

type Entries = Vec<(Str, Value)>;

/// The entries of a map, sorted, or the fields of a struct, in their order.
fn members(table: &Value) -> Entries {
    match table {
        Value::Map(map) => map.entries(),
        structure => toml_entries(fields_of(structure).unwrap_or_default()),
    }
}

/// The entries that are values, and those that are tables.
fn split(
    members: Entries,
    depth: usize,
    visits: &mut VisitBudget,
) -> Result<(Entries, Entries), EncodeError> {
    let (mut direct, mut tables) = (Vec::new(), Vec::new());
    for (name, value) in members {
        let value = plain(&value);
        match shape(&value, depth, visits)? {
            Shape::Table | Shape::Tables => tables.push((name, value)),
            _ => direct.push((name, value)),
        }
    }
    Ok((direct, tables))
}

pub(super) fn quoted(text: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in text {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            0x08 => b"\\b",
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            0x0c => b"\\f",
            b'\r' => b"\\r",
            0..0x20 | 0x7f => {
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                continue;
            }
            _ => {
                out.push(*byte);
                continue;
            }
        };
        out.extend_from_slice(escape);
    }
    out.push(b'"');
    out
}
