//! The strategy of `APIServices`.

use serde_json::Value;

use super::Strategy;

#[derive(Debug)]
pub(super) struct ApiService;

impl Strategy for ApiService {
    fn required_extension(&self, object: &Value) -> Option<&'static str> {
        object["spec"]["service"]
            .is_object()
            .then_some("aggregated APIs")
    }
}
