//! What a machine tells about itself before anything is installed.

use std::collections::BTreeSet;

/// The last line.
const END: &str = "facts end";

/// Facts for preflight checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HostFacts {
    pub(super) product_uuid: String,
    /// Its clock, in seconds since 1970.
    pub(super) time: Option<i64>,
    pub(super) swap_bytes: u64,
    /// Where the container runtime keeps its images.
    pub(super) free_bytes: u64,
    /// Ports that processes listen on.
    pub(super) ports: BTreeSet<u16>,
    /// Addresses and destinations of routes, such as `10.0.0.0/24`.
    pub(super) networks: Vec<String>,
    pub(super) programs: BTreeSet<String>,
    /// Folders with CNI plugins.
    pub(super) cni: Vec<String>,
    pub(super) has_systemd: bool,
    /// Whether it has the files of a node.
    pub(super) has_kubernetes: bool,
    /// The uid of the cluster for which something was installed.
    pub(super) cluster: Option<String>,
}

/// Parses what `host_facts.sh` prints. `None` if it was cut off.
pub(super) fn parse(text: &str) -> Option<HostFacts> {
    if text.trim_end().lines().last() != Some(END) {
        return None;
    }
    let mut facts = HostFacts::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        set(&mut facts, key, value.trim());
    }
    Some(facts)
}

fn set(facts: &mut HostFacts, key: &str, value: &str) {
    let kibibytes = || {
        value
            .parse::<u64>()
            .unwrap_or_default()
            .saturating_mul(1024)
    };
    match key {
        "product-uuid" => facts.product_uuid = value.to_lowercase(),
        "time" => facts.time = value.parse().ok(),
        "swap-kib" => facts.swap_bytes = kibibytes(),
        "free-kib" => facts.free_bytes = kibibytes(),
        "port" => facts.ports.extend(u16::from_str_radix(value, 16)),
        "address" | "route" => facts.networks.push(value.to_owned()),
        "program" => drop(facts.programs.insert(value.to_owned())),
        "cni" => facts.cni.push(value.to_owned()),
        "systemd" => facts.has_systemd = true,
        "kubernetes" => facts.has_kubernetes = true,
        "cluster" => facts.cluster = Some(value.to_owned()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_a_machine_prints() {
        let text = "product-uuid 4C4C-A\ntime 1700000000\nswap-kib 8\nfree-kib 1024\nport 192B\nport 0016\naddress 10.89.0.10/24\n\
                    route 10.89.0.0/24\nprogram ip\ncni /usr/lib/cni\nsystemd yes\ncluster abc\nfacts end\n";
        let facts = parse(text).unwrap();
        assert_eq!(facts.product_uuid, "4c4c-a");
        assert_eq!(facts.time, Some(1_700_000_000));
        assert_eq!((facts.swap_bytes, facts.free_bytes), (8192, 1 << 20));
        assert_eq!(facts.ports, [22, 6443].into());
        assert_eq!(facts.networks, ["10.89.0.10/24", "10.89.0.0/24"]);
        assert_eq!(facts.cluster.as_deref(), Some("abc"));
        assert!(facts.has_systemd && !facts.has_kubernetes);
        assert_eq!(parse("port 192B\n"), None);
    }
}
