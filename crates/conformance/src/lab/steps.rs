//! When the steps of a cluster ended.
#![expect(
    clippy::print_stdout,
    reason = "the steps are the output of this command"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::flow_status::FlowStatus;
use outrigger_api::machine::{Machine, MachinePhase};
use outrigger_testing::kubernetes;

const LIMIT: Duration = Duration::from_mins(10);
const POLL: Duration = Duration::from_millis(500);

/// A step that ended, and the object that it is of.
pub(super) type Ended = (Timestamp, String, String);

/// Waits until all clusters and machines of an API server run. Returns the last steps of each.
pub(super) async fn until_running(kubeconfig: &Path) -> anyhow::Result<Vec<Ended>> {
    let client = kubernetes::client(kubeconfig).await?;
    let clusters: Api<Cluster> = Api::all(client.clone());
    let machines: Api<Machine> = Api::all(client);
    let deadline = Instant::now() + LIMIT;
    loop {
        let clusters = clusters.list(&ListParams::default()).await?.items;
        let machines = machines.list(&ListParams::default()).await?.items;
        let is_running = |machine: &Machine| {
            let status = machine.status.as_ref();
            status.is_some_and(|it| it.phase == MachinePhase::Running)
        };
        let cluster_runs = |cluster: &Cluster| {
            let status = cluster.status.as_ref();
            status.is_some_and(|it| it.phase == ClusterPhase::Running)
        };
        if clusters.iter().all(cluster_runs) && machines.iter().all(is_running) {
            let of_clusters = clusters.iter().flat_map(|it| {
                let flow = it.status.as_ref().and_then(|status| status.flow.as_ref());
                ended(&it.name_any(), flow)
            });
            let of_machines = machines.iter().flat_map(|it| {
                let flow = it.status.as_ref().and_then(|status| status.flow.as_ref());
                ended(&it.name_any(), flow)
            });
            return Ok(of_clusters.chain(of_machines).collect());
        }
        ensure!(Instant::now() < deadline, "the cluster does not run");
        tokio::time::sleep(POLL).await;
    }
}

fn ended(name: &str, flow: Option<&FlowStatus>) -> Vec<Ended> {
    let tasks = flow.into_iter().flat_map(|flow| &flow.tasks);
    let ended = tasks.filter_map(|task| {
        let time = task.since.parse().ok()?;
        Some((time, name.to_owned(), task.step.clone()))
    });
    ended.collect()
}

/// Prints the steps in their order, with the seconds since a moment.
pub(super) fn print(ended: &[Ended], began: Timestamp) {
    let mut ended: Vec<&Ended> = ended.iter().collect();
    ended.sort();
    for (time, name, step) in ended {
        let seconds = time.duration_since(began).as_secs_f64();
        println!("{seconds:8.1} s  {name:24} {step}");
    }
}
