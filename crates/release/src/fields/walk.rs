//! Walks a wanted object beside the live one and the set of fields that we own.

use serde_json::{Map, Value};

use super::scalar::{is_same, is_void};
use super::{Comparison, FieldChange, as_map};

/// Fields that no manager has.
const UNTRACKED: [&str; 2] = ["apiVersion", "kind"];
const UNTRACKED_METADATA: [&str; 4] = ["name", "namespace", "creationTimestamp", "generateName"];

/// Compares along the fields of our entry. A field of ours that we last applied as it is wanted is as it should be,
/// however the server wrote it down.
pub(super) fn guided(wanted: &Value, live: &Value, fields: &Value, applied: &Value) -> Comparison {
    let mut walk = Walk {
        comparison: Comparison::default(),
        path: String::new(),
        steps: Vec::new(),
    };
    if let Some(wanted) = as_map(wanted) {
        let nothing = Map::new();
        let fields = as_map(fields).unwrap_or(&nothing);
        walk.map(wanted, Seen { live, applied }, fields);
    }
    walk.comparison
}

/// What is there, and what we applied last, if that is known.
#[derive(Clone, Copy)]
struct Seen<'a> {
    live: &'a Value,
    applied: &'a Value,
}

impl Seen<'_> {
    fn at(self, key: &str) -> Self {
        Self {
            live: &self.live[key],
            applied: &self.applied[key],
        }
    }
}

struct Walk {
    comparison: Comparison,
    path: String,
    steps: Vec<String>,
}

impl Walk {
    fn at(&mut self, text: &str, step: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(text);
        self.steps.push(step.to_owned());
        visit(self);
        self.steps.pop();
        self.path.truncate(length);
    }

    fn change(&self, before: &Value, after: Option<&Value>) -> FieldChange {
        FieldChange {
            path: self.path.clone(),
            before: (!before.is_null()).then(|| before.clone()),
            after: after.cloned(),
            steps: self.steps.clone(),
        }
    }

    fn map(&mut self, wanted: &Map<String, Value>, seen: Seen<'_>, fields: &Map<String, Value>) {
        for (key, value) in wanted {
            if value.is_null() || is_untracked(&self.path, key) {
                continue;
            }
            let name = format!("f:{key}");
            let field = fields.get(&name);
            self.at(&format!(".{key}"), &name, |walk| {
                walk.value(value, seen.at(key), field);
            });
        }
        for field in fields.keys() {
            let Some(key) = field.strip_prefix("f:") else {
                continue;
            };
            if wanted.get(key).is_none_or(Value::is_null) && !is_untracked(&self.path, key) {
                self.at(&format!(".{key}"), field, |walk| {
                    let change = walk.change(&seen.live[key], None);
                    walk.comparison.left_over.push(change);
                });
            }
        }
    }

    fn value(&mut self, wanted: &Value, seen: Seen<'_>, field: Option<&Value>) {
        // Much of the metadata is nobody's.
        if let (".metadata", Some(map)) = (self.path.as_str(), as_map(wanted)) {
            let nothing = Map::new();
            let fields = field.and_then(as_map).unwrap_or(&nothing);
            return self.map(map, seen, fields);
        }
        let Some(field) = field.and_then(as_map) else {
            if let (Some(map), Value::Object(_)) = (as_map(wanted), seen.live)
                && !map.is_empty()
            {
                return self.map(map, seen, &Map::new());
            }
            // What says nothing is nobody's.
            if !(seen.live.is_null() && is_void(wanted)) {
                let change = self.change(seen.live, Some(wanted));
                self.comparison.not_ours.push(change);
            }
            return;
        };
        // A dot alone says that the map or list itself is ours, and none of its fields.
        let is_leaf = field.keys().all(|key| key == ".");
        match wanted {
            Value::Object(map) if !is_leaf => self.map(map, seen, field),
            Value::Array(items) if !is_leaf => self.list(items, seen, field),
            Value::Object(map) if field.contains_key(".") => self.map(map, seen, field),
            wanted => {
                if wanted != seen.applied && !is_same(wanted, seen.live, &self.path) {
                    let change = self.change(seen.live, Some(wanted));
                    self.comparison.differing.push(change);
                }
            }
        }
    }

    /// A list whose items have keys, or a set.
    fn list(&mut self, wanted: &[Value], seen: Seen<'_>, fields: &Map<String, Value>) {
        let mut is_taken = vec![false; wanted.len()];
        for (field, below) in fields {
            if let Some(key) = field.strip_prefix("k:") {
                let Ok(Value::Object(key)) = serde_json::from_str(key) else {
                    continue;
                };
                let found =
                    (0..wanted.len()).find(|&at| !is_taken[at] && may_be(&wanted[at], &key));
                let there = items(seen.live).iter().find(|item| is_item(item, &key));
                let applied = items(seen.applied).iter().find(|item| may_be(item, &key));
                let seen = Seen {
                    live: there.unwrap_or(&Value::Null),
                    applied: applied.unwrap_or(&Value::Null),
                };
                self.at(&key_text(&key), field, |walk| {
                    if let Some(at) = found {
                        is_taken[at] = true;
                        walk.value(&wanted[at], seen, Some(below));
                    } else {
                        let change = walk.change(seen.live, None);
                        walk.comparison.left_over.push(change);
                    }
                });
            } else if let Some(value) = field.strip_prefix("v:") {
                let value: Value = serde_json::from_str(value).unwrap_or_default();
                match (0..wanted.len()).find(|&at| !is_taken[at] && wanted[at] == value) {
                    Some(at) => is_taken[at] = true,
                    None => self.at(&format!("[={value}]"), field, |walk| {
                        let change = walk.change(&value, None);
                        walk.comparison.left_over.push(change);
                    }),
                }
            }
        }
        for (at, item) in wanted.iter().enumerate() {
            if !is_taken[at] {
                self.at(&format!("[{at}]"), &format!("i:{at}"), |walk| {
                    let change = walk.change(&Value::Null, Some(item));
                    walk.comparison.not_ours.push(change);
                });
            }
        }
    }
}

fn is_untracked(path: &str, key: &str) -> bool {
    match path {
        "" => UNTRACKED.contains(&key) || key == "status",
        ".metadata" => UNTRACKED_METADATA.contains(&key),
        _ => false,
    }
}

/// Whether an item that is wanted can be the one with this key; what it does not say the server fills in.
fn may_be(item: &Value, key: &Map<String, Value>) -> bool {
    key.iter()
        .all(|(name, value)| item[name.as_str()].is_null() || item[name.as_str()] == *value)
        && key.keys().any(|name| !item[name.as_str()].is_null())
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn is_item(item: &Value, key: &Map<String, Value>) -> bool {
    key.iter()
        .all(|(name, value)| item[name.as_str()] == *value)
}

fn key_text(key: &Map<String, Value>) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("[{}]", parts.join(","))
}

/// Compares what is wanted with what is there, whoever set it. What is there and not wanted may be anybody's.
pub(super) fn unguided(wanted: &Value, live: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    plain(wanted, live, "", &mut changes);
    changes
}

fn plain(wanted: &Value, live: &Value, path: &str, changes: &mut Vec<FieldChange>) {
    match (wanted, live) {
        (Value::Object(fields), Value::Object(_)) => {
            for (key, value) in fields {
                if !value.is_null() && !is_untracked(path, key) {
                    plain(
                        value,
                        &live[key.as_str()],
                        &format!("{path}.{key}"),
                        changes,
                    );
                }
            }
        }
        (Value::Array(wanted), Value::Array(there)) if wanted.len() == there.len() => {
            for (at, (wanted, there)) in wanted.iter().zip(there).enumerate() {
                let step = match wanted["name"].as_str() {
                    Some(name) => format!("{path}[name={name:?}]"),
                    None => format!("{path}[{at}]"),
                };
                plain(wanted, there, &step, changes);
            }
        }
        _ if is_same(wanted, live, path) => {}
        _ => changes.push(FieldChange {
            path: path.to_owned(),
            before: (!live.is_null()).then(|| live.clone()),
            after: Some(wanted.clone()),
            steps: Vec::new(),
        }),
    }
}
