//! A host without a clock, randomness, cluster or network.

use super::{CallError, Host};
use crate::value::Value;

/// The time is 1970, random bytes are zero, and there are no keys and no objects. For tests, and for templates that need
/// no host.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullHost;

impl Host for NullHost {
    fn now(&self) -> i128 {
        0
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }

    fn lookup(&self, _: &str, _: &str, _: &str, _: &str) -> Result<Value, CallError> {
        Ok(Value::map(Vec::new()))
    }

    fn host_by_name(&self, _: &str) -> String {
        String::new()
    }

    fn rsa_key(&self, _: usize) -> Result<Vec<u8>, CallError> {
        Err(CallError::returned("this host generates no keys"))
    }
}
