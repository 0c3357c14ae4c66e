//! A world for templates in which nothing ever changes.

use outrigger_gotmpl::function::{CallError, Host};
use outrigger_gotmpl::value::Value;

#[derive(Debug)]
pub(crate) struct StillHost;

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
