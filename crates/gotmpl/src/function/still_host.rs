//! A world for templates in which nothing ever changes: no cluster, no network, no chance.

use super::{CallError, Host};
use crate::value::Value;

/// Time stands at 1970, random bytes are zero, there are no keys and no objects. For tests, and for those who need
/// nothing of the world.
#[derive(Debug, Clone, Copy, Default)]
pub struct StillHost;

impl Host for StillHost {
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
        Err(CallError::returned("no keys here"))
    }
}
