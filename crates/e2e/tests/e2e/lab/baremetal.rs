//! The provider `baremetal`: three bare machines become a cluster that works, with hooks, and are clean again after it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use outrigger_api::RedactedBytes;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::hook::{Hook, HookScope};
use outrigger_api::machine::{Machine as MachineObject, MachinePhase};
use outrigger_api::step::FlowName;
use outrigger_node::{Command, Machine};
use outrigger_testing::lab::{Lab, LabMachine, Options};
use outrigger_testing::peers::lab::CURRENT;
use serde_json::{Value, json};

use super::{connect, lab, stdout};
use crate::clusters::fixture::{Up, pause, write_script};

const LIMIT: Duration = Duration::from_mins(15);

/// Notes where and with how many arguments it ran.
const HOOK: &str = "#!/bin/sh
echo \"$OUTRIGGER_HOOK $#\" >>/var/log/hooks
";

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
    let up = start().await?;
    create(&up, &lab, &machines).await?;
    until_running(&up).await?;
    check_nodes(&up).await?;
    check_workload(&connections[0]).await?;
    up.run(&["cluster", "delete", "demo"])?;
    let deleted = async {
        while up.clusters().get_opt("demo").await?.is_some() {
            pause().await;
        }
        anyhow::Ok(())
    };
    let deleted = tokio::time::timeout(LIMIT, deleted).await;
    deleted.context("the cluster is not deleted")??;
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
    check_hooks(&connections).await
}

/// `outrigger up` with a provider folder and a hook.
async fn start() -> anyhow::Result<Up> {
    let context = Up::context()?;
    let folder = context.directory().to_owned();
    write_script(&folder, "hook", HOOK)?;
    provider_folder(&folder.join("provider"))?;
    let built = context
        .command(["provider", "build", "provider"])
        .output()?;
    let errors = String::from_utf8_lossy(&built.stderr);
    ensure!(built.status.success(), "{errors}");
    let files = folder.display().to_string();
    let provider = folder.join("provider").display().to_string();
    Up::start(context, &["--files", &files, "--provider", &provider]).await
}

/// The programs and images of the lab.
fn provider_folder(root: &Path) -> anyhow::Result<()> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let release = root.join(CURRENT.kubernetes).join(architecture);
    for folder in ["bin", "images"] {
        fs_err::create_dir_all(release.join(folder))?;
    }
    let add = |source: &Path, destination: std::path::PathBuf| -> anyhow::Result<()> {
        // Copies take seconds, and fail to be links only on another file system.
        if fs_err::hard_link(source, &destination).is_err() {
            fs_err::copy(source, &destination)?;
        }
        Ok(())
    };
    for name in ["kubeadm", "kubelet", "kubectl", "crictl"] {
        let program = CURRENT.peer(name)?.installed()?;
        add(&program, release.join("bin").join(name))?;
    }
    for (name, _) in CURRENT.image_references()? {
        let archive = format!("{name}.tar");
        let source = CURRENT.images()?.join(&archive);
        add(&source, release.join("images").join(archive))?;
    }
    Ok(())
}

async fn create(up: &Up, lab: &Lab, machines: &[LabMachine]) -> anyhow::Result<()> {
    let key = RedactedBytes::new(fs_err::read(lab.private_key())?);
    let key = serde_json::to_value(&key)?;
    let access = |machine: &LabMachine| json!({"ip": machine.address(), "privateKey": key});
    let hooks = Hook::of_clusters().map(|hook| (hook.name.to_owned(), json!("/opt/hooks/hook")));
    let hooks: serde_json::Map<String, Value> = hooks.collect();
    let [first, workers @ ..] = machines else {
        anyhow::bail!("there are no machines");
    };
    up.create(json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster",
        "metadata": {
            "name": "demo", "labels": {"location": "xa"},
            "annotations": {"node.alpha.kubernetes.io/test": "hello"},
        },
        "spec": {
            "type": "Baremetal", "provider": "baremetal", "version": CURRENT.kubernetes,
            "clusterCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/16",
            "machines": [access(first)],
            // What the kernel of the host does not allow.
            "ignorePreflightErrors": ["SystemVerification"],
            "kubeletConfig": {"failCgroupV1": false},
            "kubeProxy": {"config": {"conntrack": {"maxPerCore": 0, "min": 0}}},
            "features": {
                "files": [{"src": "hook", "dst": "/opt/hooks/hook"}],
                "hooks": hooks,
            },
        },
    }))
    .await?;
    for worker in workers {
        let mut spec = access(worker);
        spec["cluster"] = json!("demo");
        spec["role"] = json!("Worker");
        spec["labels"] = json!({"example.com/pool": "small"});
        let object = MachineObject::new(worker.name(), serde_json::from_value(spec)?);
        up.machines()
            .create(&PostParams::default(), &object)
            .await?;
    }
    Ok(())
}

/// Waits until the cluster and all its machines run.
async fn until_running(up: &Up) -> anyhow::Result<()> {
    let waiting = async {
        loop {
            let cluster = up.clusters().get("demo").await?;
            let machines = up.machines().list(&ListParams::default()).await?.items;
            let phase = |machine: &MachineObject| machine.status.as_ref().map(|it| it.phase);
            let status = cluster.status.clone().unwrap_or_default();
            if status.phase == ClusterPhase::Running
                && machines.len() == 3
                && machines
                    .iter()
                    .all(|it| phase(it) == Some(MachinePhase::Running))
            {
                return Ok(());
            }
            ensure!(status.phase != ClusterPhase::Failed, "{}", status.message);
            let failed = machines
                .iter()
                .find(|it| phase(it) == Some(MachinePhase::Failed));
            let message = failed.and_then(|machine| Some(machine.status.as_ref()?.message.clone()));
            ensure!(message.is_none(), "{message:?}");
            pause().await;
        }
    };
    let Ok(result) = tokio::time::timeout(LIMIT, waiting).await else {
        anyhow::bail!("{:#?}", up.clusters().get("demo").await?.status);
    };
    result
}

/// The kubeconfig in the Secret is that of an administrator, and all nodes are ready.
async fn check_nodes(up: &Up) -> anyhow::Result<()> {
    let cluster: Cluster = up.clusters().get("demo").await?;
    let reference = cluster
        .status
        .and_then(|status| status.kubeconfig_secret_ref);
    let reference = reference.context("the status names no Secret")?;
    let secrets: Api<Secret> = Api::namespaced(up.client.clone(), &reference.namespace);
    let secret = secrets.get(&reference.name).await?;
    let data = secret.data.unwrap_or_default();
    let kubeconfig = data
        .get("kubeconfig")
        .context("the Secret has no kubeconfig")?;
    let path = up.context.directory().join("demo.kubeconfig");
    fs_err::write(&path, &kubeconfig.0)?;
    let client: Client = outrigger_testing::kubernetes::client(&path).await?;
    let nodes = Api::<Node>::all(client)
        .list(&ListParams::default())
        .await?;
    let ready: BTreeMap<String, bool> = nodes.items.into_iter().map(is_ready).collect();
    let expected = ["cp1", "w1", "w2"].map(|name| (name.to_owned(), true));
    ensure!(ready == BTreeMap::from(expected), "{ready:?}");
    Ok(())
}

fn is_ready(node: Node) -> (String, bool) {
    let conditions = node.status.and_then(|status| status.conditions);
    let conditions = conditions.unwrap_or_default();
    let is_ready = conditions
        .iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    (node.metadata.name.unwrap_or_default(), is_ready)
}

/// A Deployment on both workers serves through a Service with a name, and a Job ends.
async fn check_workload(control_plane: &Machine) -> anyhow::Result<()> {
    let kubectl = async |arguments: &str| {
        let flags = "--kubeconfig /etc/kubernetes/admin.conf --cache-dir /tmp/kubectl";
        stdout(control_plane, &format!("kubectl {flags} {arguments}")).await
    };
    let pool = kubectl("get nodes -l example.com/pool=small -o name").await?;
    assert_eq!(pool, "node/w1\nnode/w2");
    stdout(
        control_plane,
        &format!("cat >/tmp/workload.yaml <<'END'\n{WORKLOAD}END"),
    )
    .await?;
    kubectl("apply -f /tmp/workload.yaml").await?;
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
    stdout(control_plane, "rm -rf /tmp/kubectl /tmp/workload.yaml").await?;
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

/// Hooks of nodes ran on each machine, those of the cluster on the first one with its label and annotation as arguments.
async fn check_hooks(connections: &[Machine]) -> anyhow::Result<()> {
    let flows = [FlowName::Create, FlowName::Delete];
    for (index, machine) in connections.iter().enumerate() {
        let ran = stdout(machine, "cat /var/log/hooks").await?;
        let mut ran: Vec<&str> = ran.lines().collect();
        ran.sort_unstable();
        let hooks =
            Hook::of_clusters().filter(|hook| flows.iter().any(|it| hook.flows.contains(it)));
        let expected = hooks.filter_map(|hook| match hook.scope {
            HookScope::Cluster if index == 0 => Some(format!("{} 2", hook.name)),
            HookScope::Node => Some(format!("{} 0", hook.name)),
            _ => None,
        });
        let mut expected: Vec<String> = expected.collect();
        expected.sort_unstable();
        assert_eq!(ran, expected, "machine {index}");
    }
    Ok(())
}

async fn inventories(connections: &[Machine]) -> anyhow::Result<Vec<BTreeSet<String>>> {
    let mut inventories = Vec::new();
    for machine in connections {
        let command = Command::shell(INVENTORY).capture(8 << 20);
        let text = machine.run(&command).await?.stdout.text();
        inventories.push(text.lines().map(str::to_owned).collect());
    }
    Ok(inventories)
}
