//! The host functions of templates: clock, random numbers, keys, and `lookup`.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use outrigger_chart::template_value;
use outrigger_gotmpl::function::{CallError, Host};
use outrigger_gotmpl::functions::rsa_key;
use outrigger_gotmpl::value::Value as GoValue;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

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
        Ok(found.map_or_else(
            || GoValue::map(Vec::new()),
            |object| template_value(&object),
        ))
    }

    fn host_by_name(&self, _: &str) -> String {
        String::new()
    }

    /// Generates the key on another thread, which cannot be stopped. A render that is cancelled does not wait for it.
    fn rsa_key(&self, bits: usize) -> Result<Vec<u8>, CallError> {
        let key = self.runtime.block_on(async {
            tokio::select! {
                key = generate_rsa_key(bits) => Some(key),
                () = self.control.until_cancelled() => None,
            }
        });
        match key {
            Some(key) if !self.interrupted() => key,
            _ => Err(cancelled()),
        }
    }

    fn interrupted(&self) -> bool {
        self.control.interrupted()
    }
}

/// The number of keys that are generated at the same time. Renders that are cancelled start over, so without a limit keys
/// that nobody waits for would occupy all cores.
static KEY_GENERATORS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(cores))
});

async fn generate_rsa_key(bits: usize) -> Result<Vec<u8>, CallError> {
    let failed = || CallError::returned("failed to generate an RSA key");
    let generator = Arc::clone(&KEY_GENERATORS).acquire_owned().await;
    let generator = generator.map_err(|_| failed())?;
    let key = tokio::task::spawn_blocking(move || {
        let _generator = generator;
        rsa_key(bits)
    });
    key.await.unwrap_or_else(|_| Err(failed()))
}

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
