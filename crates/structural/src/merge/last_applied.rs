//! The annotation that client-side apply keeps, which `kubectl apply --server-side` must get along with.

use serde_json::{Map, Value};

use super::check::{Duplicates, check};
use super::compare::compare;
use super::field_set::field_set;
use super::set::Set;
use crate::schema::{Schema, go_json};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// All annotations of an object together may have this many bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// The fields that the annotation speaks of and that still have the value it gave them. Conflicts about these do
/// not count when kubectl moves to server-side apply.
pub(super) fn unchanged_fields(live: &Value, schema: &Schema, api_version: &str) -> Option<Set> {
    let text = annotations(live)?.get(ANNOTATION)?.as_str()?;
    let applied: Value = serde_json::from_str(text).ok()?;
    if applied.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return None;
    }
    check(schema.root(), live, Duplicates::Refused).ok()?;
    check(schema.root(), &applied, Duplicates::Refused).ok()?;
    let comparison = compare(schema.root(), &applied, live);
    let fields = field_set(schema.root(), &applied)
        .difference(&comparison.modified)
        .difference(&comparison.added)
        .difference(&comparison.removed);
    Some(fields)
}

/// Brings the annotation up to date with what was applied, if the object has one.
pub(super) fn refresh(object: &mut Value, applied: &Value) {
    let is_present = annotations(object)
        .and_then(|annotations| annotations.get(ANNOTATION)?.as_str())
        .is_some_and(|text| !text.is_empty());
    if !is_present {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = annotations_mut(&mut applied) {
        annotations.remove(ANNOTATION);
    }
    let Some(annotations) = annotations_mut(object) else {
        return;
    };
    annotations.insert(
        ANNOTATION.to_owned(),
        format!("{}\n", go_json(&applied)).into(),
    );
    let size = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(size).sum::<usize>() > MAX_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    }
}

fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.get("annotations")?.as_object()
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object
        .get_mut("metadata")?
        .get_mut("annotations")?
        .as_object_mut()
}
