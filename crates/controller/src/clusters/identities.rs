//! Notices a machine that is listed under two addresses: its host key and its boot id are those of another Machine.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kube::ResourceExt as _;
use outrigger_api::machine::Machine;
use outrigger_cluster::Remote;

/// The machines that were connected to, of all clusters.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    /// Host key and boot id, with the name and the address of the Machine.
    known: Mutex<HashMap<Identity, (String, String)>>,
}

type Identity = (String, String);

impl Identities {
    /// Fails if the machine is another one that was connected to before. The first call connects.
    pub(crate) async fn check(&self, machine: &Machine, remote: &dyn Remote) -> Result<(), String> {
        let (name, address) = (machine.name_any(), machine.spec.access.address());
        if self.is_known(&name, &address) {
            return Ok(());
        }
        // A machine that cannot be reached is reported by its step.
        let Ok(boot) = remote.boot_id().await else {
            return Ok(());
        };
        let Some(key) = remote.host_key().filter(|_| !boot.is_empty()) else {
            return Ok(());
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (known, _)| *known != name);
        let entry = known.entry((key, boot));
        let (owner, owner_address) = entry.or_insert_with(|| (name.clone(), address.clone()));
        if *owner_address == address {
            // Another Machine may have had the address before. Claims decide which one has it now.
            *owner = name;
            return Ok(());
        }
        Err(format!(
            "{address} is the same machine as {owner} ({owner_address}): its host key and boot id are equal"
        ))
    }

    /// The Machine is deleted.
    pub(crate) fn forget(&self, name: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (known, _)| known != name);
    }

    fn is_known(&self, name: &str, address: &str) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .values()
            .any(|(known, at)| known == name && at == address)
    }
}

#[cfg(test)]
mod tests {
    use outrigger_cluster::{Connect as _, Login};
    use outrigger_testing::fake_machines::FakeMachines;
    use serde_json::json;

    use super::*;

    fn machine(name: &str) -> Machine {
        let spec = json!({"cluster": "a", "ip": "10.0.0.1", "password": "eA=="});
        Machine::new(name, serde_json::from_value(spec).unwrap())
    }

    /// Whether it may have the address is decided by claims. The former Machine may not be forgotten yet.
    #[tokio::test]
    async fn a_machine_that_takes_over_an_address_is_not_the_same_machine_twice() {
        let (former, new) = (machine("a-1"), machine("b-1"));
        let login = Login {
            access: new.spec.access.clone(),
            ..Login::default()
        };
        let remote = FakeMachines::default().connect(&login).unwrap();
        let identities = Identities::default();
        identities.check(&former, remote.as_ref()).await.unwrap();
        identities.check(&new, remote.as_ref()).await.unwrap();
        // The former one does not come back by that.
        identities.forget("a-1");
        assert!(identities.is_known("b-1", "10.0.0.1:22"));
    }
}
