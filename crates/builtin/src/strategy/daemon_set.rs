//! The strategy of `DaemonSets`.

use serde_json::{Value, json};

use super::Strategy;
use crate::apps::daemon_set::TEMPLATE_GENERATION;

#[derive(Debug)]
pub(super) struct DaemonSet;

impl Strategy for DaemonSet {
    /// The internal version has `spec.templateGeneration`, which the conversion writes back as an annotation.
    fn after_decode(&self, object: &mut Value) {
        let Some(metadata) = object["metadata"].as_object_mut() else {
            return;
        };
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations
                .entry(TEMPLATE_GENERATION)
                .or_insert_with(|| "0".into());
        }
    }
}
