//! `EnsureRemoveMachine`: removes what was installed on a machine of a cluster that is deleted.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::step::{FlowName, steps};

use crate::provider::baremetal::kubeadm_config::CRI_SOCKET;
use crate::provider::baremetal::work::Work;
use crate::steps::task;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct RemoveMachine;

/// Removes everything. The member of etcd is removed before, or not needed by another machine.
pub(super) fn work() -> Work {
    let script = include_str!("../scripts/remove_machine.sh");
    Work::new("remove Kubernetes from the machine", script)
        .with("SOCKET", CRI_SOCKET)
        .with("RESET", "--skip-phases=remove-etcd-member")
}

/// Does it, and removes the records of all steps. What is gone cannot be removed again.
pub(super) async fn remove(effect: Effect<'_>, work: &Work) -> Result<(), StepError> {
    work.attempt(effect, &[]).await?;
    let ids = FlowName::ALL.iter().flat_map(|flow| steps(*flow));
    let ids = ids.filter(|step| outrigger_api::hook::Hook::of_step(step.id).is_none());
    let tasks: Vec<String> = ids.map(|step| task(effect.cluster, step.id)).collect();
    Ok(effect.remote.forget(&tasks).await?)
}

impl Step for RemoveMachine {
    fn plan(&self, _: &StepInput<'_>) -> Option<StepPlan> {
        Some(work().plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), remove(effect, &work()).await) }.boxed()
    }

    fn is_detached(&self) -> bool {
        true
    }
}
