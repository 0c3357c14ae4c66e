//! Values files and `--set` flags, merged in Helm's order.

mod set;
#[cfg(test)]
mod tests;

use outrigger_gotmpl::json;
use outrigger_gotmpl::value::{Map, MapType, Value};

use crate::decode::{self, TypeError};
use crate::profile::Profile;
use crate::yaml::{self, ReadError};
use crate::yaml_value::YamlValue;

pub use set::SetError;

/// The contents of values files, and `--set` flags.
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

/// Why values files or `--set` flags are invalid.
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

/// Why a values file is invalid.
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

/// Why a file cannot be read, with Go's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReadFileError(pub String);

/// Reads the file of a `--set-file`.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, ReadFileError>;

impl ValuesOptions {
    /// Refuses expressions of `--set` and similar flags that end where more is expected. Helm ignores such an end.
    pub fn check_complete(&self) -> Result<(), Error> {
        let flags = [
            ("--set", &self.set),
            ("--set-string", &self.string),
            ("--set-file", &self.file),
        ];
        for (flag, texts) in flags {
            for text in texts {
                let checked = set::check_complete(text);
                checked.map_err(|source| Error::Set { flag, source })?;
            }
        }
        for text in &self.literal {
            let checked = set::check_complete_literal(text);
            checked.map_err(|source| Error::Set {
                flag: "--set-literal",
                source,
            })?;
        }
        Ok(())
    }

    /// Merges all files and flags.
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
    if profile.rules().set_json_accepts_objects && trimmed.starts_with('{') {
        return match json::decode(trimmed.as_bytes()) {
            Ok(Value::Map(values)) => Ok(merge_maps(base, &values)),
            _ => Err(Error::JsonObject(text.to_owned())),
        };
    }
    set::parse_json(text, base, profile).map_err(|_| Error::Json(text.to_owned()))?;
    Ok(base.clone())
}

/// Parses a `values.yaml`. `None` is Go's nil map, which `show values` does not print.
pub(crate) fn read_defaults(data: &[u8], profile: Profile) -> Result<Option<YamlValue>, FileError> {
    if profile.rules().multi_document_values {
        return read_documents(data).map(Some);
    }
    let node = read_document(data, "")?;
    Ok((node != YamlValue::Null).then_some(node))
}

fn read_file_values(data: &[u8], profile: Profile) -> Result<Map, FileError> {
    let values = read_defaults(data, profile)?;
    Ok(values.unwrap_or_default().to_map())
}

/// All documents of a file, merged left to right.
fn read_documents(data: &[u8]) -> Result<YamlValue, FileError> {
    let mut merged = YamlValue::Map(Vec::new());
    for document in outrigger_goyaml::documents(data) {
        let document = document.map_err(|error| FileError::Separator(error.rest))?;
        let node = read_document(&document, "cannot unmarshal yaml document: ")?;
        merged = merge_values(merged, node);
    }
    Ok(merged)
}

fn read_document(data: &[u8], context: &'static str) -> Result<YamlValue, FileError> {
    let node = yaml::read(data).map_err(|source| FileError::Yaml { context, source })?;
    decode::require_map(&node).map_err(|source| FileError::Type { context, source })?;
    Ok(node)
}

fn merge_values(earlier: YamlValue, later: YamlValue) -> YamlValue {
    match (earlier, later) {
        (YamlValue::Map(mut entries), YamlValue::Map(later)) => {
            for (key, value) in later {
                match entries.binary_search_by(|(k, _)| k.cmp(&key)) {
                    Ok(index) => {
                        let old = std::mem::take(&mut entries[index].1);
                        entries[index].1 = match (&old, &value) {
                            (YamlValue::Map(_), YamlValue::Map(_)) => merge_values(old, value),
                            _ => value,
                        };
                    }
                    Err(index) => entries.insert(index, (key, value)),
                }
            }
            YamlValue::Map(entries)
        }
        (earlier, _) => earlier,
    }
}

/// Merges two maps recursively. All values but maps of `overrides` replace those of `base`.
pub(crate) fn merge_maps(base: &Map, overrides: &Map) -> Map {
    let merged = Map::from_entries(MapType::Any, base.entries());
    for (key, value) in overrides.entries() {
        let value = match (value, base.get(key.as_bytes())) {
            (Value::Map(overrides), Some(Value::Map(base))) => {
                Value::Map(merge_maps(&base, &overrides))
            }
            (value, _) => value,
        };
        merged.set(key, value);
    }
    merged
}
