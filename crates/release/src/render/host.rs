//! The host functions of templates: clock, random numbers, keys, and `lookup`.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use jiff::Timestamp;
use outrigger_gotmpl::function::{CallError, Host};
use outrigger_gotmpl::functions::rsa_key;
use outrigger_gotmpl::value::{Str, Value as GoValue};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::cluster::Cluster;
use crate::error::{Error, chain};
use crate::id::ObjectId;

use super::control::RenderControl;

#[derive(Debug)]
pub(super) struct ClusterHost {
    pub(super) cluster: Cluster,
    pub(super) runtime: Handle,
    pub(super) now: fn() -> Timestamp,
    pub(super) control: Arc<RenderControl>,
}

impl Host for ClusterHost {
    fn now(&self) -> i128 {
        (self.now)().as_nanosecond()
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the system has a random number generator");
    }

    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<GoValue, CallError> {
        let id = ObjectId {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
            name: name.to_owned(),
        };
        let found = self.runtime.block_on(async {
            tokio::select! {
                found = find(&self.cluster, &id) => Some(found),
                () = self.control.until_cancelled() => None,
            }
        });
        let found = found
            .ok_or_else(cancelled)?
            .map_err(|error| CallError::returned(chain(&error)))?;
        Ok(found.map_or_else(|| GoValue::map(Vec::new()), |object| go_value(&object)))
    }

    fn host_by_name(&self, _: &str) -> String {
        String::new()
    }

    /// Generates the key on another thread, which cannot be stopped.
    fn rsa_key(&self, bits: usize) -> Result<Vec<u8>, CallError> {
        let (sender, receiver) = sync_channel(1);
        std::thread::spawn(move || {
            // A cancelled render no longer receives it.
            let _ = sender.send(rsa_key(bits));
        });
        loop {
            match receiver.recv_timeout(CANCEL_INTERVAL) {
                Ok(key) => return key,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(CallError::returned("failed to generate an RSA key"));
                }
                Err(RecvTimeoutError::Timeout) if self.interrupted() => return Err(cancelled()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn interrupted(&self) -> bool {
        self.control.interrupted()
    }
}

/// How often a render that waits for a key checks whether it is cancelled.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

fn cancelled() -> CallError {
    CallError::returned("render was cancelled")
}

/// The object, or the list of all objects if the name is empty. An unknown kind is an error, as in Helm.
async fn find(cluster: &Cluster, id: &ObjectId) -> Result<Option<Value>, Error> {
    if id.name.is_empty() {
        return cluster.list(id).await;
    }
    cluster.url(id).await?;
    cluster.get(id).await
}

/// Converts JSON as Helm's client decodes objects: integers stay integers.
fn go_value(value: &Value) -> GoValue {
    match value {
        Value::Null => GoValue::Nil,
        Value::Bool(flag) => GoValue::Bool(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => GoValue::Int64(integer),
            None => GoValue::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => GoValue::str(text.as_str()),
        Value::Array(items) => GoValue::list(items.iter().map(go_value).collect()),
        Value::Object(fields) => GoValue::map(
            fields
                .iter()
                .map(|(key, value)| (Str::from(key.as_str()), go_value(value)))
                .collect(),
        ),
    }
}
