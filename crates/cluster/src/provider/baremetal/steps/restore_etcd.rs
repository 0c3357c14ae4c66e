//! `EnsureRestoreETCD`: makes the data of etcd from a backup, for a new cluster of etcd with the members on all machines.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::step::FlowName;

use super::all_control_planes;
use crate::backup::KEYS;
use crate::lifecycle::annotated_request;
use crate::provider::baremetal::backup::requested;
use crate::provider::baremetal::kubeadm_config;
use crate::provider::baremetal::work::Work;
use crate::steps::digest;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct RestoreEtcd;

fn work(input: &StepInput<'_>) -> Option<Work> {
    let machine = input.machine?;
    let backup = requested(input.cluster)?.ok()?;
    let request = annotated_request(input.cluster, FlowName::Restore)?;
    let script = include_str!("../scripts/restore_etcd.sh");
    let work = Work::new("restore the data of etcd", script)
        .with("BACKUP", backup)
        .with("REQUEST", request)
        // A member that was not restored does not join those that were.
        .with("TOKEN", format!("restored-{}", digest(&[request])))
        .with("KEYS", KEYS.join(" "))
        .with("CONFIG", kubeadm_config::init(input.cluster, machine));
    Some(work)
}

/// The names and URLs of the members on all machines. Their manifests were put aside when they were stopped.
async fn members(effect: Effect<'_>) -> Result<String, StepError> {
    let script = include_str!("../scripts/member.sh");
    let answers = all_control_planes(effect, |_| Work::new("name the member of etcd", script));
    let answers = answers.await?.into_iter();
    let mut members: Vec<String> = answers.map(|(_, text)| text.trim().to_owned()).collect();
    members.sort();
    Ok(members.join(","))
}

async fn restore(effect: Effect<'_>) -> Result<(), StepError> {
    let Some(work) = work(&effect.input()) else {
        return Ok(());
    };
    let members = members(effect).await?;
    work.attempt(effect, &[("MEMBERS", members)]).await
}

impl Step for RestoreEtcd {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        work(input).map(|work| work.plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), restore(effect).await) }.boxed()
    }

    fn is_detached(&self) -> bool {
        true
    }
}
