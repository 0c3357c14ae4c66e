//! Claims and volumes.

use serde_json::{Map, Value, json};

use crate::fields::object_mut;

const SNAPSHOTS: &str = "snapshot.storage.k8s.io";

/// A claim names what it is filled from in an old and in a new field; both say the same.
pub(super) fn match_data_sources(claim: &mut Map<String, Value>) {
    let Some(spec) = object_mut(claim, "spec") else {
        return;
    };
    if spec.contains_key("dataSourceRef") {
        let reference = &spec["dataSourceRef"];
        let is_local = reference["namespace"]
            .as_str()
            .unwrap_or_default()
            .is_empty();
        if !spec.contains_key("dataSource") && is_local {
            let source = without_namespace(reference);
            spec.insert("dataSource".to_owned(), source);
        }
        return;
    }
    let Some(source) = spec.get("dataSource").cloned() else {
        return;
    };
    let group = source["apiGroup"].as_str().unwrap_or_default();
    let is_known = matches!(
        (group, source["kind"].as_str().unwrap_or_default()),
        ("", "PersistentVolumeClaim") | (SNAPSHOTS, "VolumeSnapshot")
    );
    // Other sources were ignored before the new field came.
    if is_known {
        spec.insert("dataSourceRef".to_owned(), source);
    } else {
        spec.remove("dataSource");
    }
}

fn without_namespace(reference: &Value) -> Value {
    let mut source = reference.clone();
    if let Value::Object(source) = &mut source {
        source.remove("namespace");
    }
    source
}

/// A volume knows since when it is in its phase.
pub(super) fn note_phase_transition(volume: &mut Map<String, Value>, old: &Value, now: &str) {
    const SINCE: &str = "lastPhaseTransitionTime";
    let before = &old["status"];
    let Some(status) = object_mut(volume, "status") else {
        return;
    };
    let is_same = status.get("phase") == before.get("phase");
    let since = status.get(SINCE);
    let is_set = since.is_some_and(|since| !since.is_null());
    let value = match (is_same, is_set) {
        (true, false) => before[SINCE].clone(),
        (false, _) if !is_set || since == before.get(SINCE) => json!(now),
        _ => return,
    };
    if !value.is_null() {
        status.insert(SINCE.to_owned(), value);
    }
}
