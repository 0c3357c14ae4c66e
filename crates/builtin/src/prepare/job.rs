//! The selector of a Job, which the server generates so that no other Job's Pods match.

use serde_json::{Map, Value};

use crate::fields::object_mut;

/// Labels for the name and the uid; each has an old and a new key.
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

pub(super) fn generate_selector(job: &mut Map<String, Value>) {
    let text = |key: &str| job.get("metadata").map(|metadata| metadata[key].clone());
    let (Some(name), Some(uid)) = (text("name"), text("uid")) else {
        return;
    };
    let Some(spec) = object_mut(job, "spec") else {
        return;
    };
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let labels = object_mut(spec, "template")
        .and_then(|template| object_mut(template, "metadata"))
        .and_then(|metadata| object_mut(metadata, "labels"));
    if let Some(labels) = labels {
        for key in NAME_LABELS {
            labels.entry(key).or_insert_with(|| name.clone());
        }
        for key in UID_LABELS {
            labels.entry(key).or_insert_with(|| uid.clone());
        }
    }
    let matching =
        object_mut(spec, "selector").and_then(|selector| object_mut(selector, "matchLabels"));
    if let Some(matching) = matching {
        matching.entry(UID_LABELS[1]).or_insert(uid);
    }
}
