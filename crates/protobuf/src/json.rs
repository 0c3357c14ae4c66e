//! Encodes a decoded message to JSON by the rules of Go's encoder: omitted, null and zero fields.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use outrigger_apimachinery::quantity;
use serde_json::{Map, Number, Value};

use crate::error::{Fault, Located};
use crate::table::{Base, Field, Form, Message, Shape, Table};
use crate::tree::{Budget, Fields, Node};
use crate::{raw, time};

/// The JSON object of a message.
pub(crate) fn object(
    message: &Message,
    fields: &Fields<'_>,
    budget: &mut Budget,
) -> Result<Map<String, Value>, Located> {
    let mut object = Map::new();
    Writer {
        table: Table::get(),
        budget,
    }
    .members(&mut object, message, fields, 1)?;
    Ok(object)
}

struct Writer<'b> {
    table: &'static Table,
    budget: &'b mut Budget,
}

impl Writer<'_> {
    fn members(
        &mut self,
        object: &mut Map<String, Value>,
        message: &Message,
        fields: &Fields<'_>,
        depth: usize,
    ) -> Result<(), Located> {
        for field in &message.fields {
            let set = fields.get(field.number);
            match (field.shape, field.base, set) {
                (Shape::Inline, Base::Message(index), Some(Node::Message(inner))) => {
                    self.members(object, self.table.message(index), inner, depth)?;
                }
                (Shape::Inline, Base::Message(index), _) => {
                    self.members(object, self.table.message(index), &Fields::default(), depth)?;
                }
                (_, _, Some(node)) => {
                    let value = self
                        .field(field, node, depth.saturating_add(1))
                        .map_err(|fault| fault.within(field.name))?;
                    if !(field.omit_empty && field.shape == Shape::Value && is_empty(&value)) {
                        object.insert(field.name.to_owned(), value);
                    }
                }
                (_, _, None) if field.omit_empty => {}
                (_, _, None) => {
                    let value = self.unset(field, depth.saturating_add(1))?;
                    object.insert(field.name.to_owned(), value);
                }
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, node: &Node<'_>, depth: usize) -> Result<Value, Located> {
        match node {
            Node::List(list) => self.list(field.base, list, depth),
            Node::Map(map) => self.map(field.base, map, depth),
            node => self.one(field.base, node, depth),
        }
    }

    fn list(&mut self, base: Base, list: &[Node<'_>], depth: usize) -> Result<Value, Located> {
        let elements = list.iter().enumerate().map(|(index, node)| {
            self.one(base, node, depth.saturating_add(1))
                .map_err(|fault| fault.at(index))
        });
        elements.collect::<Result<_, _>>().map(Value::Array)
    }

    fn map(
        &mut self,
        base: Base,
        map: &[(&[u8], Node<'_>)],
        depth: usize,
    ) -> Result<Value, Located> {
        let entries = map.iter().map(|(key, node)| {
            let value = self
                .one(base, node, depth.saturating_add(1))
                .map_err(|fault| fault.under(key))?;
            Ok((text(key), value))
        });
        entries.collect::<Result<_, _>>().map(Value::Object)
    }

    fn one(&mut self, base: Base, node: &Node<'_>, depth: usize) -> Result<Value, Located> {
        Ok(match (base, node) {
            (Base::Message(index), Node::Message(fields)) => {
                self.message(self.table.message(index), fields, depth)?
            }
            (Base::Bytes, Node::Bytes(bytes)) => Value::String(STANDARD.encode(bytes)),
            (_, Node::Bytes(bytes)) => Value::String(text(bytes)),
            (_, Node::Bool(value)) => Value::Bool(*value),
            (_, Node::Integer(value)) => Value::from(*value),
            (_, Node::Double(value)) => Value::Number(number(*value)?),
            (_, Node::Message(_) | Node::List(_) | Node::Map(_)) => Value::Null,
        })
    }

    fn message(
        &mut self,
        message: &Message,
        fields: &Fields<'_>,
        depth: usize,
    ) -> Result<Value, Located> {
        Ok(match message.form {
            Form::Object => {
                let mut object = Map::new();
                self.members(&mut object, message, fields, depth)?;
                Value::Object(object)
            }
            Form::Time => time::seconds(integer(fields, 1))?,
            Form::MicroTime => time::micros(integer(fields, 1), integer(fields, 2).unwrap_or(0))?,
            Form::Quantity => match bytes(fields, 1) {
                Some(bytes) => {
                    Value::String(quantity::canonicalize(&text(bytes)).ok_or(Fault::Quantity)?)
                }
                None => Value::from("0"),
            },
            Form::IntOrString => match integer(fields, 1).unwrap_or(0) {
                0 => Value::from(integer(fields, 2).unwrap_or(0)),
                1 => Value::String(text(bytes(fields, 3).unwrap_or_default())),
                _ => return Err(Fault::IntOrString.into()),
            },
            Form::Raw => match bytes(fields, 1) {
                Some(bytes) => raw::parse(bytes, depth, self.budget)?,
                None => Value::Null,
            },
            Form::Json => match bytes(fields, 1) {
                Some(bytes) if !bytes.is_empty() => raw::parse(bytes, depth, self.budget)?,
                _ => Value::Null,
            },
            Form::Items => match self.part(message, fields, 1, depth)? {
                Value::Null => Value::Array(Vec::new()),
                items => items,
            },
            Form::OrBool => match self.part(message, fields, 2, depth)? {
                Value::Null => Value::Bool(matches!(fields.get(1), Some(Node::Bool(true)))),
                schema => schema,
            },
            Form::OrList => match self.part(message, fields, 2, depth)? {
                Value::Null => self.part(message, fields, 1, depth)?,
                list => list,
            },
        })
    }

    /// A field of a message with a custom encoding; null if it is not set.
    fn part(
        &mut self,
        message: &Message,
        fields: &Fields<'_>,
        number: u32,
        depth: usize,
    ) -> Result<Value, Located> {
        match (message.field(number), fields.get(number)) {
            (Some(field), Some(node)) => self.field(field, node, depth),
            _ => Ok(Value::Null),
        }
    }

    /// What Go encodes for a field that is not set and not omitted.
    fn unset(&mut self, field: &Field, depth: usize) -> Result<Value, Located> {
        self.budget.member()?;
        Ok(match (field.shape, field.base) {
            (Shape::Value, Base::String) => Value::from(""),
            (Shape::Value, Base::Bool) => Value::Bool(false),
            (Shape::Value, Base::Int32 | Base::Int64 | Base::Double) => Value::from(0),
            (Shape::Value, Base::Message(index)) => {
                let message = self.table.message(index);
                self.budget.message(message, depth)?;
                self.message(message, &Fields::default(), depth)?
            }
            _ => Value::Null,
        })
    }
}

fn integer(fields: &Fields<'_>, number: u32) -> Option<i64> {
    match fields.get(number) {
        Some(Node::Integer(value)) => Some(*value),
        _ => None,
    }
}

fn bytes<'a>(fields: &Fields<'a>, number: u32) -> Option<&'a [u8]> {
    match fields.get(number) {
        Some(Node::Bytes(bytes)) => Some(bytes),
        _ => None,
    }
}

/// Whether a value that is not a pointer is omitted: empty bytes, or a zero time.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(str::is_empty)
}

/// Decodes a string as Go does, with a replacement character for each byte that is not UTF-8.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// Go encodes whole numbers without exponent, so that they are integers if they fit 64 bits.
fn number(value: f64) -> Result<Number, Fault> {
    let whole = value.abs() < 1e21 && value.fract() == 0.0;
    let shown = whole.then(|| value.to_string().parse().ok()).flatten();
    shown
        .or_else(|| Number::from_f64(value))
        .ok_or(Fault::Float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_whole_numbers_without_fraction() {
        let shown = |value: f64| number(value).map(|number| number.to_string());
        assert_eq!(shown(3.0).unwrap(), "3");
        assert_eq!(
            shown(9_223_372_036_854_775_808.0).unwrap(),
            "9223372036854776000"
        );
        assert_eq!(shown(-0.0).unwrap(), "-0.0");
        assert_eq!(shown(-0.5).unwrap(), "-0.5");
        assert_eq!(shown(1e300).unwrap(), "1e+300");
        assert_eq!(shown(f64::NAN), Err(Fault::Float));
    }

    #[test]
    fn replaces_each_byte_that_is_not_utf8() {
        assert_eq!(text(b"a\xe2\x82z\xff"), "a\u{fffd}\u{fffd}z\u{fffd}");
    }
}
