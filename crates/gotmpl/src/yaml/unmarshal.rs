//! `yaml.Unmarshal` of sigs.k8s.io/yaml: every number becomes a `float64`.

use std::borrow::Cow;

use outrigger_goyaml::{Builder, Error, parse};

use crate::value::{Element, List, Map, MapType, Value};

struct ValueBuilder;

impl Builder for ValueBuilder {
    type Value = Value;

    fn null(&mut self) -> Value {
        Value::Nil
    }

    fn bool(&mut self, value: bool) -> Value {
        Value::Bool(value)
    }

    #[expect(clippy::cast_precision_loss, reason = "so does Go's JSON decoder")]
    fn int(&mut self, value: i64) -> Value {
        Value::Float(value as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "so does Go's JSON decoder")]
    fn uint(&mut self, value: u64) -> Value {
        Value::Float(value as f64)
    }

    fn float(&mut self, value: f64) -> Value {
        Value::Float(value)
    }

    fn string(&mut self, value: Cow<'_, str>) -> Value {
        Value::str(value)
    }

    fn list(&mut self, items: Vec<Value>) -> Value {
        Value::grown_list(items)
    }

    fn map(&mut self, entries: Vec<(Cow<'_, str>, Value)>) -> Value {
        let entries = entries.into_iter().map(|(k, v)| (k.into(), v)).collect();
        Value::map(entries)
    }
}

/// Unmarshals into a `map[string]interface {}`; an empty document is an empty map.
pub(super) fn map(text: &[u8]) -> Result<Map, Error> {
    match parse(text, &mut ValueBuilder) {
        Ok(Value::Map(map)) => Ok(map),
        Ok(Value::Nil) => Ok(Map::new(MapType::Any)),
        Ok(other) => Err(not_a(&other, "map[string]interface {}")),
        Err(error) => Err(error),
    }
}

/// Unmarshals into a `[]interface {}`; an empty document is an empty list.
pub(super) fn list(text: &[u8]) -> Result<List, Error> {
    match parse(text, &mut ValueBuilder) {
        Ok(Value::List(list)) => Ok(list),
        Ok(Value::Nil) => Ok(List::new(Element::Any, Vec::new())),
        Ok(other) => Err(not_a(&other, "[]interface {}")),
        Err(error) => Err(error),
    }
}

fn not_a(found: &Value, go_type: &'static str) -> Error {
    let found = match found {
        Value::Bool(_) => "bool",
        Value::Float(_) => "number",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        _ => "object",
    };
    Error::not_a(found, go_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmarshals_an_empty_document_to_an_empty_collection() {
        for text in ["", "null", "~", "# only a comment"] {
            let read = Value::Map(map(text.as_bytes()).unwrap());
            assert_eq!(crate::json::encode(&read, true).unwrap(), b"{}", "{text}");
            let read = Value::List(list(text.as_bytes()).unwrap());
            assert_eq!(crate::json::encode(&read, true).unwrap(), b"[]", "{text}");
        }
    }
}
