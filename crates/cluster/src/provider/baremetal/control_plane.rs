//! Which changes of the control plane are possible: the endpoint of the API server stays, and so does one machine.

use outrigger_api::cluster::Cluster;
use outrigger_api::machine::{Machine, MachineRole};

use super::network::endpoint_host;
use crate::lifecycle::{installed_version, is_deleted, needs_install};

/// Why the control plane cannot become the one of the spec.
pub(super) fn refused(cluster: &Cluster, machines: &[&Machine]) -> Option<String> {
    if is_deleted(cluster) || installed_version(cluster).is_none() {
        return None;
    }
    let installed = machines.iter().copied().filter(|machine| {
        machine.spec.role == MachineRole::ControlPlane && !needs_install(machine)
    });
    let (kept, removed): (Vec<&Machine>, Vec<&Machine>) =
        installed.partition(|machine| is_listed(cluster, machine));
    if kept.is_empty() && !removed.is_empty() {
        return Some(
            "none of the machines of the control plane would stay; replace them one after the other"
                .to_owned(),
        );
    }
    let endpoint = endpoint_host(cluster);
    let mut removed = removed.iter();
    let is_endpoint = removed.any(|machine| machine.spec.access.ip == endpoint);
    is_endpoint.then(|| {
        format!(
            "{endpoint} is the endpoint of the API server and cannot be removed; only a cluster that was created with \
             controlPlaneEndpoint can lose its first machine"
        )
    })
}

fn is_listed(cluster: &Cluster, machine: &Machine) -> bool {
    let address = machine.spec.access.address();
    let mut listed = cluster.spec.machines.iter();
    listed.any(|access| access.address() == address)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine(ip: &str) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": ip},
            "spec": {"cluster": "a", "role": "ControlPlane", "ip": ip},
            "status": {"version": "1.36.4"},
        }))
        .unwrap()
    }

    #[track_caller]
    fn check(endpoint: &str, listed: &[&str], expected: Option<&str>) {
        let machines: Vec<_> = listed.iter().map(|ip| json!({"ip": ip})).collect();
        let cluster: Cluster = serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a"},
            "spec": {"version": "1.36.4", "machines": machines},
            "status": {"version": "1.36.4", "controlPlaneEndpoint": endpoint},
        }))
        .unwrap();
        let machines = ["10.0.0.1", "10.0.0.2"].map(machine);
        let machines: Vec<&Machine> = machines.iter().collect();
        let refused = refused(&cluster, &machines);
        assert_eq!(refused.is_some(), expected.is_some(), "{refused:?}");
        assert!(
            refused
                .unwrap_or_default()
                .contains(expected.unwrap_or_default())
        );
    }

    #[test]
    fn the_machine_of_the_endpoint_stays() {
        check("10.0.0.1:6443", &["10.0.0.1"], None);
        check("10.0.0.1:6443", &["10.0.0.1", "10.0.0.3"], None);
        let expected = Some("10.0.0.1 is the endpoint");
        check("10.0.0.1:6443", &["10.0.0.2"], expected);
        check("lb.example.com:6443", &["10.0.0.2", "10.0.0.3"], None);
    }

    #[test]
    fn one_machine_stays() {
        let expected = Some("none of the machines");
        check("lb.example.com:6443", &["10.0.0.3"], expected);
    }
}
