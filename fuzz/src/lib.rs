//! What the targets share.

use outrigger_gotmpl::function::{CallError, Host};
use outrigger_gotmpl::value::Value;

/// A world without time, chance or cluster.
#[derive(Debug)]
pub struct Still;

impl Host for Still {
    fn now(&self) -> i128 {
        0
    }
    fn fill_random(&self, bytes: &mut [u8]) {
        bytes.fill(7);
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

