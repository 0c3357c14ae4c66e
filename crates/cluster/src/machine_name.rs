//! The Machines that the controller creates for the control plane of a cluster.

use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::{Machine, MachineAccess, MachineRole, MachineSpec};
use outrigger_api::{GROUP, VERSION};

/// The name of the Machine at an address: `cls-a-10-0-0-9`, with the port unless it is 22. Each address has its own, however
/// it is written.
pub fn machine_name(cluster: &str, access: &MachineAccess) -> String {
    let port = access.port;
    match access.ip.parse() {
        Ok(IpAddr::V6(ip)) => {
            // `::` at an end gets a zero, so that it differs from the address without it and ends with a digit.
            let ip = format!("{ip}").replace(['.', ':'], "-");
            let start = if ip.starts_with('-') { "0" } else { "" };
            let end = if ip.ends_with('-') { "0" } else { "" };
            match port {
                22 => format!("{cluster}-{start}{ip}{end}"),
                // The letter keeps the port apart from the groups of the address.
                port => format!("{cluster}-{start}{ip}{end}-p{port}"),
            }
        }
        Ok(IpAddr::V4(_)) | Err(_) => {
            let ip = access.ip.replace('.', "-");
            match port {
                22 => format!("{cluster}-{ip}"),
                port => format!("{cluster}-{ip}-{port}"),
            }
        }
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

    fn name(ip: &str, port: u16) -> String {
        let access = MachineAccess {
            ip: ip.to_owned(),
            port,
            ..MachineAccess::default()
        };
        machine_name("cls-a", &access)
    }

    #[test]
    fn names_are_distinct_by_address_and_valid() {
        assert_eq!(name("10.0.0.9", 22), "cls-a-10-0-0-9");
        assert_eq!(name("10.0.0.9", 2222), "cls-a-10-0-0-9-2222");
        assert_eq!(name("::1", 22), "cls-a-0--1");
        assert_eq!(name("fd00::9", 22), "cls-a-fd00--9");
    }

    #[test]
    fn ipv6_addresses_that_differ_in_colons_only_have_distinct_names() {
        assert_ne!(name("fd00:1::", 22), name("::fd00:1", 22));
        assert_ne!(name("fd00::9", 2222), name("fd00::9:2222", 22));
        assert_eq!(name("fd00:0::9", 22), name("fd00::9", 22));
        assert!(!name("fd00:1::", 22).ends_with('-'));
    }
}
