//! Three control planes behind a load balancer: one is lost and replaced, the quorum of etcd is guarded, and one is removed.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use outrigger_testing::lab::cluster::access;
use outrigger_testing::lab::{LabMachine, Options};
use outrigger_testing::peers::lab::CURRENT;
use serde_json::json;

use super::fixture::{
    LIMIT, client, create_with, kubectl, nodes, ready_nodes, start, until_running,
};
use super::{connect, lab, stdout};
use crate::clusters::fixture::{Up, pause};

/// The address of the host in the network of the lab.
pub(super) const HOST: Ipv4Addr = Ipv4Addr::new(10, 89, 0, 1);

#[tokio::test]
#[ignore = "takes minutes: cargo xtask e2e --slow"]
async fn a_lost_control_plane_is_replaced_and_another_one_removed() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machines = lab.machines(&["cp1", "cp2", "cp3", "w1"], Options::default())?;
    let balancer = LoadBalancer::start(&machines[..3])?;
    let up = start(&[CURRENT]).await?;
    let endpoint = json!({"controlPlaneEndpoint": format!("{HOST}:6443")});
    create_with(&up, &lab, &machines[..3], &machines[3..], endpoint).await?;
    until_running(&up, 4).await?;
    let all = nodes(&["cp1", "cp2", "cp3", "w1"], CURRENT.kubernetes);
    assert_eq!(ready_nodes(&up).await?, all);

    machines[0].power_off()?;
    write(&up).await?;
    let other = lab.machine("cp4")?;
    balancer.add(&other);
    let lost = format!("demo-{}", machines[0].address()).replace('.', "-");
    let address = format!("root@{}", other.address());
    let replace = ["machine", "replace", &lost, "--address", &address];
    up.run(&[&replace[..], &["--wait", "--timeout", "15m"]].concat())?;
    until_running(&up, 4).await?;
    let replaced = nodes(&["cp2", "cp3", "cp4", "w1"], CURRENT.kubernetes);
    assert_eq!(ready_nodes(&up).await?, replaced);

    // Without the second one, the removal of the third would leave one of two members.
    let second = connect(&machines[1]).await?;
    machines[1].unplug()?;
    let patch = json!({"spec": {"machines": [access(&lab, &other)?, access(&lab, &machines[1])?]}});
    let parameters = PatchParams::default();
    let clusters = up.clusters();
    clusters
        .patch("demo", &parameters, &Patch::Merge(patch))
        .await?;
    let removed = format!("demo-{}", machines[2].address()).replace('.', "-");
    until_refused(&up, &removed).await?;
    machines[1].plug_in()?;
    up.run(&["cluster", "retry", "demo", "--wait", "--timeout", "10m"])?;
    until_running(&up, 3).await?;
    let left = nodes(&["cp2", "cp4", "w1"], CURRENT.kubernetes);
    assert_eq!(ready_nodes(&up).await?, left);
    let members = "-n kube-system exec etcd-cp2 -- etcdctl --endpoints https://127.0.0.1:2379 \
        --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/healthcheck-client.crt \
        --key /etc/kubernetes/pki/etcd/healthcheck-client.key member list";
    let members = kubectl(&second, members).await?;
    assert_eq!(members.lines().count(), 2, "{members}");
    let third = connect(&machines[2]).await?;
    stdout(
        &third,
        "test ! -e /etc/kubernetes/manifests && test ! -e /var/lib/outrigger/node",
    )
    .await?;

    up.run(&["machine", "remove", "w1", "--wait", "--timeout", "10m"])?;
    let left = nodes(&["cp2", "cp4"], CURRENT.kubernetes);
    assert_eq!(ready_nodes(&up).await?, left);
    up.run(&["cluster", "delete", "demo", "--wait", "--timeout", "10m"])?;
    Ok(())
}

/// The API goes on: an object can be created as soon as etcd has another leader.
async fn write(up: &Up) -> anyhow::Result<()> {
    let written = async {
        let maps: Api<ConfigMap> = Api::namespaced(client(up).await?, "default");
        let map = serde_json::from_value(json!({"metadata": {"name": "written"}}))?;
        while maps.create(&PostParams::default(), &map).await.is_err() {
            pause().await;
        }
        anyhow::Ok(())
    };
    let written = tokio::time::timeout(Duration::from_mins(1), written).await;
    written.context("the API does not go on")?
}

/// Waits until the removal of a machine is refused because of the quorum.
async fn until_refused(up: &Up, name: &str) -> anyhow::Result<()> {
    let refused = async {
        loop {
            let machine = up.machines().get(name).await?;
            let status = machine.status.unwrap_or_default();
            let mut conditions = status.conditions.iter();
            let refused = conditions.find(|it| it.kind == "EnsureRemoveETCDMember");
            if refused.is_some_and(|it| it.message.contains("etcd would lose its quorum")) {
                return anyhow::Ok(());
            }
            pause().await;
        }
    };
    let Ok(refused) = tokio::time::timeout(LIMIT, refused).await else {
        anyhow::bail!("{:#?}", up.machines().get(name).await?.status);
    };
    refused
}

/// Forwards connections to the first machine that accepts them.
pub(super) struct LoadBalancer {
    backends: Arc<Mutex<Vec<Ipv4Addr>>>,
}

impl LoadBalancer {
    /// Its threads are in the network of the calling one.
    pub(super) fn start(machines: &[LabMachine]) -> anyhow::Result<Self> {
        let backends: Vec<Ipv4Addr> = machines.iter().map(LabMachine::address).collect();
        ensure!(!backends.is_empty(), "there are no machines");
        let backends = Arc::new(Mutex::new(backends));
        let listener = TcpListener::bind((HOST, 6443))?;
        let known = Arc::clone(&backends);
        std::thread::Builder::new().spawn(move || {
            for client in listener.incoming().flatten() {
                let backends = known.lock().unwrap_or_else(PoisonError::into_inner).clone();
                std::thread::spawn(move || forward(&client, &backends));
            }
        })?;
        Ok(Self { backends })
    }

    fn add(&self, machine: &LabMachine) {
        let mut backends = self.backends.lock().unwrap_or_else(PoisonError::into_inner);
        backends.push(machine.address());
    }
}

fn forward(client: &TcpStream, backends: &[Ipv4Addr]) {
    let connect = |backend: &Ipv4Addr| {
        let address = SocketAddr::from((*backend, 6443));
        TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok()
    };
    let Some(server) = backends.iter().find_map(connect) else {
        return;
    };
    let copy = |mut from: &TcpStream, mut to: &TcpStream| {
        // Either side may end the connection.
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| copy(client, &server));
        copy(&server, client);
    });
}
