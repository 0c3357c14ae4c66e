//! The Machines that the controller creates for the control plane of a cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::{Machine, MachineAccess, MachineRole, MachineSpec};
use outrigger_api::{GROUP, VERSION};

/// The name of the Machine at an address: `cls-a-10-0-0-9`, with the port unless it is 22.
pub fn machine_name(cluster: &str, access: &MachineAccess) -> String {
    let ip = access.ip.replace(['.', ':'], "-");
    let ip = ip.trim_matches('-');
    match access.port {
        22 => format!("{cluster}-{ip}"),
        port => format!("{cluster}-{ip}-{port}"),
    }
}

/// The Machine for an item of `spec.machines`. It belongs to the Cluster, and is deleted with it.
pub fn control_plane_machine(cluster: &Cluster, access: &MachineAccess) -> Machine {
    let name = cluster.metadata.name.clone().unwrap_or_default();
    let spec = MachineSpec {
        cluster: name.clone(),
        role: MachineRole::ControlPlane,
        access: access.clone(),
    };
    let mut machine = Machine::new(&machine_name(&name, access), spec);
    machine.metadata.owner_references = Some(vec![OwnerReference {
        api_version: format!("{GROUP}/{VERSION}"),
        kind: "Cluster".to_owned(),
        name,
        uid: cluster.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    }]);
    machine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_by_address_and_valid() {
        let name = |ip: &str, port| {
            let ip = ip.to_owned();
            let access = MachineAccess {
                ip,
                port,
                ..MachineAccess::default()
            };
            machine_name("cls-a", &access)
        };
        assert_eq!(name("10.0.0.9", 22), "cls-a-10-0-0-9");
        assert_eq!(name("10.0.0.9", 2222), "cls-a-10-0-0-9-2222");
        assert_eq!(name("::1", 22), "cls-a-1");
        assert_eq!(name("fd00::9", 22), "cls-a-fd00--9");
    }
}
