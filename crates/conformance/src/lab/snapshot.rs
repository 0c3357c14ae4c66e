//! The state of a cluster without what differs each time: nodes, pods of the control plane, members of etcd, and files on machines.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::machines::{Machines, stdout};

const LIMIT: Duration = Duration::from_mins(5);
const POLL: Duration = Duration::from_secs(1);
/// Between two states that are compared.
const SETTLING: Duration = Duration::from_secs(5);

const NODES: &str = r#"get nodes -o jsonpath='{range .items[*]}node {.metadata.name} ready={.status.conditions[?(@.type=="Ready")].status} {.status.nodeInfo.kubeletVersion} {.spec.podCIDR} {.spec.taints} {.spec.unschedulable}{"\n"}{end}'"#;
const PODS: &str = r#"-n kube-system get pods -o jsonpath='{range .items[*]}pod {.metadata.labels.k8s-app}{.metadata.labels.component} {.spec.nodeName} ready={.status.conditions[?(@.type=="Ready")].status} {.spec.containers[*].image}{"\n"}{end}'"#;
/// Members of etcd that are started, with their names.
const MEMBERS: &str = "-n kube-system exec etcd-cp1 -- etcdctl --endpoints https://127.0.0.1:2379 \
    --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/healthcheck-client.crt \
    --key /etc/kubernetes/pki/etcd/healthcheck-client.key member list";
/// Files of the node, of kubeadm's configuration and of services; without times and random names.
const FILES: &str = "find /etc/kubernetes /etc/cni /etc/containerd /etc/systemd/system /etc/sysctl.d /etc/modules-load.d \
    /opt/cni /usr/local/bin /var/lib/outrigger/node -xdev \\( -path /etc/kubernetes/tmp -o -path /var/lib/outrigger/node/cache \\) \
    -prune -o -type f -print
ip route | grep -v cni0 | sed 's/^/route /'";

/// One line for each thing.
pub(super) type Snapshot = BTreeSet<String>;

/// The state now.
pub(super) async fn take(machines: &Machines) -> anyhow::Result<Snapshot> {
    let mut lines = Snapshot::new();
    lines.extend(machines.kubectl(NODES).await?.lines().map(str::to_owned));
    lines.extend(machines.kubectl(PODS).await?.lines().map(pod));
    let members = machines.kubectl(MEMBERS).await?;
    lines.extend(members.lines().filter_map(member));
    for (machine, connection) in machines.all.iter().zip(&machines.connections) {
        let files = stdout(connection, FILES).await?;
        let name = machine.name();
        lines.extend(files.lines().map(|line| format!("{name}: {line}")));
    }
    Ok(lines)
}

/// The pods of a Deployment may be on any machine.
fn pod(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    if words.get(1) == Some(&"kube-dns") && words.len() > 2 {
        words[2] = "-";
    }
    words.join(" ")
}

/// `ID, started, NAME, …` of a member.
fn member(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split(", ").collect();
    let [_, state, name, _, _, learner, ..] = words[..] else {
        return None;
    };
    Some(format!("member {name} {state} learner={learner}"))
}

/// The state when everything is ready and nothing changes any more.
pub(super) async fn settled(machines: &Machines) -> anyhow::Result<Snapshot> {
    let deadline = Instant::now() + LIMIT;
    let mut before = take(machines).await?;
    loop {
        tokio::time::sleep(SETTLING).await;
        let now = take(machines).await?;
        let is_ready = !now.iter().any(|line| line.contains("ready=False"));
        if is_ready && now == before {
            return Ok(now);
        }
        let changed = &now ^ &before;
        ensure!(Instant::now() < deadline, "it still changes: {changed:#?}");
        before = now;
    }
}

/// Waits until the state is this one.
pub(super) async fn until(machines: &Machines, expected: &Snapshot) -> anyhow::Result<()> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let found = take(machines).await;
        if found.as_ref().is_ok_and(|found| found == expected) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let found = found.context("the state is unknown")?;
            let (missing, added) = (expected - &found, &found - expected);
            anyhow::bail!("missing {missing:#?}, in addition {added:#?}");
        }
        tokio::time::sleep(POLL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_each_time_is_left_out() {
        let dns = "pod kube-dns w1 ready=True registry.k8s.io/coredns:v1";
        assert_eq!(
            pod(dns),
            "pod kube-dns - ready=True registry.k8s.io/coredns:v1"
        );
        let other = "pod etcd cp1 ready=True registry.k8s.io/etcd:3";
        assert_eq!(pod(other), other);
        let started = "8e9e05c52164694d, started, cp1, https://a:2380, https://a:2379, false";
        assert_eq!(
            member(started).as_deref(),
            Some("member cp1 started learner=false")
        );
    }
}
