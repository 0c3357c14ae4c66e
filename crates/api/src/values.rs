//! Merges the values of a plugin: the sources of `valuesFrom` in their order, overridden by `values`.
//!
//! The keys of a source are merged in alphabetical order. Errors name sources and keys, never their contents.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::plugin::{PluginSpec, ValuesFrom, ValuesKind};

/// The maximum number of nested maps and lists, as in the objects of the API server. Whatever processes values recurses.
pub const MAX_LEVELS: usize = 100;

/// The maximum length of `targetPath`, and of `prefix` with a key, in bytes.
pub const MAX_PATH: usize = 2048;

/// The data of a ConfigMap or Secret.
pub type Data = BTreeMap<String, Vec<u8>>;

/// Why values cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{kind:?} {name} does not exist")]
    Missing { kind: ValuesKind, name: String },
    #[error("{kind:?} {name} has no key {key:?}")]
    MissingKey {
        kind: ValuesKind,
        name: String,
        key: String,
    },
    #[error("key {key:?} of {kind:?} {name} is not YAML{}", Line(*line))]
    NotYaml {
        kind: ValuesKind,
        name: String,
        key: String,
        line: Option<usize>,
    },
    #[error("key {key:?} of {kind:?} {name} is not a YAML map")]
    NotAMap {
        kind: ValuesKind,
        name: String,
        key: String,
    },
    #[error("key {key:?} of {kind:?} {name} is not valid UTF-8")]
    NotUtf8 {
        kind: ValuesKind,
        name: String,
        key: String,
    },
    #[error("key {key:?} of {kind:?} {name} nests deeper than {MAX_LEVELS} levels")]
    TooDeep {
        kind: ValuesKind,
        name: String,
        key: String,
    },
    #[error("{path:?} is not a path such as \"image.tag\"")]
    InvalidPath { path: String },
    #[error("the path for {kind:?} {name} has {length} bytes, more than {MAX_PATH}")]
    PathTooLong {
        kind: ValuesKind,
        name: String,
        length: usize,
    },
    #[error("the path for {kind:?} {name} and its value nest deeper than {MAX_LEVELS} levels")]
    PathTooDeep { kind: ValuesKind, name: String },
    #[error("{path:?} traverses a value that is not a map")]
    PathConflict { path: String },
}

impl Error {
    /// Whether a path of the spec is wrong, as opposed to the data of a source.
    pub fn is_path(&self) -> bool {
        matches!(
            self,
            Self::InvalidPath { .. } | Self::PathTooLong { .. } | Self::PathTooDeep { .. }
        )
    }
}

struct Line(Option<usize>);

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(line) => write!(f, " (line {line})"),
            None => Ok(()),
        }
    }
}

/// Merges the values of a plugin. `get` returns the data of a source, or `None` if it does not exist.
pub fn merge(
    spec: &PluginSpec,
    mut get: impl FnMut(&ValuesFrom) -> Option<Data>,
) -> Result<Map<String, Value>, Error> {
    let mut values = Map::new();
    for source in &spec.values_from {
        match get(source) {
            Some(data) => add_source(&mut values, source, &data)?,
            None if source.optional => {}
            None => {
                return Err(Error::Missing {
                    kind: source.kind,
                    name: source.name.clone(),
                });
            }
        }
    }
    merge_maps(&mut values, spec.values.clone());
    Ok(values)
}

fn add_source(
    values: &mut Map<String, Value>,
    source: &ValuesFrom,
    data: &Data,
) -> Result<(), Error> {
    let Some(key) = &source.key else {
        for (key, bytes) in data {
            add_key(values, source, key, bytes)?;
        }
        return Ok(());
    };
    match data.get(key) {
        Some(bytes) => add_key(values, source, key, bytes),
        None if source.optional => Ok(()),
        None => Err(Error::MissingKey {
            kind: source.kind,
            name: source.name.clone(),
            key: key.clone(),
        }),
    }
}

fn add_key(
    values: &mut Map<String, Value>,
    source: &ValuesFrom,
    key: &str,
    bytes: &[u8],
) -> Result<(), Error> {
    if let Some(path) = &source.target_path {
        let text = std::str::from_utf8(bytes).map_err(|_| Error::NotUtf8 {
            kind: source.kind,
            name: source.name.clone(),
            key: key.to_owned(),
        })?;
        return set(values, source, path, Value::String(text.to_owned()));
    }
    let value = parse(source, key, bytes)?;
    if let Some(prefix) = &source.prefix {
        return set(values, source, &format!("{prefix}{key}"), value);
    }
    match value {
        Value::Object(map) => merge_maps(values, map),
        Value::Null => {}
        _ => {
            return Err(Error::NotAMap {
                kind: source.kind,
                name: source.name.clone(),
                key: key.to_owned(),
            });
        }
    }
    Ok(())
}

/// Parses YAML. The parser's message may quote a secret, so the error has only the line.
fn parse(source: &ValuesFrom, key: &str, bytes: &[u8]) -> Result<Value, Error> {
    let parsed = outrigger_goyaml::parse_json_to_depth(bytes, MAX_LEVELS);
    parsed.map_err(|error| {
        let (kind, name, key) = (source.kind, source.name.clone(), key.to_owned());
        let line = match error {
            outrigger_goyaml::Error::MaxDepth(_) => return Error::TooDeep { kind, name, key },
            outrigger_goyaml::Error::Syntax { line, .. } => line,
            _ => None,
        };
        Error::NotYaml {
            kind,
            name,
            key,
            line,
        }
    })
}

/// Sets the value at a dotted path. A backslash escapes a dot.
fn set(
    values: &mut Map<String, Value>,
    source: &ValuesFrom,
    path: &str,
    value: Value,
) -> Result<(), Error> {
    let (kind, name) = (source.kind, source.name.clone());
    if path.len() > MAX_PATH {
        let length = path.len();
        return Err(Error::PathTooLong { kind, name, length });
    }
    let mut keys = split_path(path);
    if keys.len() + levels(&value) > MAX_LEVELS {
        return Err(Error::PathTooDeep { kind, name });
    }
    let invalid = || Error::InvalidPath {
        path: path.to_owned(),
    };
    if keys.iter().any(String::is_empty) {
        return Err(invalid());
    }
    let last = keys.pop().ok_or_else(invalid)?;
    let mut map = values;
    for key in keys {
        let child = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
        map = child.as_object_mut().ok_or_else(|| Error::PathConflict {
            path: path.to_owned(),
        })?;
    }
    merge_maps(map, Map::from_iter([(last, value)]));
    Ok(())
}

/// The number of nested maps and lists of a value that was parsed, and is not deeper than [`MAX_LEVELS`].
fn levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(levels).max().unwrap_or_default(),
        _ => 0,
    }
}

fn split_path(path: &str) -> Vec<String> {
    let mut keys = vec![String::new()];
    let mut chars = path.chars();
    while let Some(char) = chars.next() {
        let key = keys.last_mut().expect("there is always a last key");
        match char {
            '\\' => key.extend(chars.next()),
            '.' => keys.push(String::new()),
            char => key.push(char),
        }
    }
    keys
}

/// Merges `overrides` into `base`. Maps are merged recursively, all other values are replaced.
pub fn merge_maps(base: &mut Map<String, Value>, overrides: Map<String, Value>) {
    for (key, value) in overrides {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge_maps(old, new),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_spec(spec: Value) -> PluginSpec {
        serde_json::from_value(spec).unwrap()
    }

    fn merged(spec: Value, data: &[(&str, &[(&str, &str)])]) -> Result<Value, Error> {
        let spec = read_spec(spec);
        let get = |source: &ValuesFrom| {
            let (_, keys) = data.iter().find(|(name, _)| *name == source.name)?;
            let keys = keys.iter();
            Some(
                keys.map(|(k, v)| ((*k).to_owned(), v.as_bytes().to_vec()))
                    .collect(),
            )
        };
        merge(&spec, get).map(Value::Object)
    }

    #[test]
    fn later_sources_override_earlier_ones_and_values_override_all() {
        let spec = json!({
            "valuesFrom": [{"kind": "ConfigMap", "name": "one"}, {"kind": "Secret", "name": "two", "key": "v"}],
            "values": {"c": {"z": 3}},
        });
        let one: &[(&str, &str)] = &[
            ("b.yaml", "a: 2\nc: {x: 1, z: 1}"),
            ("a.yaml", "a: 1\nd: 1"),
        ];
        let two: &[(&str, &str)] = &[("v", "c: {z: 2}"), ("ignored", "a: 9")];
        assert_eq!(
            merged(spec, &[("one", one), ("two", two)]),
            Ok(json!({"a": 2, "c": {"x": 1, "z": 3}, "d": 1}))
        );
    }

    #[test]
    fn a_target_path_sets_a_string_without_parsing_it() {
        let spec = json!({"valuesFrom": [{"kind": "Secret", "name": "s", "key": "k", "targetPath": r"db.pass\.word"}]});
        let data: &[(&str, &str)] = &[("k", "{1,2}: true")];
        assert_eq!(
            merged(spec, &[("s", data)]),
            Ok(json!({"db": {"pass.word": "{1,2}: true"}}))
        );
    }

    #[test]
    fn a_prefix_turns_keys_into_paths_of_yaml_values() {
        let spec =
            json!({"valuesFrom": [{"kind": "ConfigMap", "name": "global", "prefix": "global."}]});
        let data: &[(&str, &str)] = &[
            ("enabled", "true"),
            ("list", "a,b"),
            ("prometheus.port", "9090"),
        ];
        assert_eq!(
            merged(spec, &[("global", data)]),
            Ok(json!({"global": {"enabled": true, "list": "a,b", "prometheus": {"port": 9090}}}))
        );
    }

    /// A path of 7,500 levels overflowed the stack.
    #[test]
    fn paths_and_documents_of_too_many_levels_are_refused() {
        let path = |levels: usize| vec!["v"; levels].join(".");
        let set = |path: String, text: &str| {
            let from = json!({"kind": "Secret", "name": "s", "key": "k", "targetPath": path});
            merged(json!({"valuesFrom": [from]}), &[("s", &[("k", text)])])
        };
        assert!(set(path(MAX_LEVELS), "x").is_ok());
        let error = set(path(MAX_LEVELS + 1), "x").unwrap_err();
        assert!(error.is_path());
        assert_eq!(
            error.to_string(),
            "the path for Secret s and its value nest deeper than 100 levels"
        );
        let error = set(path(100_000), "x").unwrap_err();
        assert!(error.is_path());
        let expected = "the path for Secret s has 199999 bytes, more than 2048";
        assert_eq!(error.to_string(), expected);
        let prefixed = |prefix: String, key: &str, text: &str| {
            let from = json!({"kind": "Secret", "name": "s", "prefix": prefix});
            merged(json!({"valuesFrom": [from]}), &[("s", &[(key, text)])])
        };
        let list = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(prefixed(path(89) + ".", "k", &list(10)).is_ok());
        let error = prefixed(path(89) + ".", "k", &list(11)).unwrap_err();
        assert!(error.is_path());
        assert!(prefixed(path(100_000) + ".", "k", "x").is_err());
        assert!(prefixed(String::new(), &path(MAX_LEVELS + 1), "x").is_err());
        let document = |levels: usize| {
            let text = format!("a: {}", list(levels));
            let source = json!({"valuesFrom": [{"kind": "Secret", "name": "s"}]});
            merged(source, &[("s", &[("k", &text)])])
        };
        assert!(document(MAX_LEVELS - 1).is_ok());
        let expected = "key \"k\" of Secret s nests deeper than 100 levels";
        assert_eq!(document(400).unwrap_err().to_string(), expected);
    }

    #[test]
    fn only_optional_sources_and_keys_may_be_missing() {
        let optional =
            json!({"valuesFrom": [{"kind": "Secret", "name": "s", "key": "k", "optional": true}]});
        assert_eq!(merged(optional.clone(), &[]), Ok(json!({})));
        assert_eq!(merged(optional, &[("s", &[])]), Ok(json!({})));
        let mandatory = json!({"valuesFrom": [{"kind": "Secret", "name": "s", "key": "k"}]});
        let message = |result: Result<Value, Error>| result.unwrap_err().to_string();
        assert_eq!(
            message(merged(mandatory.clone(), &[])),
            "Secret s does not exist"
        );
        assert_eq!(
            message(merged(mandatory, &[("s", &[])])),
            "Secret s has no key \"k\""
        );
    }

    #[test]
    fn errors_never_contain_data_of_a_secret() {
        let spec = json!({"valuesFrom": [{"kind": "Secret", "name": "s"}]});
        for text in ["hunter2: [", "hunter2", "a: 1\nhunter2: b: c", "*hunter2"] {
            let data: &[(&str, &str)] = &[("k", text)];
            let error = merged(spec.clone(), &[("s", data)]).unwrap_err();
            assert!(
                !format!("{error} {error:?}").contains("hunter2"),
                "{error:?}"
            );
        }
    }
}
