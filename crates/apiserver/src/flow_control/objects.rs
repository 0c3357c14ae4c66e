//! The flow schemas and priority levels that every cluster has.

use serde_json::{Value, json};

pub(crate) const GROUP: &str = "flowcontrol.apiserver.k8s.io";

/// One object on each line, without the fields that all have in common.
const OBJECTS: &str = include_str!("objects.jsonl");

/// The objects that the real server of this version creates, without server-side metadata, with their plurals.
pub(crate) fn objects() -> impl Iterator<Item = (&'static str, Value)> {
    let lines = OBJECTS.lines();
    let lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.map(|line| {
        let plural = match line["kind"].as_str() {
            Some("FlowSchema") => "flowschemas",
            _ => "prioritylevelconfigurations",
        };
        let object = json!({
            "kind": line["kind"],
            "apiVersion": format!("{GROUP}/v1"),
            "metadata": {"name": line["name"], "generation": 1, "annotations": line["annotations"]},
            "spec": line["spec"],
            "status": {},
        });
        (plural, object)
    })
}

/// Whether an object is created again as soon as it is deleted: without it, requests would not be classified.
pub(crate) fn is_mandatory(name: &str) -> bool {
    matches!(name, "catch-all" | "exempt")
}
