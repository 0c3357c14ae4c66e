//! The provider `baremetal`: three bare machines become a cluster that works, with hooks, and are clean again after it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use outrigger_api::step::FlowName;
use outrigger_node::{Command, Machine};
use outrigger_testing::lab::Options;
use outrigger_testing::peers::lab::CURRENT;

use super::fixture::{
    apply, check_hooks, create, kubectl, nodes, ready_nodes, start, until_deleted, until_running,
};
use super::{connect, lab, stdout};

/// What a machine has that a cluster could change.
const INVENTORY: &str = "
find /etc /opt /root /usr/local /usr/libexec /var/lib /var/log /var/lib/kubelet /var/lib/etcd -xdev \\
  \\( -path /var/lib/containerd -o -path /var/lib/systemd -o -path /var/log/journal -o -name hooks \\) -prune -o -print
find /etc -xdev -type f -exec sha256sum {} +
ip -o address | sed 's/ valid_lft.*//'
ip route
iptables-save | grep -v '^#' | grep -v '^:' || :
for key in net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables; do sysctl $key; done
ctr -n k8s.io images ls -q
systemctl is-active containerd
systemctl is-enabled containerd
systemctl list-unit-files --no-legend --no-pager | tr -s ' '
";

#[tokio::test]
#[ignore = "takes minutes: cargo xtask e2e --slow"]
async fn bare_machines_become_a_cluster_and_are_clean_after_it() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machines = lab.machines(&["cp1", "w1", "w2"], Options::default())?;
    let mut connections = Vec::new();
    for machine in &machines {
        connections.push(connect(machine).await?);
    }
    let before = inventories(&connections).await?;
    let up = start(&[CURRENT]).await?;
    create(&up, &lab, &machines[..1], &machines[1..]).await?;
    until_running(&up, 3).await?;
    let ready = nodes(&["cp1", "w1", "w2"], CURRENT.kubernetes);
    assert_eq!(ready_nodes(&up).await?, ready);
    check_workload(&connections[0]).await?;
    up.run(&["cluster", "delete", "demo"])?;
    until_deleted(&up).await?;
    let after = inventories(&connections).await?;
    for ((machine, before), after) in machines.iter().zip(&before).zip(&after) {
        let left: Vec<&String> = after.difference(before).collect();
        let lost: Vec<&String> = before.difference(after).collect();
        ensure!(
            left.is_empty() && lost.is_empty(),
            "{}: left {left:#?}, lost {lost:#?}",
            machine.name()
        );
    }
    check_hooks(&connections, &[FlowName::Create, FlowName::Delete]).await
}

/// A Deployment on both workers serves through a Service with a name, and a Job ends.
async fn check_workload(control_plane: &Machine) -> anyhow::Result<()> {
    let kubectl = async |arguments: &str| kubectl(control_plane, arguments).await;
    let pool = kubectl("get nodes -l example.com/pool=small -o name").await?;
    assert_eq!(pool, "node/w1\nnode/w2");
    apply(control_plane, WORKLOAD).await?;
    kubectl("rollout status deployment/web --timeout=240s").await?;
    // kube-proxy learns of the pods a moment after they are ready.
    let both_answer = async {
        let mut answered = BTreeSet::new();
        while answered.len() < 2 {
            let get = "exec deployment/web -- /app get http://web.default.svc.cluster.local/";
            let answer = kubectl(get).await.unwrap_or_default();
            answered.extend(answer.starts_with("200 web-").then_some(answer));
        }
    };
    let waiting = tokio::time::timeout(Duration::from_mins(2), both_answer).await;
    waiting.context("the Service does not reach both pods")?;
    let nodes = kubectl("get pods -l app=web -o jsonpath={.items[*].spec.nodeName}").await?;
    let nodes: BTreeSet<&str> = nodes.split(' ').collect();
    assert_eq!(nodes, ["w1", "w2"].into());
    kubectl("wait --for=condition=complete job/sum --timeout=240s").await?;
    assert_eq!(kubectl("logs job/sum").await?, "sum 42");
    stdout(control_plane, "rm -rf /tmp/kubectl /tmp/manifest.yaml").await?;
    Ok(())
}

const WORKLOAD: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      containers:
      - name: app
        image: example.test/app:1
        command: [/app, serve, ":8080"]
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: app, image: "example.test/app:1", command: [/bin/sh, -c, "echo sum $((40+2))"]}
"#;

async fn inventories(connections: &[Machine]) -> anyhow::Result<Vec<BTreeSet<String>>> {
    let mut inventories = Vec::new();
    for machine in connections {
        let command = Command::shell(INVENTORY).capture(8 << 20);
        let text = machine.run(&command).await?.stdout.text();
        inventories.push(text.lines().map(str::to_owned).collect());
    }
    Ok(inventories)
}
