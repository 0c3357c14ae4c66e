//! The addresses of a cluster, with their defaults.

use std::net::IpAddr;

use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;

const API_PORT: u16 = 6443;

pub(super) fn pod_cidr(cluster: &Cluster) -> &str {
    cluster
        .spec
        .cluster_cidr
        .as_deref()
        .unwrap_or("10.244.0.0/16")
}

pub(super) fn service_cidr(cluster: &Cluster) -> &str {
    cluster
        .spec
        .service_cidr
        .as_deref()
        .unwrap_or("10.96.0.0/12")
}

pub(super) fn dns_domain(cluster: &Cluster) -> &str {
    cluster
        .spec
        .dns_domain
        .as_deref()
        .unwrap_or("cluster.local")
}

/// Host and port of the API server: those that the cluster was created with.
pub(super) fn endpoint(cluster: &Cluster) -> String {
    let status = cluster.status.as_ref();
    if let Some(endpoint) = status.and_then(|status| status.control_plane_endpoint.clone()) {
        return endpoint;
    }
    let endpoint = cluster.spec.control_plane_endpoint.as_deref();
    let first = cluster.spec.machines.first();
    let host = endpoint.or_else(|| first.map(|machine| machine.ip.as_str()));
    let host = host.unwrap_or_default();
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]:{API_PORT}"),
        Ok(IpAddr::V4(address)) => format!("{address}:{API_PORT}"),
        Err(_) if has_port(host) => host.to_owned(),
        Err(_) => format!("{host}:{API_PORT}"),
    }
}

fn has_port(host: &str) -> bool {
    let port = host.rsplit_once(':').map(|(_, port)| port);
    port.is_some_and(|port| port.parse::<u16>().is_ok())
}

/// The address of the API server of a machine of the control plane.
pub(super) fn api_server(machine: &Machine) -> String {
    let address = &machine.spec.access.ip;
    match address.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("https://[{address}]:{API_PORT}"),
        _ => format!("https://{address}:{API_PORT}"),
    }
}

/// The host of the endpoint.
pub(super) fn endpoint_host(cluster: &Cluster) -> String {
    let endpoint = endpoint(cluster);
    let host = endpoint
        .rsplit_once(':')
        .map_or(&*endpoint, |(host, _)| host);
    host.trim_matches(['[', ']']).to_owned()
}

/// A range of addresses: the first one as a number, the length of the prefix, and that of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    first: u128,
    prefix: u32,
    width: u32,
}

impl Range {
    /// Parses `10.244.0.0/16`, or a single address.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
        let (first, width) = match address.parse().ok()? {
            IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        let prefix = match prefix {
            "" => width,
            text => text.parse().ok().filter(|prefix| *prefix <= width)?,
        };
        Some(Self {
            first,
            prefix,
            width,
        })
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self.prefix <= other.prefix && self.overlaps(other)
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        let shift = self.width - self.prefix.min(other.prefix).min(self.width);
        self.width == other.width && self.first.checked_shr(shift) == other.first.checked_shr(shift)
    }
}

#[cfg(test)]
mod tests {
    use outrigger_api::cluster::ClusterSpec;
    use outrigger_api::machine::MachineAccess;

    use super::*;

    #[test]
    fn the_endpoint_is_the_first_machine_unless_the_spec_has_one() {
        let cluster = |endpoint: Option<&str>| {
            let machine = MachineAccess {
                ip: "10.0.0.9".to_owned(),
                ..MachineAccess::default()
            };
            let spec = ClusterSpec {
                machines: vec![machine],
                control_plane_endpoint: endpoint.map(str::to_owned),
                ..ClusterSpec::default()
            };
            Cluster::new("c", spec)
        };
        let check = |given: Option<&str>, expected: &str, host: &str| {
            let cluster = cluster(given);
            assert_eq!(endpoint(&cluster), expected);
            assert_eq!(endpoint_host(&cluster), host);
        };
        check(None, "10.0.0.9:6443", "10.0.0.9");
        check(
            Some("api.example.com"),
            "api.example.com:6443",
            "api.example.com",
        );
        check(
            Some("api.example.com:443"),
            "api.example.com:443",
            "api.example.com",
        );
        check(Some("fd00::1"), "[fd00::1]:6443", "fd00::1");
    }

    #[test]
    fn ranges_overlap_if_one_contains_the_other() {
        let range = |text| Range::parse(text).unwrap();
        let pods = range("10.244.0.0/16");
        assert!(pods.overlaps(range("10.244.3.9")));
        assert!(pods.overlaps(range("10.0.0.0/8")));
        assert!(!pods.overlaps(range("10.245.0.0/16")));
        assert!(!pods.overlaps(range("fd00::/8")));
        assert!(range("0.0.0.0/0").overlaps(pods));
        assert_eq!(Range::parse("10.0.0.0/33"), None);
        assert_eq!(Range::parse("pods"), None);
    }
}
