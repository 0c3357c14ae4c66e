//! Encodes JSON objects of built-in kinds to protobuf. Fields that JSON omits are omitted, which Go decodes to their zero
//! values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use crate::table::{Base, Field, Form, Message, Shape, Table};
use crate::wire::Wire;

/// Writes the fields of a message.
pub(crate) fn message(message: &Message, value: &Value, out: &mut Vec<u8>) {
    match message.form {
        Form::Object => members(message, value, out),
        Form::Time | Form::MicroTime => time(value, out),
        Form::Quantity => text(1, value, out),
        Form::IntOrString => int_or_string(value, out),
        Form::Raw | Form::Json => span(1, value.to_string().as_bytes(), out),
        Form::Items => part(message, 1, value, out),
        Form::OrBool => match value {
            Value::Bool(allows) => varint_field(1, u64::from(*allows), out),
            schema => {
                varint_field(1, 1, out);
                part(message, 2, schema, out);
            }
        },
        Form::OrList if value.is_null() => {}
        Form::OrList => {
            let number = if value.is_array() { 2 } else { 1 };
            part(message, number, value, out);
        }
    }
}

fn part(message: &Message, number: u32, value: &Value, out: &mut Vec<u8>) {
    if let Some(declared) = message.field(number) {
        field(declared, value, out);
    }
}

fn members(message: &Message, value: &Value, out: &mut Vec<u8>) {
    for declared in &message.fields {
        match (declared.shape, declared.base) {
            (Shape::Inline, Base::Message(index)) => {
                let mut inner = Vec::new();
                self::message(Table::get().message(index), value, &mut inner);
                if !inner.is_empty() {
                    span(declared.number, &inner, out);
                }
            }
            _ => match value.get(declared.name) {
                None | Some(Value::Null) => {}
                Some(value) => field(declared, value, out),
            },
        }
    }
}

fn field(field: &Field, value: &Value, out: &mut Vec<u8>) {
    match (field.shape, value) {
        (Shape::List, Value::Array(items)) => {
            for item in items {
                one(field.number, field.base, item, out);
            }
        }
        (Shape::Map, Value::Object(entries)) => {
            for (key, value) in entries {
                let mut entry = Vec::new();
                span(1, key.as_bytes(), &mut entry);
                one(2, field.base, value, &mut entry);
                span(field.number, &entry, out);
            }
        }
        _ => one(field.number, field.base, value, out),
    }
}

fn one(number: u32, base: Base, value: &Value, out: &mut Vec<u8>) {
    match base {
        Base::String => text(number, value, out),
        Base::Bytes => {
            let bytes = STANDARD.decode(value.as_str().unwrap_or_default());
            span(number, &bytes.unwrap_or_default(), out);
        }
        Base::Bool => varint_field(number, u64::from(value == &Value::Bool(true)), out),
        Base::Int32 | Base::Int64 => integer(number, value.as_i64().unwrap_or_default(), out),
        Base::Double => {
            tag(number, Wire::Fixed64, out);
            out.extend(value.as_f64().unwrap_or_default().to_le_bytes());
        }
        Base::Message(index) => {
            let mut inner = Vec::new();
            message(Table::get().message(index), value, &mut inner);
            span(number, &inner, out);
        }
    }
}

fn time(value: &Value, out: &mut Vec<u8>) {
    let time = value
        .as_str()
        .and_then(|text| text.parse::<Timestamp>().ok());
    let Some(time) = time else {
        return;
    };
    // Fractions of times before 1970 count backwards in jiff, and forwards in Go.
    let nanos = time.as_nanosecond();
    let seconds = nanos.div_euclid(1_000_000_000);
    let rest = nanos.rem_euclid(1_000_000_000);
    integer(1, i64::try_from(seconds).unwrap_or_default(), out);
    integer(2, i64::try_from(rest).unwrap_or_default(), out);
}

fn int_or_string(value: &Value, out: &mut Vec<u8>) {
    if value.is_string() {
        varint_field(1, 1, out);
        text(3, value, out);
    } else {
        varint_field(1, 0, out);
        integer(2, value.as_i64().unwrap_or_default(), out);
    }
}

fn text(number: u32, value: &Value, out: &mut Vec<u8>) {
    span(number, value.as_str().unwrap_or_default().as_bytes(), out);
}

fn integer(number: u32, value: i64, out: &mut Vec<u8>) {
    varint_field(number, value.cast_unsigned(), out);
}

fn varint_field(number: u32, value: u64, out: &mut Vec<u8>) {
    tag(number, Wire::Varint, out);
    varint(value, out);
}

/// Writes a length-delimited field.
pub(crate) fn span(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    span_header(number, bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// Writes what is before the bytes of a length-delimited field.
pub(crate) fn span_header(number: u32, length: usize, out: &mut Vec<u8>) {
    tag(number, Wire::Span, out);
    varint(length as u64, out);
}

fn tag(number: u32, wire: Wire, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | wire as u64, out);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}
