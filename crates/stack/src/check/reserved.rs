//! Names and metadata that plugins must not change.

use outrigger_model::construct::Patch;
use outrigger_model::{Entry, Model, Owner};

use crate::finding::Finding;

/// Metadata that initializes machines.
const INIT_METADATA: &str = "AWS::CloudFormation::Init";
/// Prefixes of label keys that only Kubernetes sets; the kubelet may not set most of them.
const RESERVED_LABELS: [&str; 2] = ["node-role.kubernetes.io/", "kubernetes.io/"];

pub(super) fn findings(model: &Model) -> Vec<Finding> {
    let patches = model.patches.entries().filter_map(init_metadata);
    let labels = model.node_labels.entries().filter_map(|entry| {
        let key = &entry.value.key;
        let is_reserved = RESERVED_LABELS.iter().any(|prefix| key.starts_with(prefix));
        let owner = entry.owners.first()?.as_str();
        is_reserved.then(|| {
            Finding::fatal(
                owner,
                format!("node label {key} is reserved for Kubernetes"),
            )
        })
    });
    patches.chain(labels).collect()
}

fn init_metadata(entry: &Entry<Patch>) -> Option<Finding> {
    let path: Vec<&str> = entry.value.path.iter().map(String::as_str).collect();
    let is_reserved = path == ["Metadata"] || path.starts_with(&["Metadata", INIT_METADATA]);
    let owner = entry.owners.first().map_or("", Owner::as_str);
    is_reserved.then(|| {
        Finding::fatal(
            owner,
            format!(
                "patches the init metadata of {}, which is reserved",
                entry.value.resource
            ),
        )
    })
}
