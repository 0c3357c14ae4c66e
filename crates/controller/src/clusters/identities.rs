//! Notices a machine that is listed under two addresses: its host key and its boot id are those of another Machine.
//!
//! The host keys and machine ids of all Machines are in their status, so that a restart of the controller forgets nothing.
//! Machines that were installed from one image may have the same key: the one that has it recorded is asked for its boot id.
//! If it does not respond, they are two machines only if their machine ids differ.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::ResourceExt as _;
use outrigger_api::machine::Machine;
use outrigger_cluster::{MachineIds, Remote, lifecycle};

/// The machines that were connected to, of all clusters.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    /// By the name of the Machine.
    known: Mutex<HashMap<String, Identity>>,
}

/// A machine that was connected to.
#[derive(Debug)]
struct Identity {
    owner: Owner,
    host_key: String,
    ids: MachineIds,
}

/// The Machine that a machine belongs to.
#[derive(Debug)]
struct Owner {
    machine: String,
    cluster: String,
    address: String,
}

impl Identities {
    /// Fails if the machine is another one that was connected to before, or may be. The first call connects, and returns the
    /// machine id. `recorded` are the Machines whose host keys or facts are recorded, and `connect` connects to one.
    pub(crate) async fn check<F>(
        &self,
        machine: &Machine,
        remote: &dyn Remote,
        recorded: &[Arc<Machine>],
        connect: impl Fn(Arc<Machine>) -> F,
    ) -> Result<Option<String>, String>
    where
        F: Future<Output = Result<Arc<dyn Remote>, String>>,
    {
        let owner = Owner::new(machine);
        if self.is_known(&owner) {
            return Ok(None);
        }
        let ids = match remote.ids().await {
            Ok(ids) => ids,
            // It was compared before, and not all steps need it.
            Err(_) if recorded_key(machine).is_some() => return Ok(None),
            Err(error) => return Err(error.message),
        };
        let Some(host_key) = remote.host_key() else {
            return Ok(None);
        };
        let is_compared = recorded_key(machine) == Some(&host_key);
        if is_compared && let Some(first) = other_machine(machine, &ids) {
            let address = &owner.address;
            return Err(format!(
                "{address} is not the machine that was set up at {first}: its machine id is another one"
            ));
        }
        let identity = Identity {
            owner,
            host_key,
            ids,
        };
        let twins = recorded.iter().filter(|it| identity.may_be(it));
        for twin in twins.filter(|_| !is_compared) {
            let asked = async {
                let remote = connect(Arc::clone(twin)).await?;
                remote.ids().await.map_err(|error| error.message)
            };
            identity.compare(twin, asked.await)?;
        }
        let machine_id = Some(identity.ids.machine.clone());
        self.add(identity)?;
        Ok(machine_id.filter(|id| !id.is_empty()))
    }

    /// Fails if another Machine has the machine at another address.
    fn add(&self, identity: Identity) -> Result<(), String> {
        let Owner {
            machine, address, ..
        } = &identity.owner;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Another Machine may have had the address before. Claims decide which one has it now.
        known.retain(|name, it| name != machine && it.owner.address != *address);
        if let Some(twin) = known.values().find(|it| identity.is(it)) {
            return Err(identity.same_machine(&twin.owner));
        }
        known.insert(machine.clone(), identity);
        Ok(())
    }

    /// The Machine is deleted.
    pub(crate) fn forget(&self, name: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(name);
    }

    fn is_known(&self, owner: &Owner) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(&owner.machine);
        known.is_some_and(|known| known.owner.address == owner.address)
    }
}

impl Owner {
    fn new(machine: &Machine) -> Self {
        Self {
            machine: machine.name_any(),
            cluster: machine.spec.cluster.clone(),
            address: machine.spec.access.address(),
        }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            machine,
            cluster,
            address,
        } = self;
        write!(f, "{machine} of cluster {cluster} ({address})")
    }
}

impl Identity {
    fn is(&self, other: &Self) -> bool {
        self.ids.boot == other.ids.boot
            && self.may_have(Some(&other.host_key), Some(&other.ids.machine))
    }

    /// Whether a Machine at another address may be this machine, by what is recorded about it. Nothing is done any more on one
    /// that is lost.
    fn may_be(&self, other: &Machine) -> bool {
        self.owner.machine != other.name_any()
            && self.owner.address != other.spec.access.address()
            && !lifecycle::is_lost(other)
            && self.may_have(recorded_key(other), recorded_id(other))
    }

    /// Whether the machine may have a host key and a machine id. It has a key for each algorithm.
    fn may_have(&self, host_key: Option<&String>, machine_id: Option<&String>) -> bool {
        let algorithm = |key: &str| key.split(' ').next().map(ToOwned::to_owned);
        match host_key {
            Some(key) if *key == self.host_key => true,
            Some(key) if algorithm(key) == algorithm(&self.host_key) => false,
            _ => !self.ids.machine.is_empty() && machine_id == Some(&self.ids.machine),
        }
    }

    /// Fails unless a Machine that may be this machine is another one. `asked` is what it responds now.
    fn compare(&self, twin: &Machine, asked: Result<MachineIds, String>) -> Result<(), String> {
        let owner = Owner::new(twin);
        match asked {
            Ok(ids) if ids.boot == self.ids.boot => Err(self.same_machine(&owner)),
            Ok(_) => Ok(()),
            Err(error) => {
                let recorded = recorded_id(twin).filter(|_| !self.ids.machine.is_empty());
                if recorded.is_some_and(|recorded| *recorded != self.ids.machine) {
                    return Ok(());
                }
                let address = &self.owner.address;
                Err(format!(
                    "{address} cannot be told apart from {owner}, which does not respond: {error}; if they are two machines, \
                     give this one another host key, or remove the other one"
                ))
            }
        }
    }

    fn same_machine(&self, owner: &Owner) -> String {
        let address = &self.owner.address;
        format!("{address} is the same machine as {owner}: their boot ids are equal")
    }
}

/// The address at which another machine was set up, if a Machine that has another port since then leads to this one.
fn other_machine<'a>(machine: &'a Machine, ids: &MachineIds) -> Option<&'a String> {
    let first = machine.status.as_ref()?.address.as_ref()?;
    let is_moved = *first != machine.spec.access.address();
    let is_other = recorded_id(machine).is_some_and(|recorded| *recorded != ids.machine);
    (is_moved && is_other).then_some(first)
}

fn recorded_key(machine: &Machine) -> Option<&String> {
    machine.status.as_ref()?.host_key.as_ref()
}

fn recorded_id(machine: &Machine) -> Option<&String> {
    let id = &machine.status.as_ref()?.facts.as_ref()?.machine_id;
    Some(id).filter(|id| !id.is_empty())
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
        assert!(identities.is_known(&Owner::new(&new)));
    }

    /// Its step could reach it a moment later.
    #[tokio::test]
    async fn a_machine_that_was_never_compared_and_does_not_respond_is_not_used() {
        let mut machine = machine("a-1");
        let login = Login {
            access: machine.spec.access.clone(),
            ..Login::default()
        };
        let machines = FakeMachines::default();
        machines.set_offline("10.0.0.1:22", true);
        let remote = machines.connect(&login).unwrap();
        let identities = Identities::default();
        let connect = async |_| Err("nothing is recorded".to_owned());
        let checked = identities.check(&machine, remote.as_ref(), &[], connect);
        assert_eq!(
            checked.await.unwrap_err(),
            "failed to connect to 10.0.0.1:22"
        );
        machine.status = serde_json::from_value(json!({"hostKey": "key"})).unwrap();
        let checked = identities.check(&machine, remote.as_ref(), &[], connect);
        checked.await.unwrap();
    }
}
