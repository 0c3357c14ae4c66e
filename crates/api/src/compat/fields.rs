//! Reads the fields of an object one by one, and rejects unknown ones.

use std::collections::BTreeMap;

use outrigger_apimachinery::nearest::nearest;
use serde_json::{Map, Value};

use super::Error;

/// The remaining fields of an object. Each getter removes its field; [`Fields::finish`] rejects those that remain.
#[derive(Debug)]
pub(super) struct Fields {
    path: String,
    entries: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Fields {
    /// Null is an object without fields.
    pub(super) fn new(path: &str, value: Value) -> Result<Self, Error> {
        let entries = match value {
            Value::Null => Map::new(),
            Value::Object(entries) => entries,
            other => return Err(mismatch(path, "an object", &other)),
        };
        Ok(Self {
            path: path.to_owned(),
            entries,
            known: Vec::new(),
        })
    }

    /// The metadata of an object, and the fields of its `spec`.
    pub(super) fn of_object(object: Value) -> Result<(Map<String, Value>, Self), Error> {
        let mut fields = Self::new("", object)?;
        fields.ignore("apiVersion");
        fields.ignore("kind");
        fields.ignore("status");
        let meta = fields.map("metadata")?;
        let spec = fields.object("spec")?;
        fields.finish()?;
        Ok((meta, spec))
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    fn take(&mut self, name: &'static str) -> Value {
        self.known.push(name);
        self.entries.remove(name).unwrap_or_default()
    }

    /// A string. The empty string is `None`.
    pub(super) fn string(&mut self, name: &'static str) -> Result<Option<String>, Error> {
        match self.take(name) {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text).filter(|text| !text.is_empty())),
            other => Err(mismatch(&self.path_of(name), "a string", &other)),
        }
    }

    pub(super) fn boolean(&mut self, name: &'static str) -> Result<Option<bool>, Error> {
        match self.take(name) {
            Value::Null => Ok(None),
            Value::Bool(flag) => Ok(Some(flag)),
            other => Err(mismatch(&self.path_of(name), "a boolean", &other)),
        }
    }

    pub(super) fn integer(&mut self, name: &'static str) -> Result<Option<u64>, Error> {
        match self.take(name) {
            Value::Null => Ok(None),
            other => match other.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(mismatch(&self.path_of(name), "an integer", &other)),
            },
        }
    }

    pub(super) fn object(&mut self, name: &'static str) -> Result<Self, Error> {
        let value = self.take(name);
        Self::new(&self.path_of(name), value)
    }

    /// An object with arbitrary fields.
    pub(super) fn map(&mut self, name: &'static str) -> Result<Map<String, Value>, Error> {
        match self.take(name) {
            Value::Null => Ok(Map::new()),
            Value::Object(map) => Ok(map),
            other => Err(mismatch(&self.path_of(name), "an object", &other)),
        }
    }

    /// The items of an array, each with its path.
    pub(super) fn list(&mut self, name: &'static str) -> Result<Vec<(String, Value)>, Error> {
        let path = self.path_of(name);
        match self.take(name) {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) => {
                let items = items.into_iter().enumerate();
                Ok(items
                    .map(|(index, item)| (format!("{path}[{index}]"), item))
                    .collect())
            }
            other => Err(mismatch(&path, "an array", &other)),
        }
    }

    pub(super) fn objects(&mut self, name: &'static str) -> Result<Vec<Self>, Error> {
        let items = self.list(name)?.into_iter();
        items.map(|(path, item)| Self::new(&path, item)).collect()
    }

    /// A string that must not be missing or empty.
    pub(super) fn required_string(&mut self, name: &'static str) -> Result<String, Error> {
        let path = self.path_of(name);
        self.string(name)?.ok_or(Error::Missing { path })
    }

    /// The strings of an array.
    pub(super) fn strings(&mut self, name: &'static str) -> Result<Vec<String>, Error> {
        let items = self.list(name)?.into_iter();
        items.map(|(path, item)| string(&path, item)).collect()
    }

    /// An object with arbitrary fields that are strings.
    pub(super) fn string_map(
        &mut self,
        name: &'static str,
    ) -> Result<BTreeMap<String, String>, Error> {
        let path = self.path_of(name);
        let entries = self.map(name)?.into_iter();
        entries
            .map(|(key, value)| {
                let text = string(&format!("{path}.{key}"), value)?;
                Ok((key, text))
            })
            .collect()
    }

    /// Rejects a field that requests something unsupported, unless it is empty or off.
    pub(super) fn refuse(&mut self, name: &'static str, hint: &'static str) -> Result<(), Error> {
        let is_off = match self.take(name) {
            Value::Null => true,
            Value::Bool(flag) => !flag,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            Value::Number(_) => false,
        };
        if is_off {
            return Ok(());
        }
        Err(Error::Invalid {
            path: self.path_of(name),
            reason: "is not supported".to_owned(),
            hint: Some(hint),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Accepts a field that has no equivalent in a plugin.
    pub(super) fn ignore(&mut self, name: &'static str) {
        self.take(name);
    }

    /// Rejects fields that were not read.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self.entries.keys().next() {
            None => Ok(()),
            Some(name) => Err(Error::UnknownField {
                path: self.path_of(name),
                nearest: nearest(name, &self.known).map(str::to_owned),
            }),
        }
    }
}

fn string(path: &str, value: Value) -> Result<String, Error> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(mismatch(path, "a string", &other)),
    }
}

pub(super) fn mismatch(path: &str, expected: &'static str, found: &Value) -> Error {
    Error::Type {
        path: path.to_owned(),
        expected,
        found: match found {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        },
    }
}
