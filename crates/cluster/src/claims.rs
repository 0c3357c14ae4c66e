//! One machine belongs to one cluster: of all Machines with the same address, the one on which something was done has it,
//! otherwise the oldest.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use outrigger_api::machine::Machine;

/// The machine that has an address which another one asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub address: String,
    pub machine: String,
    pub cluster: String,
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            address,
            machine,
            cluster,
        } = self;
        write!(
            f,
            "{address} belongs to machine {machine} of cluster {cluster}"
        )
    }
}

/// The machines that ask for an address of another machine, by name.
pub fn conflicts<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> BTreeMap<String, Claim> {
    let mut by_address: BTreeMap<String, Vec<&Machine>> = BTreeMap::new();
    for machine in machines {
        let address = machine.spec.access.address();
        by_address.entry(address).or_default().push(machine);
    }
    let mut conflicts = BTreeMap::new();
    for (address, mut machines) in by_address {
        machines.sort_by_key(|machine| age(machine));
        let Some((owner, others)) = machines.split_first() else {
            continue;
        };
        for other in others {
            let claim = Claim {
                address: address.clone(),
                machine: owner.name_any(),
                cluster: owner.spec.cluster.clone(),
            };
            conflicts.insert(other.name_any(), claim);
        }
    }
    conflicts
}

/// Orders machines by age; the uid decides within a second. Those that are in use come first.
fn age(machine: &Machine) -> (bool, Option<jiff::Timestamp>, Option<String>, String) {
    let is_unused = !crate::lifecycle::has_begun(machine);
    let metadata = &machine.metadata;
    let created = metadata.creation_timestamp.as_ref().map(|time| time.0);
    (is_unused, created, metadata.uid.clone(), machine.name_any())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine(name: &str, cluster: &str, ip: &str, created: &str) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "creationTimestamp": created, "uid": name},
            "spec": {"cluster": cluster, "ip": ip},
        }))
        .unwrap()
    }

    #[test]
    fn the_oldest_machine_has_the_address() {
        let machines = [
            machine("b", "two", "10.0.0.1", "2026-01-02T00:00:00Z"),
            machine("a", "one", "10.0.0.1", "2026-01-01T00:00:00Z"),
            machine("c", "one", "10.0.0.2", "2026-01-03T00:00:00Z"),
        ];
        let conflicts = conflicts(&machines);
        assert_eq!(conflicts.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(
            conflicts["b"].to_string(),
            "10.0.0.1:22 belongs to machine a of cluster one"
        );
    }

    #[test]
    fn a_machine_in_use_keeps_its_address() {
        let mut machines = [
            machine("a", "one", "10.0.0.1", "2026-01-01T00:00:00Z"),
            machine("b", "two", "10.0.0.1", "2026-01-02T00:00:00Z"),
        ];
        machines[1].status = serde_json::from_value(json!({"version": "1.0.0"})).unwrap();
        let conflicts = conflicts(&machines);
        assert_eq!(conflicts.keys().collect::<Vec<_>>(), ["a"]);
    }
}
