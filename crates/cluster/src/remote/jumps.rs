//! Jump hosts: all machines behind one share its connection.

use std::sync::{Mutex, PoisonError};

use outrigger_api::machine::JumpHost;
use outrigger_node::{HostKey, Machine, WeakMachine};

/// The jump hosts that machines use.
#[derive(Debug, Default)]
pub(super) struct Jumps {
    known: Mutex<Vec<Jump>>,
}

#[derive(Debug)]
struct Jump {
    host: JumpHost,
    required: Option<String>,
    machine: WeakMachine,
}

impl Jump {
    /// Whether this is the host, and presents the required key. A key that is not known yet is that of this connection.
    fn is(&self, host: &JumpHost, required: Option<&str>, machine: &Machine) -> bool {
        let Some(required) = required else {
            return self.host == *host;
        };
        let presented = machine.host_key().zip(required.parse::<HostKey>().ok());
        let is_presented = presented.is_some_and(|(key, required)| key.matches(&required));
        self.host == *host && (is_presented || self.required.as_deref() == Some(required))
    }
}

impl Jumps {
    /// The host with these credentials and this key, or a new one.
    pub(super) fn get<E>(
        &self,
        host: &JumpHost,
        required: Option<&str>,
        new: impl FnOnce() -> Result<Machine, E>,
    ) -> Result<Machine, E> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|jump| jump.machine.upgrade().is_some());
        let found = known.iter().find_map(|jump| {
            let machine = jump.machine.upgrade()?;
            jump.is(host, required, &machine).then_some(machine)
        });
        if let Some(machine) = found {
            return Ok(machine);
        }
        let machine = new()?;
        known.push(Jump {
            host: host.clone(),
            required: required.map(ToOwned::to_owned),
            machine: machine.downgrade(),
        });
        Ok(machine)
    }

    /// Connections that are open are not used for other machines any more.
    pub(super) fn forget(&self, host: &JumpHost) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|jump| jump.host != *host);
    }
}
