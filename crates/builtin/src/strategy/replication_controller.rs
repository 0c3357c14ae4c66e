//! The strategy of `ReplicationControllers`.

use serde_json::Value;

use super::Strategy;

#[derive(Debug)]
pub(super) struct ReplicationController;

impl Strategy for ReplicationController {
    /// The selector is a plain map of labels.
    fn scale_selector(&self, object: &Value) -> Option<String> {
        let labels = object["spec"]["selector"].as_object()?.iter();
        let labels: Vec<_> = labels
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect();
        Some(labels.join(","))
    }
}
