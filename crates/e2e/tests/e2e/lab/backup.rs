//! Backups of a cluster: objects come back after mistakes, and after all members of etcd have lost their data.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use outrigger_node::Machine;
use outrigger_testing::lab::Options;
use outrigger_testing::peers::lab::CURRENT;
use serde_json::json;

use super::control_planes::{HOST, LoadBalancer};
use super::fixture::{create_with, kubectl, nodes, ready_nodes, start, until_running};
use super::{connect, lab, stdout};
use crate::clusters::fixture::Up;

const FILE: &str = "demo.backup";

#[tokio::test]
#[ignore = "takes minutes: cargo xtask e2e --slow"]
async fn a_cluster_is_restored_also_if_all_members_of_etcd_lost_their_data() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machines = lab.machines(&["cp1", "cp2", "w1"], Options::default())?;
    let _balancer = LoadBalancer::start(&machines[..2])?;
    let mut connections = Vec::new();
    for machine in &machines {
        connections.push(connect(machine).await?);
    }
    let [first, second, _] = &connections[..] else {
        anyhow::bail!("three machines are expected");
    };
    let up = start(&[CURRENT]).await?;
    let endpoint = json!({"controlPlaneEndpoint": format!("{HOST}:6443")});
    create_with(&up, &lab, &machines[..2], &machines[2..], endpoint).await?;
    until_running(&up, 3).await?;
    let all = nodes(&["cp1", "cp2", "w1"], CURRENT.kubernetes);
    let deploy = "create deployment web --image=example.test/app:1 -- /app serve :8080";
    kubectl(first, deploy).await?;
    kubectl(first, "rollout status deployment/web --timeout=240s").await?;
    kubectl(first, "create configmap kept").await?;

    let file = backup(&up)?;
    kubectl(first, "delete configmap kept").await?;
    kubectl(first, "create configmap lost").await?;
    refusals(&up, &file, &machines[1]).await?;

    restore(&up)?;
    check(&up, first).await?;
    assert_eq!(ready_nodes(&up).await?, all);

    // Both members lose their data, and one machine also its keys.
    for machine in [first, second] {
        let stop = "mv /etc/kubernetes/manifests/etcd.yaml /root/ && crictl ps -q --name etcd | xargs -r crictl stop -t 1";
        stdout(machine, stop).await?;
        stdout(machine, "rm -rf /var/lib/etcd/*").await?;
        stdout(machine, "mv /root/etcd.yaml /etc/kubernetes/manifests/").await?;
    }
    stdout(second, "rm -rf /etc/kubernetes/pki").await?;
    restore(&up)?;
    check(&up, second).await?;
    assert_eq!(ready_nodes(&up).await?, all);
    kubectl(first, "rollout status deployment/web --timeout=240s").await?;
    // What was restored goes on, also with the next flow.
    kubectl(first, "create configmap new").await?;
    up.run(&["cluster", "delete", "demo", "--wait", "--timeout", "10m"])?;
    Ok(())
}

/// Takes a backup that only its owner can read.
fn backup(up: &Up) -> anyhow::Result<std::path::PathBuf> {
    let text = up.run(&["cluster", "backup", "demo", "--to", FILE])?;
    ensure!(text.contains(CURRENT.kubernetes), "{text}");
    let file = up.context.directory().join(FILE);
    let mode = fs_err::metadata(&file)?.permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = up.run(&["cluster", "backup", "demo", "--to", FILE]);
    let again = again.err().context("a backup was replaced")?.to_string();
    ensure!(again.contains("--overwrite"), "{again}");
    Ok(file)
}

/// What cannot be restored is refused, and the cluster is as it was.
async fn refusals(
    up: &Up,
    file: &Path,
    machine: &outrigger_testing::lab::LabMachine,
) -> anyhow::Result<()> {
    let restore = |file: &str, flag: &str| -> anyhow::Result<String> {
        let error = up.run(&["cluster", "restore", "demo", file, flag]).err();
        Ok(error.context("it was restored")?.to_string())
    };
    let unconfirmed = up.run(&["cluster", "restore", "demo", FILE]).err();
    let unconfirmed = unconfirmed.context("it was restored")?.to_string();
    ensure!(unconfirmed.contains("--yes restores"), "{unconfirmed}");
    let mut bytes = fs_err::read(file)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs_err::write(file.with_extension("damaged"), &bytes)?;
    let damaged = restore("demo.damaged", "--yes")?;
    ensure!(damaged.contains("its digest is another one"), "{damaged}");
    machine.unplug()?;
    let unreachable = restore(FILE, "--yes")?;
    machine.plug_in()?;
    ensure!(unreachable.contains("nothing was changed"), "{unreachable}");
    let name = format!("demo-{}", machine.address()).replace('.', "-");
    ensure!(unreachable.contains(&name), "{unreachable}");
    let cluster = up.clusters().get("demo").await?;
    let annotations = cluster.metadata.annotations.unwrap_or_default();
    ensure!(
        !annotations.contains_key(outrigger_api::annotation::RESTORE),
        "{annotations:?}"
    );
    Ok(())
}

fn restore(up: &Up) -> anyhow::Result<()> {
    up.run(&["cluster", "restore", "demo", FILE, "--dry-run"])?;
    let restore = ["cluster", "restore", "demo", FILE, "--yes"];
    let text = up.run(&[&restore[..], &["--wait", "--timeout", "10m"]].concat())?;
    assert_eq!(text, "cluster demo is restored\n");
    Ok(())
}

/// The cluster is as it was when the backup was taken, with all members of etcd.
async fn check(up: &Up, machine: &Machine) -> anyhow::Result<()> {
    let maps = kubectl(machine, "get configmaps -o name").await?;
    ensure!(
        maps.contains("configmap/kept") && !maps.contains("configmap/lost"),
        "{maps}"
    );
    let members = "-n kube-system exec etcd-cp1 -- etcdctl --endpoints https://127.0.0.1:2379 \
        --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/healthcheck-client.crt \
        --key /etc/kubernetes/pki/etcd/healthcheck-client.key member list";
    let members = kubectl(machine, members).await?;
    assert_eq!(members.lines().count(), 2, "{members}");
    let left = stdout(machine, "ls /var/lib/outrigger/node").await?;
    ensure!(!left.contains("restore"), "{left}");
    until_running(up, 3).await
}
