//! Machines of a lab that become a cluster, and what their API server says.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use outrigger_node::{Command, Connector, Machine};
use outrigger_testing::lab::{Lab, LabMachine, Options};

const LIMIT: Duration = Duration::from_mins(15);
const POLL: Duration = Duration::from_millis(500);

/// Machines that have booted, the control planes first.
pub(super) struct Machines {
    pub(super) all: Vec<LabMachine>,
    pub(super) connections: Vec<Machine>,
    pub(super) control_planes: usize,
}

impl Machines {
    /// Boots machines, and waits until their services run.
    pub(super) async fn boot(
        lab: &Lab,
        control_planes: usize,
        workers: usize,
    ) -> anyhow::Result<Self> {
        let names = (1..=control_planes).map(|number| format!("cp{number}"));
        let names: Vec<String> = names
            .chain((1..=workers).map(|number| format!("w{number}")))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let machines = lab.machines(&names, Options::default())?;
        let connections = machines.iter().map(async |machine| {
            let connected = Machine::connect(machine.target()?, &Connector::default()).await?;
            stdout(&connected, "systemctl is-system-running --wait").await?;
            anyhow::Ok(connected)
        });
        Ok(Self {
            connections: try_join_all(connections).await?,
            all: machines,
            control_planes,
        })
    }

    pub(super) fn control_plane(&self) -> &[LabMachine] {
        &self.all[..self.control_planes]
    }

    pub(super) fn workers(&self) -> &[LabMachine] {
        &self.all[self.control_planes..]
    }

    /// Runs kubectl on the first machine.
    pub(super) async fn kubectl(&self, arguments: &str) -> anyhow::Result<String> {
        let first = self.connections.first().context("there is a machine")?;
        let flags = "--kubeconfig /etc/kubernetes/admin.conf --cache-dir /tmp/kubectl --request-timeout 10s";
        stdout(first, &format!("kubectl {flags} {arguments}")).await
    }

    /// Waits until all machines are nodes that are ready.
    pub(super) async fn until_ready(&self) -> anyhow::Result<()> {
        let names = self.all.iter().map(LabMachine::name);
        let expected: BTreeSet<&str> = names.collect();
        let deadline = Instant::now() + LIMIT;
        loop {
            let ready = self.ready_nodes().await.unwrap_or_default();
            if ready.iter().map(String::as_str).collect::<BTreeSet<_>>() == expected {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "only {ready:?} are ready");
            tokio::time::sleep(POLL).await;
        }
    }

    async fn ready_nodes(&self) -> anyhow::Result<Vec<String>> {
        let columns = "get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.status.conditions[?(@.type==\"Ready\")].status}{\"\\n\"}{end}'";
        let listed = self.kubectl(columns).await?;
        let ready = listed.lines().filter_map(|line| line.strip_suffix(" True"));
        Ok(ready.map(str::to_owned).collect())
    }
}

/// The stdout of a command that succeeds.
pub(super) async fn stdout(machine: &Machine, text: &str) -> anyhow::Result<String> {
    let command = Command::shell(text)
        .timeout(Duration::from_mins(5))
        .capture(8 << 20);
    let output = machine.run(&command).await?;
    let stdout = output.stdout.text();
    let stderr = output.stderr.text();
    ensure!(output.status.is_success(), "{text}: {stdout}{stderr}");
    Ok(stdout.trim_end().to_owned())
}
