//! Decodes YAML documents into typed fields, with the errors of Go's JSON decoder.
//!
//! As in Go, [`Decoder`] keeps the first type error and continues. Keys match fields case-insensitively. Numbers and
//! booleans are converted for string fields, as sigs.k8s.io/yaml does.

use crate::profile::Profile;
use crate::yaml_value::YamlValue;

/// The first type error of a document, with Go's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go {target} of type {go_type}"
)]
pub struct TypeError {
    found: &'static str,
    target: String,
    go_type: String,
}

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The enclosing structs and fields of the current node.
    structs: Vec<&'static str>,
    fields: Vec<&'static str>,
    error: Option<TypeError>,
}

impl Decoder {
    pub(crate) fn finish<T>(self, value: T) -> Result<T, TypeError> {
        self.error.map_or(Ok(value), Err)
    }

    /// Calls `field` for each entry of a struct named `name` with the Go type `go_type`. Null has no entries.
    pub(crate) fn object(
        &mut self,
        node: &YamlValue,
        name: &'static str,
        go_type: &str,
        mut field: impl FnMut(&mut Self, &str, &YamlValue),
    ) {
        match node {
            YamlValue::Null => {}
            YamlValue::Map(entries) => {
                self.structs.push(name);
                for (key, value) in entries {
                    field(self, key, value);
                }
                self.structs.pop();
            }
            other => self.mismatch(other, go_type),
        }
    }

    pub(crate) fn string(&mut self, field: &'static str, node: &YamlValue, target: &mut String) {
        self.within(field, |decoder| {
            if let Some(text) = decoder.text(node) {
                *target = text;
            }
        });
    }

    pub(crate) fn bool(&mut self, field: &'static str, node: &YamlValue, target: &mut bool) {
        self.within(field, |decoder| match node {
            YamlValue::Null => {}
            YamlValue::Bool(value) => *target = *value,
            other => decoder.mismatch(other, "bool"),
        });
    }

    pub(crate) fn strings(
        &mut self,
        field: &'static str,
        node: &YamlValue,
        target: &mut Vec<String>,
    ) {
        self.list(field, node, "[]string", target, |decoder, item| {
            decoder.text(item).unwrap_or_default()
        });
    }

    pub(crate) fn list<T>(
        &mut self,
        field: &'static str,
        node: &YamlValue,
        go_type: &str,
        target: &mut Vec<T>,
        mut item: impl FnMut(&mut Self, &YamlValue) -> T,
    ) {
        self.within(field, |decoder| match node {
            YamlValue::Null => target.clear(),
            YamlValue::List(items) => {
                *target = items.iter().map(|node| item(decoder, node)).collect();
            }
            other => decoder.mismatch(other, go_type),
        });
    }

    pub(crate) fn string_map(
        &mut self,
        field: &'static str,
        node: &YamlValue,
        target: &mut Vec<(String, String)>,
    ) {
        self.within(field, |decoder| match node {
            YamlValue::Null => target.clear(),
            YamlValue::Map(entries) => {
                for (key, value) in entries {
                    let text = decoder.text(value).unwrap_or_default();
                    match target.binary_search_by(|(k, _)| k.cmp(key)) {
                        Ok(index) => target[index].1 = text,
                        Err(index) => target.insert(index, (key.clone(), text)),
                    }
                }
            }
            other => decoder.mismatch(other, "map[string]string"),
        });
    }

    /// The text of a scalar; `None` for null and for lists and maps, which are type errors.
    fn text(&mut self, node: &YamlValue) -> Option<String> {
        match node {
            YamlValue::Null => None,
            YamlValue::Str(text) => Some(text.clone()),
            YamlValue::Bool(value) => Some(value.to_string()),
            YamlValue::Int(n) => Some(n.to_string()),
            YamlValue::Uint(n) => Some(n.to_string()),
            YamlValue::Float(x) => Some(outrigger_gostd::strconv::format_float32(*x)),
            other => {
                self.mismatch(other, "string");
                None
            }
        }
    }

    fn within(&mut self, field: &'static str, decode: impl FnOnce(&mut Self)) {
        self.fields.push(field);
        decode(self);
        self.fields.pop();
    }

    fn mismatch(&mut self, found: &YamlValue, go_type: &str) {
        if self.error.is_some() {
            return;
        }
        let target = match self.structs.last() {
            Some(name) if !self.fields.is_empty() => {
                format!("struct field {name}.{}", self.fields.join("."))
            }
            _ => "value".to_owned(),
        };
        self.error = Some(TypeError {
            found: found.json_name(),
            target,
            go_type: go_type.to_owned(),
        });
    }
}

/// Requires a map, with the error of a document that Helm decodes into `map[string]interface{}`.
pub(crate) fn require_map(node: &YamlValue) -> Result<(), TypeError> {
    require(node, "map[string]interface {}")
}

/// Requires a map, with the error of a document that Helm decodes into `Values`.
pub(crate) fn require_values(node: &YamlValue, profile: Profile) -> Result<(), TypeError> {
    require(node, profile.rules().values_type)
}

fn require(node: &YamlValue, go_type: &str) -> Result<(), TypeError> {
    let mut decoder = Decoder::default();
    decoder.object(node, "", go_type, |_, _, _| {});
    decoder.finish(())
}
