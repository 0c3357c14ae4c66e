//! Writes to the scale subresource.

use std::collections::BTreeMap;
use std::sync::Arc;

use outrigger_structural::merge::{
    FieldManager, Kind, Path, scale_to_parent, scale_to_subresource,
};
use outrigger_structural::patch::{self, Decoding};
use outrigger_structural::schema::builtin;
use serde_json::{Value, json};

use crate::replay::{Answer, Step, apply_failure};

/// The object after a write to its scale.
pub(crate) fn run(step: &Step<'_>) -> Answer {
    let parent = step.live.unwrap();
    let version = step.kind.api_version.as_str();
    let path = Some(Path::of_fields(["spec", "replicas"]));
    let paths = BTreeMap::from([(version.to_owned(), path)]);
    let scale = scale_of(parent, scale_to_subresource(parent, &paths).unwrap());
    let written = match write(step, &scale) {
        Ok(written) => written,
        Err(answer) => return answer,
    };
    let mut object = parent.clone();
    object["spec"]["replicas"] = written["spec"]["replicas"].clone();
    let entries = scale_to_parent(parent, &written, &paths, version).unwrap();
    object["metadata"]["managedFields"] = entries;
    for name in ["generation", "resourceVersion"] {
        object["metadata"][name] = step.record["parent"]["metadata"][name].clone();
    }
    Answer::Object(Box::new(object))
}

fn scale_of(parent: &Value, entries: Value) -> Value {
    let mut metadata = parent["metadata"].clone();
    metadata.as_object_mut().unwrap().remove("generation");
    metadata["managedFields"] = entries;
    let replicas = parent["spec"]
        .get("replicas")
        .cloned()
        .unwrap_or_else(|| json!(0));
    json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata,
        "spec": {"replicas": replicas}, "status": {"replicas": 0},
    })
}

fn write(step: &Step<'_>, scale: &Value) -> Result<Value, Answer> {
    let schema = builtin::schema("autoscaling/v1", "Scale").unwrap().clone();
    let kind = Kind {
        api_version: "autoscaling/v1".to_owned(),
        name: "Scale".to_owned(),
        schemas: BTreeMap::from([("autoscaling/v1".to_owned(), schema)]),
    };
    let manager = FieldManager::new(Arc::new(kind), "scale", &[]);
    let body = &step.record["body"];
    let text = body.to_string();
    let new = match step.record["do"].as_str().unwrap() {
        "apply" => {
            let force = step.record["force"].as_bool().unwrap_or_default();
            let applied = manager.apply(Some(scale), body, step.writer(), force);
            return applied.map_err(apply_failure);
        }
        "merge" => {
            patch::merge_patch(scale.clone(), text.as_bytes(), Decoding::Strict)
                .unwrap()
                .object
        }
        "json" => {
            patch::json_patch(scale.clone(), text.as_bytes(), Decoding::Strict)
                .unwrap()
                .object
        }
        _ => body.clone(),
    };
    Ok(manager.update(Some(scale), new, step.writer()))
}
