//! `outrigger cluster retry`: tries failed steps again.

use anyhow::anyhow;
use jiff::Timestamp;
use kube::ResourceExt;
use outrigger_api::annotation::RETRY;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::condition::ConditionStatus;
use outrigger_api::flow_status::{FlowStatus, TaskState};
use outrigger_api::machine::Machine;
use outrigger_cluster::{current_step, lifecycle, status};

use super::change::{ChangeFlags, Outcome};
use super::wait::ClusterCondition;
use super::{edit, machines};
use crate::commands::machine::wait::MachineCondition;
use crate::commands::plugin::connect::Connection;
use crate::printer::Printer;
use crate::report::hinted;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster retry cls-1 --wait --timeout 20m";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let change = &args.change;
    let connection = change.server.connect().await?;
    let now = Timestamp::now().to_string();
    let cluster = request(&connection, &args.name, &now, change.dry_run).await?;
    let (condition, done) = if lifecycle::is_deleted(&cluster) {
        (ClusterCondition::Deleted, " deleted")
    } else {
        let condition = ClusterCondition::Running {
            version: None,
            retry: Some(now.clone()),
        };
        (condition, " is running")
    };
    let outcome = Outcome {
        requested: ": retry requested",
        done,
    };
    let clusters = (&[args.name.clone()][..], &condition);
    let machines = machines_to_await(&connection, &cluster).await?;
    let machines = (&machines[..], &MachineCondition::Retried(now));
    change
        .finish_clusters(&connection.client, clusters, machines, outcome, printer)
        .await
}

/// The names of the machines that run when the retry has succeeded: all that stay.
async fn machines_to_await(
    connection: &Connection,
    cluster: &Cluster,
) -> anyhow::Result<Vec<String>> {
    if lifecycle::is_deleted(cluster) {
        return Ok(Vec::new());
    }
    let machines = machines(connection, &cluster.name_any()).await?;
    let staying = machines.iter().filter(|it| !lifecycle::is_removed(it));
    Ok(staying.map(ResourceExt::name_any).collect())
}

/// Requests a retry. Fails if there is nothing to try again.
pub(super) async fn request(
    connection: &Connection,
    name: &str,
    now: &str,
    dry_run: bool,
) -> anyhow::Result<Cluster> {
    let cluster = edit::get(connection, name).await?;
    let machines = machines(connection, name).await?;
    let flows = flows(&cluster, &machines);
    let tasks = flows.iter().flat_map(|(_, flow)| &flow.tasks);
    let mut states = tasks.map(|task| task.state);
    if !states.any(|state| matches!(state, TaskState::Failed | TaskState::Retrying)) {
        let error = anyhow!("no step of cluster {name} has failed");
        return Err(hinted(error, Some(awaited(&cluster, &flows))));
    }
    let annotate = |cluster: &mut Cluster| {
        let annotations = cluster.metadata.annotations.get_or_insert_default();
        annotations.insert(RETRY.to_owned(), now.to_owned());
        Ok(())
    };
    edit::edit(connection, &cluster, dry_run, annotate).await?;
    Ok(cluster)
}

/// The records of the current run, with where its steps are done.
fn flows<'a>(cluster: &'a Cluster, machines: &'a [Machine]) -> Vec<(String, &'a FlowStatus)> {
    let flow = cluster.status.as_ref().and_then(|it| it.flow.as_ref());
    let Some(flow) = flow.filter(|flow| !flow.completed) else {
        return Vec::new();
    };
    let of_machines = machines.iter().filter_map(|machine| {
        let own = machine.status.as_ref()?.flow.as_ref()?;
        (own.run == flow.run).then(|| (machine.name_any(), own))
    });
    let of_cluster = std::iter::once(("the cluster".to_owned(), flow));
    of_cluster.chain(of_machines).collect()
}

/// What a cluster without a failed step waits for.
fn awaited(cluster: &Cluster, flows: &[(String, &FlowStatus)]) -> String {
    let status = cluster.status.clone().unwrap_or_default();
    if status.observed_generation != cluster.metadata.generation {
        return "it waits for the controller, which has not observed it yet".to_owned();
    }
    let mut conditions = status.conditions.iter();
    let accepted = conditions.find(|it| it.kind == status::ACCEPTED);
    if let Some(refused) = accepted.filter(|it| it.status != ConditionStatus::True) {
        return format!("it waits for another spec: {}", refused.message);
    }
    let delegated = flows.iter().map(|(_, flow)| current_step(flow));
    if let Some(step) = delegated.into_iter().find(|step| !step.is_empty()) {
        return step;
    }
    let running = flows.iter().find_map(|(target, flow)| {
        let mut tasks = flow.tasks.iter();
        let task = tasks.find(|task| task.state == TaskState::Running)?;
        Some(format!("it waits for {} on {target}", task.step))
    });
    running.unwrap_or_else(|| match status.phase {
        ClusterPhase::Running => "it is Running, and waits for nothing".to_owned(),
        phase => format!(
            "it is {phase:?}; outrigger cluster status {} shows its steps",
            cluster.name_any()
        ),
    })
}
