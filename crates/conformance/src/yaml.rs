//! Case files are YAML, read as Helm and kubectl read it, into JSON values.

use std::borrow::Cow;

use outrigger_goyaml::Builder;
use serde_json::{Map, Value};

/// Reads one document.
pub(crate) fn parse(text: &[u8]) -> anyhow::Result<Value> {
    outrigger_goyaml::parse(text, &mut Json).map_err(|error| anyhow::anyhow!("{error}"))
}

struct Json;

impl Builder for Json {
    type Value = Value;

    fn null(&mut self) -> Value {
        Value::Null
    }

    fn bool(&mut self, value: bool) -> Value {
        value.into()
    }

    fn int(&mut self, value: i64) -> Value {
        value.into()
    }

    fn uint(&mut self, value: u64) -> Value {
        value.into()
    }

    fn float(&mut self, value: f64) -> Value {
        value.into()
    }

    fn string(&mut self, value: Cow<'_, str>) -> Value {
        value.into_owned().into()
    }

    fn list(&mut self, items: Vec<Value>) -> Value {
        items.into()
    }

    fn map(&mut self, entries: Vec<(Cow<'_, str>, Value)>) -> Value {
        let entries = entries
            .into_iter()
            .map(|(key, value)| (key.into_owned(), value));
        Value::Object(entries.collect::<Map<_, _>>())
    }
}
