//! Executes attempts: finds the step and the machine, and turns outcomes into what is recorded.

use outrigger_api::cluster::Cluster;
use outrigger_api::hook::Hook;
use outrigger_api::machine::{Machine, ProxyStatus};
use outrigger_flow::{Attempt, Stopped};
use outrigger_node::Tree;

use crate::steps::{Report, hook_result, task_of};
use crate::{Effect, Outcome, Peers, Provider, Remote, Step, StepError, provider};

/// What an attempt works with.
#[derive(Debug, Clone, Copy)]
pub struct Execution<'a> {
    pub cluster: &'a Cluster,
    pub machine: &'a Machine,
    pub remote: &'a dyn Remote,
    pub tree: &'a Tree,
    pub provider: &'a dyn Provider,
    pub peers: &'a dyn Peers,
    /// The clock of the controller.
    pub now: fn() -> jiff::Timestamp,
}

/// Does the work of an attempt, or waits for it if it was begun before.
pub async fn execute(execution: Execution<'_>, attempt: &Attempt) -> (Report, Result<(), String>) {
    let Some(step) = provider::step(execution.provider, attempt.task.step) else {
        return (Report::default(), Ok(()));
    };
    let effect = Effect {
        cluster: execution.cluster,
        machine: execution.machine,
        remote: execution.remote,
        tree: execution.tree,
        attempt,
        peers: execution.peers,
        now: execution.now,
    };
    let (mut report, result) = step.run(effect).await;
    report.host_key = execution.remote.host_key();
    let address = execution.machine.spec.access.address();
    report.address = report.host_key.as_ref().map(|_| address);
    let jump = execution.machine.spec.access.proxy.as_ref();
    let jump = jump.zip(execution.remote.jump_host_key());
    report.proxy = jump.map(|(jump, host_key)| ProxyStatus {
        address: jump.address(),
        host_key,
    });
    (report, result.map_err(|error| error.to_string()))
}

/// Stops an attempt on its machine. What runs in this process must be stopped before.
pub async fn stop(
    cluster: &Cluster,
    remote: &dyn Remote,
    provider: &dyn Provider,
    attempt: &Attempt,
) -> Stopped {
    let step = provider::step(provider, attempt.task.step);
    if !step.is_some_and(Step::is_detached) {
        return Stopped::Canceled;
    }
    let task = task_of(cluster, attempt);
    let outcome = match remote.cancel(&task, &attempt.id()).await {
        Ok(Outcome::Canceled | Outcome::Lost { .. }) => return Stopped::Canceled,
        Ok(outcome) => outcome,
        Err(error) => return Stopped::Unknown(error.to_string()),
    };
    let step = attempt.task.step;
    // In the words of an attempt that was not stopped.
    let result = match (Hook::of_step(step), outcome) {
        (_, Outcome::Exited { code: 0, .. }) => Ok(()),
        (Some(hook), outcome) => hook_result(hook.name, &outcome),
        (None, Outcome::Exited { code, output }) => Err(StepError::Script {
            what: step.to_owned(),
            how: format!("exited with code {code}"),
            output: output.text,
        }),
        (None, Outcome::TimedOut { after, output }) => Err(StepError::Script {
            what: step.to_owned(),
            how: format!("did not end within {after:?}"),
            output: output.text,
        }),
        (None, Outcome::Canceled | Outcome::Lost { .. }) => return Stopped::Canceled,
    };
    Stopped::Ended(result.map_err(|error| error.to_string()))
}
