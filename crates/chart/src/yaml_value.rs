//! A parsed YAML document that is `Send` and `Sync`, for `values.yaml` and `Chart.yaml` of a loaded chart.
//!
//! Integers and floats are distinct, because they are converted differently for string fields of `Chart.yaml`.

use std::borrow::Cow;

use outrigger_gostd::json;
use outrigger_gotmpl::value::{Map, MapType, Str, Value};
use outrigger_goyaml::Builder;

#[derive(Debug, Clone, Default, PartialEq)]
pub enum YamlValue {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Str(String),
    List(Vec<Self>),
    /// Entries in byte order of their keys.
    Map(Vec<(String, Self)>),
}

impl YamlValue {
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else {
            return None;
        };
        let index = entries
            .binary_search_by(|(k, _)| k.as_str().cmp(key))
            .ok()?;
        Some(&entries[index].1)
    }

    /// `json.Marshal`
    pub(crate) fn to_json(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Int(n) => n.to_string(),
            Self::Uint(n) => n.to_string(),
            Self::Float(x) => json::format_float(*x).unwrap_or_default(),
            Self::Str(text) => json::marshal_string(text),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::to_json).collect();
                format!("[{}]", items.join(","))
            }
            Self::Map(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(key, value)| {
                        format!("{}:{}", json::marshal_string(key), value.to_json())
                    })
                    .collect();
                format!("{{{}}}", entries.join(","))
            }
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Converts to a template value. As in Go's JSON decoder, all numbers become floats.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Nil,
            Self::Bool(b) => Value::Bool(*b),
            #[expect(
                clippy::cast_precision_loss,
                reason = "Go decodes every JSON number to float64"
            )]
            Self::Int(n) => Value::Float(*n as f64),
            #[expect(
                clippy::cast_precision_loss,
                reason = "Go decodes every JSON number to float64"
            )]
            Self::Uint(n) => Value::Float(*n as f64),
            Self::Float(x) => Value::Float(*x),
            Self::Str(text) => Value::str(text.as_str()),
            Self::List(items) => Value::grown_list(items.iter().map(Self::to_value).collect()),
            Self::Map(_) => Value::Map(self.to_map()),
        }
    }

    /// Converts to a template map, which is empty unless this is a map.
    pub fn to_map(&self) -> Map {
        let Self::Map(entries) = self else {
            return Map::default();
        };
        let entries = entries
            .iter()
            .map(|(key, value)| (Str::from(key.as_str()), value.to_value()))
            .collect();
        Map::from_entries(MapType::Any, entries)
    }

    /// The name of the type in errors of Go's JSON decoder.
    pub(crate) fn json_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Uint(_) | Self::Float(_) => "number",
            Self::Str(_) => "string",
            Self::List(_) => "array",
            Self::Map(_) => "object",
        }
    }
}

/// Builds [`YamlValue`] out of YAML.
#[derive(Debug, Default)]
pub(crate) struct YamlValueBuilder;

impl Builder for YamlValueBuilder {
    type Value = YamlValue;

    fn null(&mut self) -> YamlValue {
        YamlValue::Null
    }

    fn bool(&mut self, value: bool) -> YamlValue {
        YamlValue::Bool(value)
    }

    fn int(&mut self, value: i64) -> YamlValue {
        YamlValue::Int(value)
    }

    fn uint(&mut self, value: u64) -> YamlValue {
        YamlValue::Uint(value)
    }

    fn float(&mut self, value: f64) -> YamlValue {
        YamlValue::Float(value)
    }

    fn string(&mut self, value: Cow<'_, str>) -> YamlValue {
        YamlValue::Str(value.into_owned())
    }

    fn list(&mut self, items: Vec<YamlValue>) -> YamlValue {
        YamlValue::List(items)
    }

    fn map(&mut self, entries: Vec<(Cow<'_, str>, YamlValue)>) -> YamlValue {
        let mut entries: Vec<(String, YamlValue)> = entries
            .into_iter()
            .map(|(key, value)| (key.into_owned(), value))
            .collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        YamlValue::Map(entries)
    }
}
