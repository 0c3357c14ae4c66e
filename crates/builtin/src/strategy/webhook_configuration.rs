//! The strategy of admission webhook configurations.

use serde_json::Value;

use super::{Strategy, is_empty};

#[derive(Debug)]
pub(super) struct WebhookConfiguration;

impl Strategy for WebhookConfiguration {
    fn required_extension(&self, object: &Value) -> Option<&'static str> {
        (!is_empty(&object["webhooks"])).then_some("admission webhooks")
    }
}
