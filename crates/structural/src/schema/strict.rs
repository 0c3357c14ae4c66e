//! Strict decoding: parses JSON and reports duplicate fields, and fields that a built-in kind does not have, in the
//! order of the text.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use outrigger_gostd::json::{check_valid, replace_invalid_characters};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{DecodeError, SchemaRef};
use crate::depth;

/// Further errors are dropped.
const MAX_STRICT_ERRORS: usize = 100;

/// A parsed value and its strict decoding errors.
pub type Parsed = (Value, Vec<String>);

/// Parses JSON. The strict errors are about duplicate fields, of which the last value is used:
/// `duplicate field "spec.replicas"`.
pub fn parse(bytes: &[u8]) -> Result<Parsed, DecodeError> {
    parse_with(bytes, None)
}

/// Parses a built-in object. The strict errors are also about unknown fields: `unknown field "spec.foo"`.
pub fn parse_typed(bytes: &[u8], schema: SchemaRef<'_>) -> Result<Parsed, DecodeError> {
    parse_with(bytes, Some(schema))
}

fn parse_with(bytes: &[u8], schema: Option<SchemaRef<'_>>) -> Result<Parsed, DecodeError> {
    let error = match parse_text(bytes, schema) {
        Ok(parsed) => return Ok(parsed),
        Err(error) => error,
    };
    check_valid(bytes).map_err(|syntax| DecodeError::new(syntax.to_string()))?;
    // Valid JSON that serde_json does not parse has characters that only Go accepts, has a number that is no float64,
    // or is nested too deep.
    if let Cow::Owned(replaced) = replace_invalid_characters(bytes) {
        return parse_with(&replaced, schema);
    }
    Err(if is_out_of_range(&error) {
        DecodeError::NumberOutOfRange(number_at(bytes, &error))
    } else {
        DecodeError::new(depth::EXCEEDED)
    })
}

fn parse_text(bytes: &[u8], schema: Option<SchemaRef<'_>>) -> Result<Parsed, serde_json::Error> {
    let reader = Reader {
        path: RefCell::new(String::new()),
        strict_errors: RefCell::new(Vec::new()),
    };
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let seed = Seed {
        reader: &reader,
        schema,
    };
    let value = seed.deserialize(&mut json)?;
    json.end()?;
    Ok((value, reader.strict_errors.into_inner()))
}

fn is_out_of_range(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("number out of range")
}

/// The number that an error is about.
fn number_at(bytes: &[u8], error: &serde_json::Error) -> String {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let before = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len);
    let at = before.sum::<usize>() + error.column();
    let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let text = &bytes[..at.min(bytes.len())];
    let start = text.len() - text.iter().rev().take_while(is_part).count();
    let end = text.len() + bytes[text.len()..].iter().take_while(is_part).count();
    String::from_utf8_lossy(&bytes[start..end]).into_owned()
}

/// The name of the type of a value, as in messages of Go's decoder.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

struct Reader {
    path: RefCell<String>,
    strict_errors: RefCell<Vec<String>>,
}

impl Reader {
    fn enter(&self, step: &str) -> usize {
        let mut path = self.path.borrow_mut();
        let length = path.len();
        if !path.is_empty() && !step.starts_with('[') {
            path.push('.');
        }
        path.push_str(step);
        length
    }

    fn leave(&self, length: usize) {
        self.path.borrow_mut().truncate(length);
    }

    fn report(&self, what: &str, name: &str) {
        let length = self.enter(name);
        let mut strict_errors = self.strict_errors.borrow_mut();
        if strict_errors.len() < MAX_STRICT_ERRORS {
            strict_errors.push(format!("{what} field \"{}\"", self.path.borrow()));
        }
        drop(strict_errors);
        self.leave(length);
    }
}

#[derive(Clone, Copy)]
struct Seed<'r, 's> {
    reader: &'r Reader,
    schema: Option<SchemaRef<'s>>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let seed = Seed {
            reader: self.reader,
            schema: self.schema.and_then(SchemaRef::items),
        };
        let mut list = Vec::new();
        loop {
            let length = self.reader.enter(&format!("[{}]", list.len()));
            let item = items.next_element_seed(seed);
            self.reader.leave(length);
            match item? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let schema = self
                .schema
                .and_then(|schema| schema.property(&name).or_else(|| schema.additional()));
            if map.contains_key(&name) {
                self.reader.report("duplicate", &name);
            } else if schema.is_none() && self.schema.is_some_and(is_closed) {
                self.reader.report("unknown", &name);
            }
            let seed = Seed {
                reader: self.reader,
                schema,
            };
            let length = self.reader.enter(&name);
            let value = fields.next_value_seed(seed);
            self.reader.leave(length);
            map.insert(name, value?);
        }
        Ok(Value::Object(map))
    }
}

/// Whether the object has only the declared fields.
fn is_closed(schema: SchemaRef<'_>) -> bool {
    schema.node().name.is_some() && !schema.node().properties.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::builtin;

    #[test]
    fn reports_duplicate_fields_with_their_paths() {
        let (value, strict_errors) =
            parse(br#"{"a":{"b":1,"b":2},"l":[{"x":1,"x":2}],"a":3}"#).unwrap();
        assert_eq!(value["a"], 3);
        let expected = [
            r#"duplicate field "a.b""#,
            r#"duplicate field "l[0].x""#,
            r#"duplicate field "a""#,
        ];
        assert_eq!(strict_errors, expected);
    }

    #[test]
    fn a_number_that_is_no_float64_is_reported_with_its_text() {
        for (text, number) in [
            ("{\"a\":1e400}", "1e400"),
            ("{\n\"a\": [-1.5e+999, 2]\n}", "-1.5e+999"),
            ("1e400", "1e400"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            let expected = DecodeError::NumberOutOfRange(number.to_owned());
            assert_eq!(error, expected, "{text}");
        }
    }

    #[test]
    fn characters_that_do_not_exist_are_replaced_like_in_go() {
        let text = br#"{"\udc00":"x\ud800y","pair":"\ud83d\ude00","escaped":"\\ud800"}"#;
        let (value, _) = parse(text).unwrap();
        let expected = serde_json::json!({
            "\u{fffd}": "x\u{fffd}y", "pair": "\u{1f600}", "escaped": "\\ud800",
        });
        assert_eq!(value, expected);
        let (value, _) = parse(b"[\"\xff(\"]").unwrap();
        assert_eq!(value, serde_json::json!(["\u{fffd}("]));
    }

    #[test]
    fn reports_unknown_fields_in_the_order_of_the_text() {
        let schema = builtin::schema("apps/v1", "Deployment").unwrap();
        let text = br#"{"spec":{"foo":1,"template":{"spec":{"containers":[{"name":"a","bar":1}]}}},"baz":2}"#;
        let (_, strict_errors) = parse_typed(text, schema.root()).unwrap();
        let expected = [
            r#"unknown field "spec.foo""#,
            r#"unknown field "spec.template.spec.containers[0].bar""#,
            r#"unknown field "baz""#,
        ];
        assert_eq!(strict_errors, expected);
    }
}
