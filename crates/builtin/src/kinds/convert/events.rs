//! Events, which the core group and `events.k8s.io` share.

use serde_json::Value;

/// Renamed fields: in `v1`, in `events.k8s.io/v1`.
const RENAMED: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(super) fn to_core(event: &mut Value) {
    for (core, new) in RENAMED {
        rename(event, new, core);
    }
    // Fields that are always present in `v1`.
    let empty = [
        ("involvedObject", Value::Object(serde_json::Map::new())),
        ("source", Value::Object(serde_json::Map::new())),
        ("firstTimestamp", Value::Null),
        ("lastTimestamp", Value::Null),
        ("reportingComponent", "".into()),
        ("reportingInstance", "".into()),
    ];
    complete(event, empty);
}

pub(super) fn from_core(event: &mut Value) {
    for (core, new) in RENAMED {
        rename(event, core, new);
    }
    drop_empty(event, "reportingController");
    drop_empty(event, "reportingInstance");
    let empty = [
        ("regarding", Value::Object(serde_json::Map::new())),
        ("deprecatedSource", Value::Object(serde_json::Map::new())),
        ("deprecatedFirstTimestamp", Value::Null),
        ("deprecatedLastTimestamp", Value::Null),
    ];
    complete(event, empty);
}

fn rename(event: &mut Value, from: &str, to: &str) {
    if let Some(event) = event.as_object_mut()
        && let Some(value) = event.remove(from)
    {
        event.insert(to.to_owned(), value);
    }
}

fn drop_empty(event: &mut Value, key: &str) {
    if let Some(event) = event.as_object_mut()
        && event.get(key).is_some_and(|value| value == "")
    {
        event.remove(key);
    }
}

fn complete<const N: usize>(event: &mut Value, fields: [(&str, Value); N]) {
    if let Some(event) = event.as_object_mut() {
        for (key, value) in fields {
            event.entry(key).or_insert(value);
        }
    }
}
