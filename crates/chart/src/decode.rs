//! Typed fields out of a YAML document, with the errors of Go's JSON decoder.
//!
//! Go keeps the first type error and decodes on; so does [`Decoder`]. Keys match fields without regard to case.
//! A field of type string takes numbers and booleans as their text, as the YAML layer of Helm converts them.

use crate::plain::Plain;
use crate::profile::Profile;

/// The first type error of a document, in Go's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go {place} of type {wanted}"
)]
pub struct TypeError {
    found: &'static str,
    place: String,
    wanted: String,
}

/// Where the decoder is: the innermost struct and the fields that lead there.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    structs: Vec<&'static str>,
    fields: Vec<&'static str>,
    error: Option<TypeError>,
}

impl Decoder {
    pub(crate) fn finish<T>(self, value: T) -> Result<T, TypeError> {
        self.error.map_or(Ok(value), Err)
    }

    /// Runs `field` on each entry of a struct named `name` whose Go type is `go_type`; null leaves it untouched.
    pub(crate) fn object(
        &mut self,
        node: &Plain,
        name: &'static str,
        go_type: &str,
        mut field: impl FnMut(&mut Self, &str, &Plain),
    ) {
        match node {
            Plain::Null => {}
            Plain::Map(entries) => {
                self.structs.push(name);
                for (key, value) in entries {
                    field(self, key, value);
                }
                self.structs.pop();
            }
            other => self.mismatch(other, go_type),
        }
    }

    pub(crate) fn string(&mut self, field: &'static str, node: &Plain, target: &mut String) {
        self.within(field, |decoder| {
            if let Some(text) = decoder.text(node) {
                *target = text;
            }
        });
    }

    pub(crate) fn bool(&mut self, field: &'static str, node: &Plain, target: &mut bool) {
        self.within(field, |decoder| match node {
            Plain::Null => {}
            Plain::Bool(value) => *target = *value,
            other => decoder.mismatch(other, "bool"),
        });
    }

    pub(crate) fn strings(&mut self, field: &'static str, node: &Plain, target: &mut Vec<String>) {
        self.list(field, node, "[]string", target, |decoder, item| {
            decoder.text(item).unwrap_or_default()
        });
    }

    pub(crate) fn list<T>(
        &mut self,
        field: &'static str,
        node: &Plain,
        go_type: &str,
        target: &mut Vec<T>,
        mut item: impl FnMut(&mut Self, &Plain) -> T,
    ) {
        self.within(field, |decoder| match node {
            Plain::Null => target.clear(),
            Plain::List(items) => {
                *target = items.iter().map(|node| item(decoder, node)).collect();
            }
            other => decoder.mismatch(other, go_type),
        });
    }

    pub(crate) fn string_map(
        &mut self,
        field: &'static str,
        node: &Plain,
        target: &mut Vec<(String, String)>,
    ) {
        self.within(field, |decoder| match node {
            Plain::Null => target.clear(),
            Plain::Map(entries) => {
                for (key, value) in entries {
                    let text = decoder.text(value).unwrap_or_default();
                    match target.binary_search_by(|(k, _)| k.cmp(key)) {
                        Ok(at) => target[at].1 = text,
                        Err(at) => target.insert(at, (key.clone(), text)),
                    }
                }
            }
            other => decoder.mismatch(other, "map[string]string"),
        });
    }

    /// The text of a scalar; none for null and for what is not a scalar.
    fn text(&mut self, node: &Plain) -> Option<String> {
        match node {
            Plain::Null => None,
            Plain::Str(text) => Some(text.clone()),
            Plain::Bool(value) => Some(value.to_string()),
            Plain::Int(n) => Some(n.to_string()),
            Plain::Uint(n) => Some(n.to_string()),
            Plain::Float(x) => Some(outrigger_gostd::strconv::format_float32(*x)),
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

    fn mismatch(&mut self, found: &Plain, wanted: &str) {
        if self.error.is_some() {
            return;
        }
        let place = match self.structs.last() {
            Some(name) if !self.fields.is_empty() => {
                format!("struct field {name}.{}", self.fields.join("."))
            }
            _ => "value".to_owned(),
        };
        self.error = Some(TypeError {
            found: found.json_name(),
            place,
            wanted: wanted.to_owned(),
        });
    }
}

/// A document that must be a map at the top, as Helm reads values.
pub(crate) fn require_map(node: &Plain) -> Result<(), TypeError> {
    require(node, "map[string]interface {}")
}

/// The same where Helm decodes into a type of its own.
pub(crate) fn require_values(node: &Plain, profile: Profile) -> Result<(), TypeError> {
    require(node, profile.rules().values_type)
}

fn require(node: &Plain, go_type: &str) -> Result<(), TypeError> {
    let mut decoder = Decoder::default();
    decoder.object(node, "", go_type, |_, _, _| {});
    decoder.finish(())
}
