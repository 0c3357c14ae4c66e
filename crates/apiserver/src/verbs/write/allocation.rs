//! The addresses and ports that a write allocates, which are released unless the object is stored.

use std::sync::Arc;

use outrigger_builtin::prepare::service::{AllocationError, Allocator, addresses, ports};
use outrigger_store::{Key, Operation, Precondition, Transaction};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::server::State;

/// Allocates from the pool of the server, and releases what it has allocated when it is dropped.
#[derive(Debug)]
pub(super) struct Allocation {
    state: Arc<State>,
    key: Key,
    addresses: Vec<String>,
    ports: Vec<i64>,
    is_being_stored: bool,
}

impl Allocation {
    pub(super) fn new(state: &Arc<State>, key: Key) -> Self {
        Self {
            state: Arc::clone(state),
            key,
            addresses: Vec::new(),
            ports: Vec::new(),
            is_being_stored: false,
        }
    }

    /// Waits for the write of the object, and keeps what is allocated if it succeeds.
    pub(super) async fn store<T, E>(
        mut self,
        write: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.is_being_stored = true;
        let result = write.await;
        self.is_being_stored = false;
        if result.is_ok() {
            self.addresses.clear();
            self.ports.clear();
        }
        result
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let (addresses, ports) = (
            std::mem::take(&mut self.addresses),
            std::mem::take(&mut self.ports),
        );
        if addresses.is_empty() && ports.is_empty() {
            return;
        }
        if !self.is_being_stored {
            release(&self.state, &addresses, &ports, &Value::Null);
            return;
        }
        // The client left, and the object may be stored or not.
        let (state, key) = (Arc::clone(&self.state), self.key.clone());
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let stored = stored(&state, key).await;
                release(&state, &addresses, &ports, &stored);
            });
        }
    }
}

/// The object after all writes that are under way. The store executes transactions in order.
async fn stored(state: &State, key: Key) -> Value {
    let last = Operation::Require {
        key: key.clone(),
        precondition: Precondition::exists(),
    };
    let _ = state.store.write(Transaction::new(vec![last])).await;
    let object = state.store.get(&key);
    let value = object.and_then(|object| serde_json::from_slice(object.bytes()).ok());
    value.unwrap_or_default()
}

fn release(state: &State, allocated: &[String], allocated_ports: &[i64], kept: &Value) {
    let (kept_addresses, kept_ports) = (addresses(kept), ports(kept));
    let mut pool = state.services();
    for address in allocated {
        if !kept_addresses.contains(address) {
            pool.release_address(address);
        }
    }
    for port in allocated_ports {
        if !kept_ports.contains(port) {
            pool.release_port(*port);
        }
    }
}

impl Allocator for Allocation {
    fn next_address(&mut self) -> Result<String, AllocationError> {
        let address = self.state.services().next_address()?;
        self.addresses.push(address.clone());
        Ok(address)
    }

    fn allocate_address(&mut self, address: &str) -> Result<(), AllocationError> {
        self.state.services().allocate_address(address)?;
        self.addresses.push(address.to_owned());
        Ok(())
    }

    fn next_port(&mut self) -> Result<i64, AllocationError> {
        let port = self.state.services().next_port()?;
        self.ports.push(port);
        Ok(port)
    }

    fn allocate_port(&mut self, port: i64) -> Result<(), AllocationError> {
        self.state.services().allocate_port(port)?;
        self.ports.push(port);
        Ok(())
    }

    fn release_address(&mut self, address: &str) {
        self.addresses.retain(|allocated| allocated != address);
        self.state.services().release_address(address);
    }

    fn release_port(&mut self, port: i64) {
        self.ports.retain(|allocated| *allocated != port);
        self.state.services().release_port(port);
    }
}
