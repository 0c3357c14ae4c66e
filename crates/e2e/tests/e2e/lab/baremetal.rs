//! The provider `baremetal`: three bare machines become a cluster that works, with hooks, and are clean again after it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use kube::Api;
use kube::runtime::wait::await_condition;
use outrigger_api::hook::Hook;
use outrigger_api::plugin::Plugin;
use outrigger_api::step::FlowName;
use outrigger_node::{Command, Machine};
use outrigger_testing::lab::cluster::spec;
use outrigger_testing::lab::{Lab, LabMachine, Options};
use outrigger_testing::peers::lab::CURRENT;
use serde_json::{Value, json};

use super::fixture::{
    HOOK, apply, check_hooks, create_object, kubectl, nodes, ready_nodes, start, until_deleted,
    until_running,
};
use super::{connect, lab, stdout};
use crate::clusters::fixture::{Up, write_script};
use crate::clusters::tkestack::SECOND;

/// What a machine has that a cluster could change.
const INVENTORY: &str = "
find /etc /opt /root /usr/local /usr/libexec /var/lib /var/log /var/lib/kubelet /var/lib/etcd -xdev \\
  \\( -path /var/lib/containerd -o -path /var/lib/systemd -o -path /var/log/journal -o -name hooks \\) -prune -o -print
find /etc -xdev -type f -exec sha256sum {} +
ip -o address | sed 's/ valid_lft.*//; s/ tentative//'
ip route
iptables-save | grep -v '^#' | grep -v '^:' || :
for key in net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables; do sysctl $key; done
ctr -n k8s.io images ls -q
systemctl is-active containerd
systemctl is-enabled containerd
systemctl list-unit-files --no-legend --no-pager | tr -s ' '
";

#[tokio::test]
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
    let cluster = second_manifest(&up, &lab, &machines[..1])?;
    create_object(&up, &lab, cluster, &machines[1..]).await?;
    until_running(&up, 3).await?;
    let ready = nodes(&["cp1", "w1", "w2"], CURRENT.kubernetes);
    assert_eq!(ready_nodes(&up).await?, ready);
    check_workload(&connections[0]).await?;
    check_plugin(&up, &connections[0]).await?;
    up.run(&["cluster", "delete", "demo"])?;
    until_deleted(&up).await?;
    let plugins: Api<Plugin> = Api::default_namespaced(up.client.clone());
    let is_gone = await_condition(plugins, "echo", |plugin: Option<&Plugin>| plugin.is_none());
    let is_gone = tokio::time::timeout(Duration::from_mins(1), is_gone).await;
    is_gone.context("the plugin stays without its cluster")??;
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

/// The second example of TKEStack's documentation of hooks, with the machines of the lab, their version, and all ten hooks.
fn second_manifest(up: &Up, lab: &Lab, control_plane: &[LabMachine]) -> anyhow::Result<Value> {
    let mut cluster: Value = serde_json::from_str(SECOND)?;
    cluster["apiVersion"] = json!("outrigger.dev/v1beta1");
    cluster["metadata"]["name"] = json!("demo");
    let fields = cluster["spec"].as_object_mut().context("a spec")?;
    fields.remove("tenantID").context("a tenant")?;
    let mut spec = spec(lab, CURRENT, control_plane)?;
    fields.append(spec.as_object_mut().context("a spec")?);
    let declared = fields["features"]["hooks"].as_object_mut();
    let declared = declared.context("the example has hooks")?;
    for hook in Hook::of_clusters() {
        let path = declared
            .entry(hook.name)
            .or_insert_with(|| json!(format!("/tmp/hooks/pre/{}", hook.name)));
        let path = path.as_str().and_then(|path| path.strip_prefix("/tmp/"));
        write_script(up.context.directory(), path.context("a path")?, HOOK)?;
    }
    Ok(cluster)
}

/// A plugin of the API server of the controller runs in the cluster, by its name.
async fn check_plugin(up: &Up, control_plane: &Machine) -> anyhow::Result<()> {
    let chart = up.context.directory().join("echo");
    fs_err::create_dir_all(chart.join("templates"))?;
    let metadata = "apiVersion: v2\nname: echo\nversion: 1.0.0\n";
    fs_err::write(chart.join("Chart.yaml"), metadata)?;
    fs_err::write(chart.join("templates/app.yaml"), PLUGIN)?;
    let install = ["plugin", "install", "echo", "./echo", "--cluster", "demo"];
    up.run(&[&install[..], &["--wait", "--timeout", "5m"]].concat())?;
    let pods = "get pods -l app=echo -o jsonpath={.items[*].status.phase}";
    assert_eq!(kubectl(control_plane, pods).await?, "Running");
    Ok(())
}

const PLUGIN: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec:
      containers:
      - name: app
        image: example.test/app:1
        command: [/app, serve, ":8080"]
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
"#;

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
