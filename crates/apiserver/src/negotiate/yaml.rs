//! YAML bodies as JSON values, and values as YAML.

use std::borrow::Cow;

use outrigger_goyaml::{Builder, Emitter, Style, natural_order};
use serde_json::{Map, Number, Value};

struct Values;

impl Builder for Values {
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

/// The first document. The error reads as that of the real server.
pub(crate) fn from_yaml(bytes: &[u8]) -> Result<Value, String> {
    outrigger_goyaml::parse(bytes, &mut Values).map_err(|error| error.full_text())
}

/// What a strict reader has against a document that can be read: keys that a map has more than once.
pub(crate) fn strict_problem(bytes: &[u8]) -> Option<outrigger_goyaml::Error> {
    outrigger_goyaml::check_strict(bytes).err()
}

/// The same as warnings, one for each key.
pub(crate) fn strict_warnings(problem: &outrigger_goyaml::Error) -> Vec<String> {
    match problem {
        outrigger_goyaml::Error::RepeatedKeys(keys) => keys.clone(),
        other => vec![other.to_string()],
    }
}

pub(crate) fn to_yaml(value: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    let mut emitter = Emitter::new(&mut text, Style::Normal, 0);
    emit(&mut emitter, value);
    // All that can go wrong is a map without an end.
    let _ = emitter.finish();
    text.push(b'\n');
    text
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
            entries.sort_by(|a, b| natural_order(a.0, b.0));
            emitter.begin_map(entries.len());
            for (key, value) in entries {
                emitter.key(key);
                emit(emitter, value);
            }
            emitter.end_map();
        }
    }
}
