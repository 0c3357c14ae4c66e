//! What tests that replay recorded requests of a real server have in common.

use std::collections::VecDeque;

use outrigger_apimachinery::GroupVersion;
use serde_json::{Value, json};

use crate::kinds::{Kind, Kinds};
use crate::prepare::service::{AllocationError, Allocator};

/// The kind of a recorded object.
pub(crate) fn kind_of<'a>(kinds: &'a Kinds, object: &Value) -> &'a Kind {
    let version = GroupVersion::parse(object["apiVersion"].as_str().unwrap());
    let kind = object["kind"].as_str().unwrap();
    kinds.kind(version.group, version.version, kind).unwrap()
}

/// Values of several types, for property tests.
pub(crate) fn values(text: &str, number: i64) -> [Value; 4] {
    [
        json!(text),
        json!(number),
        json!([number]),
        json!({text: number}),
    ]
}

/// Allocates the address and the ports of a recorded Service.
pub(crate) struct RecordedAllocator {
    pub(crate) address: String,
    pub(crate) ports: VecDeque<i64>,
}

impl Allocator for RecordedAllocator {
    fn next_address(&mut self) -> Result<String, AllocationError> {
        Ok(self.address.clone())
    }

    fn allocate_address(&mut self, _: &str) -> Result<(), AllocationError> {
        Ok(())
    }

    fn next_port(&mut self) -> Result<i64, AllocationError> {
        self.ports.pop_front().ok_or(AllocationError::Full)
    }

    fn allocate_port(&mut self, _: i64) -> Result<(), AllocationError> {
        Ok(())
    }

    fn release_address(&mut self, _: &str) {}

    fn release_port(&mut self, _: i64) {}
}
