//! Which values does a plugin give its chart? Those of ConfigMaps and Secrets in order, then its own on top.
//!
//! Maps are merged, everything else is replaced. Values are typed YAML; only with `targetPath` is a value taken as text.
//! What is wrong in a Secret is told without a word of what is in it.

use std::collections::BTreeMap;
use std::fmt;

use outrigger_api::plugin::{ValuesFrom, ValuesKind};
use serde_json::{Map, Value};

/// What an object that values come from holds.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Referenced {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) data: BTreeMap<String, Vec<u8>>,
}

impl fmt::Debug for Referenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Referenced")
            .field("resource_version", &self.resource_version)
            .field("keys", &self.data.keys())
            .finish_non_exhaustive()
    }
}

/// Merged values. They may hold secrets, so they show nothing.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Values(pub(crate) Map<String, Value>);

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values(…)")
    }
}

/// Why there are no values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    #[error("{kind} {namespace}/{name}, which values come from, does not exist")]
    Missing {
        kind: &'static str,
        namespace: String,
        name: String,
    },
    #[error("{kind} {namespace}/{name}, which values come from, has no key \"{key}\"")]
    NoKey {
        kind: &'static str,
        namespace: String,
        name: String,
        key: String,
    },
    #[error("key \"{key}\" of {kind} {namespace}/{name} is no YAML map{why}")]
    NoMap {
        kind: &'static str,
        namespace: String,
        name: String,
        key: String,
        why: String,
    },
    #[error("key \"{key}\" of {kind} {namespace}/{name} is no text")]
    NoText {
        kind: &'static str,
        namespace: String,
        name: String,
        key: String,
    },
    #[error("spec.valuesFrom[{index}].targetPath \"{path}\" {why}")]
    BadPath {
        index: usize,
        path: String,
        why: &'static str,
    },
}

impl Problem {
    /// Whether it may come right without a change of the plugin.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::NoKey { .. })
    }
}

pub(crate) fn kind_name(kind: ValuesKind) -> &'static str {
    match kind {
        ValuesKind::ConfigMap => "ConfigMap",
        ValuesKind::Secret => "Secret",
    }
}

/// Merges the sources, in their order, and the plugin's own values.
pub(crate) fn merge(
    namespace: &str,
    sources: &[(ValuesFrom, Option<Referenced>)],
    own: &Map<String, Value>,
) -> Result<Values, Problem> {
    let mut merged = Map::new();
    for (index, (source, object)) in sources.iter().enumerate() {
        let place = Place {
            index,
            namespace,
            source,
        };
        match object {
            Some(object) => place.add(object, &mut merged)?,
            None if source.optional => {}
            None => {
                return Err(Problem::Missing {
                    kind: kind_name(source.kind),
                    namespace: namespace.to_owned(),
                    name: source.name.clone(),
                });
            }
        }
    }
    lay_over(&mut merged, own.clone());
    Ok(Values(merged))
}

/// Puts `top` over `base`: maps are merged, everything else is replaced.
fn lay_over(base: &mut Map<String, Value>, top: Map<String, Value>) {
    for (key, value) in top {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(value)) => lay_over(below, value),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

struct Place<'a> {
    index: usize,
    namespace: &'a str,
    source: &'a ValuesFrom,
}

impl Place<'_> {
    fn add(&self, object: &Referenced, merged: &mut Map<String, Value>) -> Result<(), Problem> {
        if let Some(path) = &self.source.target_path {
            return self.add_text(object, path, merged);
        }
        match &self.source.key {
            Some(key) => match object.data.get(key) {
                Some(bytes) => self.add_document(key, bytes, merged),
                None if self.source.optional => Ok(()),
                None => Err(self.no_key(key)),
            },
            None => object
                .data
                .iter()
                .try_for_each(|(key, bytes)| self.add_document(key, bytes, merged)),
        }
    }

    fn add_document(
        &self,
        key: &str,
        bytes: &[u8],
        merged: &mut Map<String, Value>,
    ) -> Result<(), Problem> {
        match outrigger_goyaml::parse_json(bytes) {
            Ok(Value::Object(map)) => {
                lay_over(merged, map);
                Ok(())
            }
            Ok(Value::Null) => Ok(()),
            Ok(_) => Err(self.no_map(key, String::new())),
            Err(error) => {
                let is_open = self.source.kind == ValuesKind::ConfigMap;
                let why = if is_open {
                    format!(": {error}")
                } else {
                    String::new()
                };
                Err(self.no_map(key, why))
            }
        }
    }

    fn add_text(
        &self,
        object: &Referenced,
        path: &str,
        merged: &mut Map<String, Value>,
    ) -> Result<(), Problem> {
        let key = match (&self.source.key, object.data.len()) {
            (Some(key), _) => key,
            (None, 1) => object.data.keys().next().expect("there is one key"),
            (None, _) => return Err(self.bad_path(path, "needs a key: the object has not just one")),
        };
        let Some(bytes) = object.data.get(key) else {
            return if self.source.optional {
                Ok(())
            } else {
                Err(self.no_key(key))
            };
        };
        let text = std::str::from_utf8(bytes).map_err(|_| Problem::NoText {
            kind: kind_name(self.source.kind),
            namespace: self.namespace.to_owned(),
            name: self.source.name.clone(),
            key: key.clone(),
        })?;
        let parts = split_path(path);
        if parts.iter().any(String::is_empty) {
            return Err(self.bad_path(path, "has an empty part"));
        }
        put(merged, &parts, Value::String(text.to_owned()))
            .map_err(|()| self.bad_path(path, "leads through a value that is no map"))
    }

    fn no_key(&self, key: &str) -> Problem {
        Problem::NoKey {
            kind: kind_name(self.source.kind),
            namespace: self.namespace.to_owned(),
            name: self.source.name.clone(),
            key: key.to_owned(),
        }
    }

    fn no_map(&self, key: &str, why: String) -> Problem {
        Problem::NoMap {
            kind: kind_name(self.source.kind),
            namespace: self.namespace.to_owned(),
            name: self.source.name.clone(),
            key: key.to_owned(),
            why,
        }
    }

    fn bad_path(&self, path: &str, why: &'static str) -> Problem {
        Problem::BadPath {
            index: self.index,
            path: path.to_owned(),
            why,
        }
    }
}

/// Parts of a path between dots; `\.` is a dot inside a part.
fn split_path(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for character in path.chars() {
        match character {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '.' if !escaped => parts.push(String::new()),
            _ => {
                if let Some(part) = parts.last_mut() {
                    part.push(character);
                }
            }
        }
        escaped = false;
    }
    parts
}

fn put(map: &mut Map<String, Value>, path: &[String], value: Value) -> Result<(), ()> {
    match path {
        [] => Ok(()),
        [last] => {
            map.insert(last.clone(), value);
            Ok(())
        }
        [first, rest @ ..] => {
            let below = map
                .entry(first.clone())
                .or_insert_with(|| Value::Object(Map::new()));
            match below {
                Value::Object(below) => put(below, rest, value),
                _ => Err(()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
