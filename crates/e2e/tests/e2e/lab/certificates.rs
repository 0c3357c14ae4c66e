//! Certificates of two control planes: they are listed, expire, and are renewed although no API server can be used any more.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use outrigger_node::Machine;
use outrigger_testing::lab::Options;
use outrigger_testing::peers::lab::CURRENT;
use serde_json::{Value, json};

use super::control_planes::{HOST, LoadBalancer};
use super::fixture::{
    LIMIT, client, create_with, kubectl, nodes, ready_nodes, start, until_running,
};
use super::{connect, lab, stdout};
use crate::clusters::fixture::{Up, pause};

/// Short, but longer than it takes to renew those of both machines.
const SHORT: &str = "apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: vVERSION
certificateValidityPeriod: 1m0s
";

#[tokio::test]
#[ignore = "takes minutes: cargo xtask e2e --slow"]
async fn certificates_are_renewed_also_if_all_of_them_have_expired() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machines = lab.machines(&["cp1", "cp2"], Options::default())?;
    let _balancer = LoadBalancer::start(&machines)?;
    let mut connections = Vec::new();
    for machine in &machines {
        connections.push(connect(machine).await?);
    }
    let up = start(&[CURRENT]).await?;
    let endpoint = json!({"controlPlaneEndpoint": format!("{HOST}:6443")});
    create_with(&up, &lab, &machines, &[], endpoint).await?;
    until_running(&up, 2).await?;
    let both = nodes(&["cp1", "cp2"], CURRENT.kubernetes);

    let listed = list(&up, &[])?;
    check_list(&listed)?;
    ensure!(
        listed.iter().all(|it| it["validity"] == "Valid"),
        "{listed:#?}"
    );
    renew(&up).await?;
    let renewed = list(&up, &[])?;
    for name in ["apiserver", "etcd/peer", "admin.conf"] {
        ensure!(
            expiry(&renewed, name)? > expiry(&listed, name)?,
            "{name} was not renewed"
        );
    }
    // The authorities stay.
    assert_eq!(expiry(&renewed, "ca")?, expiry(&listed, "ca")?);
    assert_eq!(ready_nodes(&up).await?, both);

    for machine in &connections {
        expire(machine).await?;
    }
    until_expired(&up).await?;
    let broken = kubectl(&connections[0], "get nodes --request-timeout 5s").await;
    let broken = broken.err().context("the API server can still be used")?;
    let broken = broken.to_string();
    let reasons = ["certificate", "credentials", "Unauthorized"];
    ensure!(
        reasons.iter().any(|reason| broken.contains(reason)),
        "{broken}"
    );
    renew(&up).await?;
    let renewed = list(&up, &["--fail-on-expired"])?;
    ensure!(
        renewed.iter().all(|it| it["validity"] == "Valid"),
        "{renewed:#?}"
    );
    assert_eq!(ready_nodes(&up).await?, both);
    for machine in &connections {
        kubectl(machine, "get --raw /readyz").await?;
    }
    let stored = client(&up).await?.apiserver_version().await?;
    assert_eq!(stored.git_version, format!("v{}", CURRENT.kubernetes));
    Ok(())
}

/// Renews all certificates.
async fn renew(up: &Up) -> anyhow::Result<()> {
    let renew = ["cluster", "certificates", "demo", "--renew"];
    let text = up.run(&[&renew[..], &["--wait", "--timeout", "10m"]].concat())?;
    assert_eq!(text, "cluster demo has new certificates\n");
    let status = up.clusters().get("demo").await?.status;
    let status = status.context("the cluster has a status")?;
    let tasks = status.flow.iter().flat_map(|flow| &flow.tasks);
    let starts: Vec<u32> = tasks.map(|task| task.starts).collect();
    ensure!(starts.iter().all(|it| *it == 1), "{:#?}", status.flow);
    Ok(())
}

fn list(up: &Up, flags: &[&str]) -> anyhow::Result<Vec<Value>> {
    let list = ["cluster", "certificates", "demo", "-o", "json"];
    Ok(serde_json::from_str(
        &up.run(&[&list[..], flags].concat())?,
    )?)
}

/// Those of kubeadm and of kubelet are there, on both machines.
fn check_list(listed: &[Value]) -> anyhow::Result<()> {
    let expected = [
        "apiserver",
        "apiserver-etcd-client",
        "apiserver-kubelet-client",
        "ca",
        "etcd/ca",
        "etcd/peer",
        "etcd/server",
        "front-proxy-client",
        "admin.conf",
        "controller-manager.conf",
        "scheduler.conf",
        "kubelet",
        "kubelet-client",
    ];
    for name in expected {
        // A file may have several.
        let found = listed.iter().filter(|it| it["certificate"] == name);
        let machines: BTreeSet<String> = found.map(|it| it["machine"].to_string()).collect();
        ensure!(machines.len() == 2, "{name}: {listed:#?}");
    }
    Ok(())
}

fn expiry(listed: &[Value], name: &str) -> anyhow::Result<String> {
    let mut listed = listed.iter().filter(|it| it["certificate"] == name);
    let found = listed.next().with_context(|| format!("no {name}"))?;
    Ok(found["expires"].as_str().unwrap_or_default().to_owned())
}

/// Gives a machine certificates that expire soon, and lets the control plane use them.
async fn expire(machine: &Machine) -> anyhow::Result<()> {
    let config = SHORT.replace("VERSION", CURRENT.kubernetes);
    let write = format!("cat >/root/short.yaml <<'END'\n{config}END");
    stdout(machine, &write).await?;
    stdout(machine, "kubeadm certs renew all --config /root/short.yaml").await?;
    Ok(())
}

async fn until_expired(up: &Up) -> anyhow::Result<()> {
    let waiting = async {
        while list(up, &["--fail-on-expired"]).is_ok() {
            pause().await;
        }
        let listed = list(up, &[])?;
        let expired = listed.iter().filter(|it| it["validity"] == "Expired");
        anyhow::Ok(expired.count())
    };
    let expired = tokio::time::timeout(LIMIT.min(Duration::from_mins(5)), waiting).await;
    let expired = expired.context("no certificate expires")??;
    ensure!(expired > 0, "none has expired");
    Ok(())
}
