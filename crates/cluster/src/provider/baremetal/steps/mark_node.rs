//! `EnsureMarkControlPlane` and `EnsureMarkNode`: labels and taints of nodes.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::{Machine, Taint, TaintEffect};

use super::{control_plane, role};
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct MarkNode;

fn work(cluster: &Cluster, machine: &Machine) -> Work {
    let access = &machine.spec.access;
    let labels: Vec<String> = access
        .labels
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let taints: Vec<String> = access.taints.iter().map(taint_text).collect();
    Work::new(
        "set labels and taints",
        include_str!("../scripts/mark_node.sh"),
    )
    .with("ADDRESS", &access.ip)
    .with("ROLE", role(machine))
    .with(
        "SCHEDULE",
        cluster.spec.features.enable_master_schedule.to_string(),
    )
    .with("LABELS", labels.join("\n"))
    .with("TAINTS", taints.join("\n"))
}

/// As kubectl takes it.
fn taint_text(taint: &Taint) -> String {
    let effect = match taint.effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    };
    match taint.value.as_str() {
        "" => format!("{}:{effect}", taint.key),
        value => format!("{}={value}:{effect}", taint.key),
    }
}

async fn mark(effect: Effect<'_>) -> Result<(), StepError> {
    let control_plane = control_plane(effect).await?;
    let work = work(effect.cluster, effect.machine);
    work.query(control_plane.as_ref()).await.map(drop)
}

impl Step for MarkNode {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        Some(work(input.cluster, input.machine?).plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), mark(effect).await) }.boxed()
    }
}
