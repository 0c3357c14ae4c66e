//! One set of values out of many sources: `valuesFrom` in its order, then `values`, which wins.
//!
//! Keys of a source are taken in the order of their names. Errors name sources and keys, never what is in them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::plugin::{PluginSpec, ValuesFrom, ValuesKind};

/// The data of a ConfigMap or Secret: its keys with their bytes.
pub type Data = BTreeMap<String, Vec<u8>>;

/// Why values cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{kind:?} {name} is missing")]
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
    #[error("key {key:?} of {kind:?} {name} is YAML, but no map")]
    NotAMap {
        kind: ValuesKind,
        name: String,
        key: String,
    },
    #[error("key {key:?} of {kind:?} {name} is not text")]
    NotText {
        kind: ValuesKind,
        name: String,
        key: String,
    },
    #[error("{path:?} is no path to a value; write it like \"image.tag\"")]
    Path { path: String },
    #[error("{path:?} leads through a value that is no map")]
    Blocked { path: String },
}

struct Line(Option<usize>);

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(line) => write!(f, ", see line {line}"),
            None => Ok(()),
        }
    }
}

/// The values of a plugin. `find` gives the data of a source, none if it is not there.
pub fn merge(
    spec: &PluginSpec,
    mut find: impl FnMut(&ValuesFrom) -> Option<Data>,
) -> Result<Map<String, Value>, Error> {
    let mut values = Map::new();
    for source in &spec.values_from {
        match find(source) {
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
        let text = std::str::from_utf8(bytes).map_err(|_| Error::NotText {
            kind: source.kind,
            name: source.name.clone(),
            key: key.to_owned(),
        })?;
        return put(values, path, Value::String(text.to_owned()));
    }
    let value = read(source, key, bytes)?;
    if let Some(prefix) = &source.prefix {
        return put(values, &format!("{prefix}{key}"), value);
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

/// Reads YAML. The parser's own words may quote the text, so only the line is told.
fn read(source: &ValuesFrom, key: &str, bytes: &[u8]) -> Result<Value, Error> {
    outrigger_goyaml::parse_json(bytes).map_err(|error| Error::NotYaml {
        kind: source.kind,
        name: source.name.clone(),
        key: key.to_owned(),
        line: match error {
            outrigger_goyaml::Error::Syntax { line, .. } => line,
            _ => None,
        },
    })
}

/// Puts a value to a dotted path. A dot after a backslash is part of a name.
fn put(values: &mut Map<String, Value>, path: &str, value: Value) -> Result<(), Error> {
    let mut names = split_path(path);
    let bad = || Error::Path {
        path: path.to_owned(),
    };
    if names.iter().any(String::is_empty) {
        return Err(bad());
    }
    let last = names.pop().ok_or_else(bad)?;
    let mut place = values;
    for name in names {
        let next = place
            .entry(name)
            .or_insert_with(|| Value::Object(Map::new()));
        place = next.as_object_mut().ok_or_else(|| Error::Blocked {
            path: path.to_owned(),
        })?;
    }
    match (place.get_mut(&last), value) {
        (Some(Value::Object(old)), Value::Object(new)) => merge_maps(old, new),
        (_, value) => {
            place.insert(last, value);
        }
    }
    Ok(())
}

fn split_path(path: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        let name = names.last_mut().expect("there is always a last name");
        match letter {
            '\\' => name.extend(letters.next()),
            '.' => names.push(String::new()),
            letter => name.push(letter),
        }
    }
    names
}

/// Merges maps; where only one side is a map, the later one wins.
pub fn merge_maps(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge_maps(old, new),
            (_, value) => {
                into.insert(key, value);
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
        let find = |source: &ValuesFrom| {
            let (_, keys) = data.iter().find(|(name, _)| *name == source.name)?;
            let keys = keys.iter();
            Some(
                keys.map(|(k, v)| ((*k).to_owned(), v.as_bytes().to_vec()))
                    .collect(),
            )
        };
        merge(&spec, find).map(Value::Object)
    }

    #[test]
    fn later_sources_win_and_values_win_over_all() {
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
    fn a_target_path_takes_text_as_it_is_though_it_looks_like_something_else() {
        let spec = json!({"valuesFrom": [{"kind": "Secret", "name": "s", "key": "k", "targetPath": r"db.pass\.word"}]});
        let data: &[(&str, &str)] = &[("k", "{1,2}: true")];
        assert_eq!(
            merged(spec, &[("s", data)]),
            Ok(json!({"db": {"pass.word": "{1,2}: true"}}))
        );
    }

    #[test]
    fn a_prefix_makes_paths_of_keys_and_keeps_types_and_commas() {
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

    #[test]
    fn what_is_optional_may_be_missing_and_the_rest_is_named() {
        let optional =
            json!({"valuesFrom": [{"kind": "Secret", "name": "s", "key": "k", "optional": true}]});
        assert_eq!(merged(optional.clone(), &[]), Ok(json!({})));
        assert_eq!(merged(optional, &[("s", &[])]), Ok(json!({})));
        let needed = json!({"valuesFrom": [{"kind": "Secret", "name": "s", "key": "k"}]});
        let message = |result: Result<Value, Error>| result.unwrap_err().to_string();
        assert_eq!(message(merged(needed.clone(), &[])), "Secret s is missing");
        assert_eq!(
            message(merged(needed, &[("s", &[])])),
            "Secret s has no key \"k\""
        );
    }

    #[test]
    fn an_error_never_tells_what_is_in_a_secret() {
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
