//! A parsed YAML document as plain, sendable data: what a chart keeps of its `values.yaml` and `Chart.yaml`.
//!
//! Integers and floats stay apart here, because a `Chart.yaml` field of type string takes either as text.

use std::borrow::Cow;

use outrigger_gostd::json;
use outrigger_gotmpl::value::{Map, MapType, Str, Value};
use outrigger_goyaml::Builder;

#[derive(Debug, Clone, Default, PartialEq)]
pub enum Plain {
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

impl Plain {
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else {
            return None;
        };
        let at = entries
            .binary_search_by(|(k, _)| k.as_str().cmp(key))
            .ok()?;
        Some(&entries[at].1)
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

    /// The same as a template value; every number becomes a float, as Go's JSON decoder makes it.
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

    /// The same as a template map; empty unless this is a map.
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

    /// What Go's JSON decoder calls a value of this kind in its errors.
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

/// Builds [`Plain`] out of YAML.
#[derive(Debug, Default)]
pub(crate) struct PlainBuilder;

impl Builder for PlainBuilder {
    type Value = Plain;

    fn null(&mut self) -> Plain {
        Plain::Null
    }

    fn bool(&mut self, value: bool) -> Plain {
        Plain::Bool(value)
    }

    fn int(&mut self, value: i64) -> Plain {
        Plain::Int(value)
    }

    fn uint(&mut self, value: u64) -> Plain {
        Plain::Uint(value)
    }

    fn float(&mut self, value: f64) -> Plain {
        Plain::Float(value)
    }

    fn string(&mut self, value: Cow<'_, str>) -> Plain {
        Plain::Str(value.into_owned())
    }

    fn list(&mut self, items: Vec<Plain>) -> Plain {
        Plain::List(items)
    }

    fn map(&mut self, entries: Vec<(Cow<'_, str>, Plain)>) -> Plain {
        let mut entries: Vec<(String, Plain)> = entries
            .into_iter()
            .map(|(key, value)| (key.into_owned(), value))
            .collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Plain::Map(entries)
    }
}
