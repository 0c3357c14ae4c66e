//! YAML to and from `serde_json` values.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use crate::{Builder, Emitter, Error, Style, natural_order, parse_to_depth, sort_natural};

/// The maximum nesting of JSON values, which are traversed recursively.
const MAX_DEPTH: usize = 500;

/// Parses into a JSON value, which may be nested 500 levels deep. Floats that JSON does not have become null.
pub fn parse_json(bytes: &[u8]) -> Result<Value, Error> {
    parse_json_to_depth(bytes, MAX_DEPTH)
}

/// [`parse_json`] with a nesting limit.
pub fn parse_json_to_depth(bytes: &[u8], limit: usize) -> Result<Value, Error> {
    parse_to_depth(bytes, &mut Json, limit)
}

/// [`try_write_json`]; an empty line for a value that cannot be written.
pub fn write_json(value: &Value) -> Vec<u8> {
    try_write_json(value).unwrap_or_else(|_| b"\n".to_vec())
}

/// `yaml.Marshal`: the form that Kubernetes tools print, with a trailing newline. Texts with control characters cannot be
/// written.
pub fn try_write_json(value: &Value) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    let mut emitter = Emitter::new(&mut text, Style::Normal, 0);
    emit(&mut emitter, value);
    emitter.finish()?;
    text.push(b'\n');
    Ok(text)
}

struct Json;

impl Builder for Json {
    type Value = Value;

    fn null(&mut self) -> Value {
        Value::Null
    }

    fn bool(&mut self, value: bool) -> Value {
        Value::Bool(value)
    }

    fn int(&mut self, value: i64) -> Value {
        value.into()
    }

    fn uint(&mut self, value: u64) -> Value {
        value.into()
    }

    fn float(&mut self, value: f64) -> Value {
        Number::from_f64(value).map_or(Value::Null, Value::Number)
    }

    fn string(&mut self, value: Cow<'_, str>) -> Value {
        Value::String(value.into_owned())
    }

    fn list(&mut self, items: Vec<Value>) -> Value {
        Value::Array(items)
    }

    fn map(&mut self, entries: Vec<(Cow<'_, str>, Value)>) -> Value {
        let entries = entries.into_iter();
        let entries = entries.map(|(key, value)| (key.into_owned(), value));
        Value::Object(entries.collect::<Map<_, _>>())
    }
}

fn emit(emitter: &mut Emitter<'_>, value: &Value) {
    match value {
        Value::Null => emitter.null(),
        Value::Bool(value) => emitter.bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => emitter.int(number),
            (None, Some(number)) => emitter.uint(number),
            (None, None) => emitter.float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => emitter.string(text),
        Value::Array(items) => {
            emitter.begin_list(items.len());
            for item in items {
                emit(emitter, item);
            }
            emitter.end_list();
        }
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            sort_natural(&mut entries, natural_order, |entry| entry.0);
            emitter.begin_map(entries.len());
            for (key, value) in entries {
                emitter.key(key);
                emit(emitter, value);
            }
            emitter.end_map();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_the_depth_of_a_value_also_by_aliases() {
        let parse = |text: &str| parse_json_to_depth(text.as_bytes(), 3);
        assert_eq!(parse("[[[1]]]"), parse_json(b"[[[1]]]"));
        assert_eq!(parse("[[[[]]]]"), Err(Error::MaxDepth(3)));
        assert_eq!(parse("a: {b: {c: {d: 1}}}"), Err(Error::MaxDepth(3)));
        assert!(parse("a: &a [[1]]\nb: [1]\n").is_ok());
        assert_eq!(parse("a: &a [[1]]\nb: [*a]\n"), Err(Error::MaxDepth(3)));
        let deep = "[".repeat(9_000) + &"]".repeat(9_000);
        assert_eq!(parse(&deep), Err(Error::MaxDepth(3)));
    }
}
