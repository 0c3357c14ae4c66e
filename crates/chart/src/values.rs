//! What the user sets: values files and the `--set` family, merged in Helm's order.

mod set;
#[cfg(test)]
mod tests;

use outrigger_gotmpl::json;
use outrigger_gotmpl::value::{Map, MapType, Value};

use crate::decode::{self, TypeError};
use crate::plain::Plain;
use crate::profile::Profile;
use crate::yaml::{self, ReadError};

pub use set::SetError;

/// The user's values as they were given, files already read.
#[derive(Debug, Clone, Default)]
pub struct ValuesOptions {
    /// `-f`: name and contents, in order.
    pub files: Vec<(String, Vec<u8>)>,
    /// `--set-json`
    pub json: Vec<String>,
    /// `--set`
    pub set: Vec<String>,
    /// `--set-string`
    pub string: Vec<String>,
    /// `--set-file`
    pub file: Vec<String>,
    /// `--set-literal`
    pub literal: Vec<String>,
}

/// Why the user's values cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to parse {name}: {source}")]
    File { name: String, source: FileError },
    #[error("failed parsing --set-json data {0}")]
    Json(String),
    #[error("failed parsing --set-json data JSON: {0}")]
    JsonObject(String),
    #[error("failed parsing {flag} data: {source}")]
    Set {
        flag: &'static str,
        source: SetError,
    },
}

/// Why a values file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{context}{source}")]
    Yaml {
        context: &'static str,
        source: ReadError,
    },
    #[error("{context}{source}")]
    Type {
        context: &'static str,
        source: TypeError,
    },
    #[error("error reading yaml document: invalid Yaml document separator: {0}")]
    Separator(String),
}

/// Reads the file that a `--set-file` names; the error is its text.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>;

impl ValuesOptions {
    /// One map of everything the user set.
    pub fn merge(&self, profile: Profile, read_file: ReadFile<'_>) -> Result<Map, Error> {
        let mut base = Map::default();
        for (name, data) in &self.files {
            let values = read_file_values(data, profile).map_err(|source| Error::File {
                name: name.clone(),
                source,
            })?;
            base = merge_maps(&base, &values);
        }
        for text in &self.json {
            base = set_json(&base, text, profile)?;
        }
        let failed = |flag| move |source| Error::Set { flag, source };
        for text in &self.set {
            set::parse(text, &base, profile).map_err(failed("--set"))?;
        }
        for text in &self.string {
            set::parse_strings(text, &base, profile).map_err(failed("--set-string"))?;
        }
        for text in &self.file {
            set::parse_files(text, &base, profile, read_file).map_err(failed("--set-file"))?;
        }
        for text in &self.literal {
            set::parse_literal(text, &base, profile).map_err(failed("--set-literal"))?;
        }
        Ok(base)
    }
}

fn set_json(base: &Map, text: &str, profile: Profile) -> Result<Map, Error> {
    let trimmed = text.trim();
    if profile.rules().set_json_takes_objects && trimmed.starts_with('{') {
        return match json::decode(trimmed.as_bytes()) {
            Ok(Value::Map(values)) => Ok(merge_maps(base, &values)),
            _ => Err(Error::JsonObject(text.to_owned())),
        };
    }
    set::parse_json(text, base, profile).map_err(|_| Error::Json(text.to_owned()))?;
    Ok(base.clone())
}

/// A chart's `values.yaml`. `None` is Go's nil map, which `show values` leaves out.
pub(crate) fn read_defaults(data: &[u8], profile: Profile) -> Result<Option<Plain>, FileError> {
    if profile.rules().multi_document_values {
        return read_documents(data).map(Some);
    }
    let node = read_document(data, "")?;
    Ok((node != Plain::Null).then_some(node))
}

fn read_file_values(data: &[u8], profile: Profile) -> Result<Map, FileError> {
    let values = read_defaults(data, profile)?;
    Ok(values.unwrap_or_default().to_map())
}

/// All documents of a file, merged left to right.
fn read_documents(data: &[u8]) -> Result<Plain, FileError> {
    let mut merged = Plain::Map(Vec::new());
    for document in outrigger_goyaml::documents(data) {
        let document = document.map_err(|error| FileError::Separator(error.rest))?;
        let node = read_document(&document, "cannot unmarshal yaml document: ")?;
        merged = merge_plain(merged, node);
    }
    Ok(merged)
}

fn read_document(data: &[u8], context: &'static str) -> Result<Plain, FileError> {
    let node = yaml::read(data).map_err(|source| FileError::Yaml { context, source })?;
    decode::require_map(&node).map_err(|source| FileError::Type { context, source })?;
    Ok(node)
}

fn merge_plain(earlier: Plain, later: Plain) -> Plain {
    match (earlier, later) {
        (Plain::Map(mut entries), Plain::Map(later)) => {
            for (key, value) in later {
                match entries.binary_search_by(|(k, _)| k.cmp(&key)) {
                    Ok(at) => {
                        let old = std::mem::take(&mut entries[at].1);
                        entries[at].1 = match (&old, &value) {
                            (Plain::Map(_), Plain::Map(_)) => merge_plain(old, value),
                            _ => value,
                        };
                    }
                    Err(at) => entries.insert(at, (key, value)),
                }
            }
            Plain::Map(entries)
        }
        (earlier, _) => earlier,
    }
}

/// A new map with the entries of both; where both have a map the maps are merged, else the second wins.
pub(crate) fn merge_maps(first: &Map, second: &Map) -> Map {
    let merged = Map::from_entries(MapType::Any, first.entries());
    for (key, value) in second.entries() {
        let value = match (value, first.get(key.as_bytes())) {
            (Value::Map(later), Some(Value::Map(earlier))) => {
                Value::Map(merge_maps(&earlier, &later))
            }
            (value, _) => value,
        };
        merged.set(key, value);
    }
    merged
}
