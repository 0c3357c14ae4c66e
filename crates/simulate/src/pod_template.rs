//! Pods from the template of a workload.

use serde_json::{Map, Value, json};

use super::object::{controller_reference, name, namespace};

/// A workload that creates pods.
#[derive(Debug, Clone, Copy)]
pub(super) struct PodOwner<'a> {
    pub(super) owner: &'a Value,
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
}

impl PodOwner<'_> {
    /// A pod without a name, with labels beside those of the template.
    pub(super) fn pod(&self, template: &Value, labels: &[(&str, &str)]) -> Value {
        let mut metadata = match &template["metadata"] {
            Value::Object(metadata) => metadata.clone(),
            _ => Map::new(),
        };
        metadata.remove("creationTimestamp");
        metadata.insert("namespace".to_owned(), namespace(self.owner).into());
        let references = controller_reference(self.owner, self.api_version, self.kind);
        metadata.insert("ownerReferences".to_owned(), references);
        let mut metadata = Value::Object(metadata);
        for (key, value) in labels {
            metadata["labels"][*key] = (*value).into();
        }
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
    }

    /// A pod with `generateName` after the workload.
    pub(super) fn pod_with_generated_name(
        &self,
        template: &Value,
        labels: &[(&str, &str)],
    ) -> Value {
        let mut pod = self.pod(template, labels);
        pod["metadata"]["generateName"] = format!("{}-", name(self.owner)).into();
        pod
    }
}

/// The template without its hash label, to compare it with others.
pub(super) fn without_hash(template: &Value, label: &str) -> Value {
    let mut template = template.clone();
    let metadata = template.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        metadata.remove("creationTimestamp");
        let labels = metadata.get_mut("labels").and_then(Value::as_object_mut);
        if let Some(labels) = labels {
            labels.remove(label);
            if labels.is_empty() {
                metadata.remove("labels");
            }
        }
    }
    template
}
