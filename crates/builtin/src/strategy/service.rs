//! The strategy of Services.

use outrigger_apimachinery::status::Status;
use serde_json::Value;

use super::Strategy;
use crate::prepare::service::{self, Allocator};

#[derive(Debug)]
pub(super) struct Service;

impl Strategy for Service {
    fn allocates(&self) -> bool {
        true
    }

    fn allocate(
        &self,
        object: &mut Value,
        old: Option<&Value>,
        allocator: &mut dyn Allocator,
    ) -> Result<(), Status> {
        service::allocate(object, old, allocator)
    }
}
