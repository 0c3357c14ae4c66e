//! Differences between a desired and a live object, field by field.

use serde_json::{Map, Value};

use super::equivalence::{is_empty_value, is_equivalent};
use super::{Comparison, FieldChange};

/// Fields that `managedFields` does not track.
const UNTRACKED: [&str; 2] = ["apiVersion", "kind"];
const UNTRACKED_METADATA: [&str; 4] = ["name", "namespace", "creationTimestamp", "generateName"];

/// Compares along `fields`, the fields that we own. An owned field whose last applied value is the desired one is equal,
/// however the API server normalized it.
pub(super) fn by_owned_fields(
    desired: &Value,
    live: &Value,
    fields: &Value,
    applied: &Value,
) -> Comparison {
    let mut diff = Diff {
        comparison: Comparison::default(),
        path: String::new(),
        fields_v1_path: Vec::new(),
    };
    if let Some(desired) = desired.as_object() {
        let no_fields = Map::new();
        let fields = fields.as_object().unwrap_or(&no_fields);
        diff.map(desired, Baseline { live, applied }, fields);
    }
    diff.comparison
}

/// The values that a desired value is compared with; null if there are none.
#[derive(Clone, Copy)]
struct Baseline<'a> {
    live: &'a Value,
    applied: &'a Value,
}

impl Baseline<'_> {
    fn at(self, key: &str) -> Self {
        Self {
            live: &self.live[key],
            applied: &self.applied[key],
        }
    }
}

struct Diff {
    comparison: Comparison,
    path: String,
    fields_v1_path: Vec<String>,
}

impl Diff {
    /// Runs `visit` one level deeper.
    fn at(&mut self, element: &str, fields_v1_element: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(element);
        self.fields_v1_path.push(fields_v1_element.to_owned());
        visit(self);
        self.fields_v1_path.pop();
        self.path.truncate(length);
    }

    fn change(&self, before: &Value, after: Option<&Value>) -> FieldChange {
        FieldChange {
            path: self.path.clone(),
            before: (!before.is_null()).then(|| before.clone()),
            after: after.cloned(),
            fields_v1_path: self.fields_v1_path.clone(),
        }
    }

    fn map(
        &mut self,
        desired: &Map<String, Value>,
        baseline: Baseline<'_>,
        fields: &Map<String, Value>,
    ) {
        for (key, value) in desired {
            if value.is_null() || is_untracked(&self.path, key) {
                continue;
            }
            let name = format!("f:{key}");
            let field = fields.get(&name);
            self.at(&format!(".{key}"), &name, |diff| {
                diff.value(value, baseline.at(key), field);
            });
        }
        for field in fields.keys() {
            let Some(key) = field.strip_prefix("f:") else {
                continue;
            };
            if desired.get(key).is_none_or(Value::is_null) && !is_untracked(&self.path, key) {
                self.at(&format!(".{key}"), field, |diff| {
                    let change = diff.change(&baseline.live[key], None);
                    diff.comparison.removed.push(change);
                });
            }
        }
    }

    fn value(&mut self, desired: &Value, baseline: Baseline<'_>, field: Option<&Value>) {
        // Many fields of the metadata have no manager.
        if let (".metadata", Some(map)) = (self.path.as_str(), desired.as_object()) {
            let no_fields = Map::new();
            let fields = field.and_then(Value::as_object).unwrap_or(&no_fields);
            return self.map(map, baseline, fields);
        }
        let Some(field) = field.and_then(Value::as_object) else {
            if let (Some(map), Value::Object(_)) = (desired.as_object(), baseline.live)
                && !map.is_empty()
            {
                return self.map(map, baseline, &Map::new());
            }
            // Empty values have no manager.
            if !(baseline.live.is_null() && is_empty_value(desired)) {
                let change = self.change(baseline.live, Some(desired));
                self.comparison.unowned.push(change);
            }
            return;
        };
        // A dot alone means that we own the map or list itself, but no field of it.
        let is_leaf = field.keys().all(|key| key == ".");
        match desired {
            Value::Object(map) if !is_leaf => self.map(map, baseline, field),
            Value::Array(items) if !is_leaf => self.list(items, baseline, field),
            Value::Object(map) if field.contains_key(".") => self.map(map, baseline, field),
            desired => {
                if desired != baseline.applied && !is_equivalent(desired, baseline.live, &self.path)
                {
                    let change = self.change(baseline.live, Some(desired));
                    self.comparison.changed.push(change);
                }
            }
        }
    }

    /// Compares a `map` or `set` list.
    fn list(&mut self, desired: &[Value], baseline: Baseline<'_>, fields: &Map<String, Value>) {
        let mut is_matched = vec![false; desired.len()];
        for (field, below) in fields {
            if let Some(key) = field.strip_prefix("k:") {
                let Ok(Value::Object(key)) = serde_json::from_str(key) else {
                    continue;
                };
                let found = (0..desired.len())
                    .find(|&at| !is_matched[at] && matches_key(&desired[at], &key));
                let live = items(baseline.live).iter().find(|item| has_key(item, &key));
                let applied = items(baseline.applied)
                    .iter()
                    .find(|item| matches_key(item, &key));
                let baseline = Baseline {
                    live: live.unwrap_or(&Value::Null),
                    applied: applied.unwrap_or(&Value::Null),
                };
                self.at(&key_text(&key), field, |diff| {
                    if let Some(at) = found {
                        is_matched[at] = true;
                        diff.value(&desired[at], baseline, Some(below));
                    } else {
                        let change = diff.change(baseline.live, None);
                        diff.comparison.removed.push(change);
                    }
                });
            } else if let Some(value) = field.strip_prefix("v:") {
                let value: Value = serde_json::from_str(value).unwrap_or_default();
                match (0..desired.len()).find(|&at| !is_matched[at] && desired[at] == value) {
                    Some(at) => is_matched[at] = true,
                    None => self.at(&format!("[={value}]"), field, |diff| {
                        let change = diff.change(&value, None);
                        diff.comparison.removed.push(change);
                    }),
                }
            }
        }
        for (at, item) in desired.iter().enumerate() {
            if !is_matched[at] {
                self.at(&format!("[{at}]"), &format!("i:{at}"), |diff| {
                    let change = diff.change(&Value::Null, Some(item));
                    diff.comparison.unowned.push(change);
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

/// Whether a desired item can be the one with this key. The API server defaults key fields that the item lacks.
fn matches_key(item: &Value, key: &Map<String, Value>) -> bool {
    key.iter()
        .all(|(name, value)| item[name.as_str()].is_null() || item[name.as_str()] == *value)
        && key.keys().any(|name| !item[name.as_str()].is_null())
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn has_key(item: &Value, key: &Map<String, Value>) -> bool {
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

/// Compares all desired fields, whatever their manager. Live fields that are not desired are ignored.
pub(super) fn by_value(desired: &Value, live: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    add_changes(desired, live, "", &mut changes);
    changes
}

fn add_changes(desired: &Value, live: &Value, path: &str, changes: &mut Vec<FieldChange>) {
    match (desired, live) {
        (Value::Object(fields), Value::Object(_)) => {
            for (key, value) in fields {
                if !value.is_null() && !is_untracked(path, key) {
                    add_changes(
                        value,
                        &live[key.as_str()],
                        &format!("{path}.{key}"),
                        changes,
                    );
                }
            }
        }
        (Value::Array(desired), Value::Array(live)) if desired.len() == live.len() => {
            for (at, (desired, live)) in desired.iter().zip(live).enumerate() {
                let path = match desired["name"].as_str() {
                    Some(name) => format!("{path}[name={name:?}]"),
                    None => format!("{path}[{at}]"),
                };
                add_changes(desired, live, &path, changes);
            }
        }
        _ if is_equivalent(desired, live, path) => {}
        _ => changes.push(FieldChange {
            path: path.to_owned(),
            before: (!live.is_null()).then(|| live.clone()),
            after: Some(desired.clone()),
            fields_v1_path: Vec::new(),
        }),
    }
}
