//! The last-applied annotation of client-side apply, which `kubectl apply --server-side` migrates from.

use outrigger_gostd::json::marshal;
use serde_json::{Map, Value};

use super::compare::compare;
use super::set::Set;
use super::to_field_set::to_field_set;
use super::validate::{Duplicates, validate};
use crate::schema::Schema;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The maximum size of all annotations of an object, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// The fields whose live values are those of the annotation. Conflicts about these fields are ignored when kubectl moves
/// to server-side apply.
pub(super) fn unchanged_fields(live: &Value, schema: &Schema, api_version: &str) -> Option<Set> {
    let text = annotations(live)?.get(ANNOTATION)?.as_str()?;
    let applied: Value = serde_json::from_str(text).ok()?;
    if applied.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return None;
    }
    validate(schema.root(), live, Duplicates::Rejected).ok()?;
    validate(schema.root(), &applied, Duplicates::Rejected).ok()?;
    let comparison = compare(schema.root(), &applied, live);
    let fields = to_field_set(schema.root(), &applied)
        .difference(&comparison.modified)
        .difference(&comparison.added)
        .difference(&comparison.removed);
    Some(fields)
}

/// Sets the annotation to the applied configuration, if the object has the annotation.
pub(super) fn update_annotation(object: &mut Value, applied: &Value) {
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
        format!("{}\n", marshal(&applied)).into(),
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
