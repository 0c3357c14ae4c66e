//! The selector of a Job, which the server generates so that no other Job's Pods match.

use serde_json::{Map, Value};

use super::part;

/// Labels for the name and the uid; each has an old and a new key.
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

pub(super) fn generate_selector(job: &mut Map<String, Value>) {
    let text = |key: &str| job.get("metadata").map(|metadata| metadata[key].clone());
    let (Some(name), Some(uid)) = (text("name"), text("uid")) else {
        return;
    };
    let Some(spec) = part(job, "spec") else {
        return;
    };
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let labels = part(spec, "template")
        .and_then(|template| part(template, "metadata"))
        .and_then(|metadata| part(metadata, "labels"));
    if let Some(labels) = labels {
        for key in NAME_LABELS {
            labels.entry(key).or_insert_with(|| name.clone());
        }
        for key in UID_LABELS {
            labels.entry(key).or_insert_with(|| uid.clone());
        }
    }
    let matching = part(spec, "selector").and_then(|selector| part(selector, "matchLabels"));
    if let Some(matching) = matching {
        matching.entry(UID_LABELS[1]).or_insert(uid);
    }
}
