//! Notices a machine that is listed under two addresses: its host key and its boot id are those of another Machine.
//!
//! The host keys of all Machines are in their status, so that a restart of the controller forgets nothing. Machines that were
//! installed from one image may have the same key: the one that has it recorded is asked for its boot id.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

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
    /// Fails if the machine is another one that was connected to before. The first call connects. `recorded` are the
    /// Machines whose host keys are recorded, and `connect` connects to one.
    pub(crate) async fn check<F>(
        &self,
        machine: &Machine,
        remote: &dyn Remote,
        recorded: &[Arc<Machine>],
        connect: impl Fn(Arc<Machine>) -> F,
    ) -> Result<(), String>
    where
        F: Future<Output = Result<Arc<dyn Remote>, String>>,
    {
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
        for twin in recorded.iter().filter(|it| may_be_twin(machine, it, &key)) {
            let asked = async {
                connect(Arc::clone(twin))
                    .await?
                    .boot_id()
                    .await
                    .map_err(|it| it.message)
            };
            compare(&address, &boot, twin, asked.await)?;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (known, _)| *known != name);
        let entry = known.entry((key, boot));
        let (owner, owner_address) = entry.or_insert_with(|| (name.clone(), address.clone()));
        if *owner_address == address {
            // Another Machine may have had the address before. Claims decide which one has it now.
            *owner = name;
            return Ok(());
        }
        Err(same_machine(&address, owner, owner_address))
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

/// Whether another Machine at another address has the host key of a machine. One whose own key is recorded was compared
/// before.
fn may_be_twin(machine: &Machine, other: &Machine, key: &str) -> bool {
    let recorded = |machine: &Machine| machine.status.as_ref()?.host_key.clone();
    recorded(machine).as_deref() != Some(key)
        && recorded(other).as_deref() == Some(key)
        && machine.name_any() != other.name_any()
        && machine.spec.access.address() != other.spec.access.address()
}

fn compare(
    address: &str,
    boot: &str,
    twin: &Machine,
    boot_of_twin: Result<String, String>,
) -> Result<(), String> {
    let (name, at) = (twin.name_any(), twin.spec.access.address());
    match boot_of_twin {
        Ok(id) if id == boot => Err(same_machine(address, &name, &at)),
        Ok(_) => Ok(()),
        Err(error) => {
            // One that cannot be used must not keep others with its key from being used.
            tracing::warn!(
                machine = address,
                other = name,
                error,
                "cannot tell apart machines with one host key"
            );
            Ok(())
        }
    }
}

fn same_machine(address: &str, owner: &str, owner_address: &str) -> String {
    format!(
        "{address} is the same machine as {owner} ({owner_address}): its host key and boot id are equal"
    )
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
        for machine in [&former, &new] {
            let connect = async |_| Err("nothing is recorded".to_owned());
            let checked = identities.check(machine, remote.as_ref(), &[], connect);
            checked.await.unwrap();
        }
        // The former one does not come back by that.
        identities.forget("a-1");
        assert!(identities.is_known("b-1", "10.0.0.1:22"));
    }
}
