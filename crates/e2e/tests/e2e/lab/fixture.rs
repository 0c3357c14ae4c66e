//! Clusters of the provider `baremetal` on machines of the lab, made by `outrigger up`.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::hook::{Hook, HookScope};
use outrigger_api::machine::{Machine as MachineObject, MachinePhase};
use outrigger_api::step::{FlowName, steps};
use outrigger_node::Machine;
use outrigger_testing::lab::cluster::{access, add_release, spec};
use outrigger_testing::lab::{Lab, LabMachine};
use outrigger_testing::peers::lab::{CURRENT, Release};
use serde_json::{Value, json};

use super::stdout;
use crate::clusters::fixture::{Up, pause, write_script};

pub(super) const LIMIT: Duration = Duration::from_mins(15);

/// Notes that it ran, with its arguments. Fails while a file is there.
pub(super) const HOOK: &str = "#!/bin/sh
[ ! -e \"/run/broken-$OUTRIGGER_HOOK\" ] || { echo broken; exit 1; }
echo \"$OUTRIGGER_HOOK${*:+ $*}\" >>/var/log/hooks
";

/// `outrigger up` with a provider folder of these releases, and a hook.
pub(super) async fn start(releases: &[Release]) -> anyhow::Result<Up> {
    let context = Up::context()?;
    let folder = context.directory().to_owned();
    write_script(&folder, "hook", HOOK)?;
    for release in releases {
        add_release(&folder.join("provider"), *release)?;
    }
    let built = context
        .command(["provider", "build", "provider"])
        .output()?;
    let errors = String::from_utf8_lossy(&built.stderr);
    ensure!(built.status.success(), "{errors}");
    let files = folder.display().to_string();
    let provider = folder.join("provider").display().to_string();
    Up::start(context, &["--files", &files, "--provider", &provider]).await
}

/// Creates the cluster `demo` of the current release, with all hooks.
pub(super) async fn create(
    up: &Up,
    lab: &Lab,
    control_plane: &[LabMachine],
    workers: &[LabMachine],
) -> anyhow::Result<()> {
    create_with(up, lab, control_plane, workers, json!({})).await
}

/// The same with further fields of the spec.
pub(super) async fn create_with(
    up: &Up,
    lab: &Lab,
    control_plane: &[LabMachine],
    workers: &[LabMachine],
    fields: Value,
) -> anyhow::Result<()> {
    let hooks = Hook::of_clusters().map(|hook| (hook.name.to_owned(), json!("/opt/hooks/hook")));
    let hooks: serde_json::Map<String, Value> = hooks.collect();
    let mut cluster = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster",
        "metadata": {
            "name": "demo", "labels": {"location": "xa"},
            "annotations": {"node.alpha.kubernetes.io/test": "hello"},
        },
        "spec": spec(lab, CURRENT, control_plane)?,
    });
    cluster["spec"]["features"] = json!({
        "files": [{"src": "hook", "dst": "/opt/hooks/hook"}],
        "hooks": hooks,
        "hookAttempts": 1,
    });
    for (name, value) in fields.as_object().into_iter().flatten() {
        cluster["spec"][name] = value.clone();
    }
    create_object(up, lab, cluster, workers).await
}

/// Creates a cluster with its workers.
pub(super) async fn create_object(
    up: &Up,
    lab: &Lab,
    cluster: Value,
    workers: &[LabMachine],
) -> anyhow::Result<()> {
    up.create(cluster).await?;
    for worker in workers {
        add_worker(up, lab, worker).await?;
    }
    Ok(())
}

pub(super) async fn add_worker(up: &Up, lab: &Lab, worker: &LabMachine) -> anyhow::Result<()> {
    let mut spec = access(lab, worker)?;
    spec["cluster"] = json!("demo");
    spec["role"] = json!("Worker");
    spec["labels"] = json!({"example.com/pool": "small"});
    let object = MachineObject::new(worker.name(), serde_json::from_value(spec)?);
    let parameters = PostParams::default();
    up.machines().create(&parameters, &object).await?;
    Ok(())
}

/// Waits until the cluster and this many machines run.
pub(super) async fn until_running(up: &Up, count: usize) -> anyhow::Result<()> {
    let waiting = async {
        loop {
            let cluster = up.clusters().get("demo").await?;
            let machines = up.machines().list(&ListParams::default()).await?.items;
            let phase = |machine: &MachineObject| machine.status.as_ref().map(|it| it.phase);
            let status = cluster.status.clone().unwrap_or_default();
            if status.phase == ClusterPhase::Running
                && status.observed_generation == cluster.metadata.generation
                && machines.len() == count
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

/// Waits until the cluster is deleted.
pub(super) async fn until_deleted(up: &Up) -> anyhow::Result<()> {
    let deleted = async {
        while up.clusters().get_opt("demo").await?.is_some() {
            pause().await;
        }
        anyhow::Ok(())
    };
    let deleted = tokio::time::timeout(LIMIT, deleted).await;
    deleted.context("the cluster is not deleted")?
}

/// A client with the kubeconfig in the Secret of the cluster.
pub(super) async fn client(up: &Up) -> anyhow::Result<Client> {
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
    outrigger_testing::kubernetes::client(&path).await
}

/// The versions of the kubelets of all nodes that are ready.
pub(super) async fn ready_nodes(up: &Up) -> anyhow::Result<BTreeMap<String, String>> {
    let nodes = Api::<Node>::all(client(up).await?);
    let nodes = nodes.list(&ListParams::default()).await?;
    Ok(nodes.items.into_iter().filter_map(ready_version).collect())
}

fn ready_version(node: Node) -> Option<(String, String)> {
    let status = node.status?;
    let mut conditions = status.conditions.unwrap_or_default().into_iter();
    conditions.find(|condition| condition.type_ == "Ready" && condition.status == "True")?;
    let version = status.node_info?.kubelet_version;
    Some((node.metadata.name?, version))
}

/// What [`ready_nodes`] returns if all of them have one version.
pub(super) fn nodes(names: &[&str], version: &str) -> BTreeMap<String, String> {
    let nodes = names.iter();
    let nodes = nodes.map(|name| ((*name).to_owned(), format!("v{version}")));
    nodes.collect()
}

/// Runs kubectl on a control plane.
pub(super) async fn kubectl(control_plane: &Machine, arguments: &str) -> anyhow::Result<String> {
    let flags = "--kubeconfig /etc/kubernetes/admin.conf --cache-dir /tmp/kubectl";
    stdout(control_plane, &format!("kubectl {flags} {arguments}")).await
}

/// Applies a manifest.
pub(super) async fn apply(control_plane: &Machine, manifest: &str) -> anyhow::Result<()> {
    let write = format!("cat >/tmp/manifest.yaml <<'END'\n{manifest}END");
    stdout(control_plane, &write).await?;
    kubectl(control_plane, "apply -f /tmp/manifest.yaml").await?;
    Ok(())
}

/// The label and the annotation of the cluster, as hooks get them.
const ARGUMENTS: &str = "location=xa node.alpha.kubernetes.io/test=hello";

/// Hooks of nodes ran on each machine, those of the cluster on the first one with its label and annotation as arguments; each
/// machine ran those of a flow in their order.
pub(super) async fn check_hooks(connections: &[Machine], flows: &[FlowName]) -> anyhow::Result<()> {
    for (index, machine) in connections.iter().enumerate() {
        let ran = stdout(machine, "cat /var/log/hooks").await?;
        let steps = flows.iter().flat_map(|flow| steps(*flow));
        let hooks = steps.filter_map(|step| Hook::of_step(step.id));
        let expected = hooks.filter_map(|hook| match hook.scope {
            HookScope::Cluster if index == 0 => Some(format!("{} {ARGUMENTS}", hook.name)),
            HookScope::Node => Some(hook.name.to_owned()),
            _ => None,
        });
        let expected: Vec<String> = expected.collect();
        assert_eq!(ran.lines().collect::<Vec<_>>(), expected, "machine {index}");
    }
    Ok(())
}
