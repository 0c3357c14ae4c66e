//! Executes attempts in tasks, and reports their ends to the controller.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use outrigger_cluster::{Connect, Execution, Provider, Report, execute, stop};
use outrigger_flow::{Attempt, Executor, Stopped, Target};
use outrigger_node::Tree;

use super::runs::{EndedAttempt, Runs};
use crate::context::Context;
use crate::task::spawn;
use crate::watch_event::WatchEvent;

/// How long stopping attempts may take.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// Executes the attempts of one cluster, as it is now.
#[derive(Clone)]
pub(super) struct Attempts {
    pub(super) ctx: Arc<Context>,
    pub(super) runs: Arc<Runs>,
    pub(super) connect: Arc<dyn Connect>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) machines: HashMap<String, Arc<Machine>>,
    /// Where steps of the cluster run.
    pub(super) first: Option<Arc<Machine>>,
    pub(super) tree: Tree,
    pub(super) provider: &'static dyn Provider,
}

impl Attempts {
    fn machine(&self, attempt: &Attempt) -> Option<&Arc<Machine>> {
        match &attempt.task.target {
            Target::Cluster => self.first.as_ref(),
            Target::Machine(name) => self.machines.get(name),
        }
    }

    async fn execute(&self, attempt: &Attempt) -> (Report, Result<(), String>) {
        let Some(machine) = self.machine(attempt) else {
            let message = "there is no machine to run the step on".to_owned();
            return (Report::default(), Err(message));
        };
        let remotes = &self.runs.remotes;
        let remote = remotes.get(&self.ctx.client, self.connect.as_ref(), machine);
        let remote = match remote.await {
            Ok(remote) => remote,
            Err(message) => return (Report::default(), Err(message)),
        };
        if let Err(message) = self.ctx.identities.check(machine, remote.as_ref()).await {
            return (Report::default(), Err(message));
        }
        let execution = Execution {
            cluster: &self.cluster,
            machine,
            remote: remote.as_ref(),
            tree: &self.tree,
            provider: self.provider,
        };
        let (mut report, result) = execute(execution, attempt).await;
        if let Some(hook) = &mut report.hook {
            // Hooks of one second are printed in their order.
            let now = (self.ctx.options.now)();
            hook.finished = now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        }
        (report, result)
    }

    async fn stop_one(&self, attempt: &Attempt) -> Stopped {
        self.runs.abort_task(attempt);
        let Some(machine) = self.machine(attempt) else {
            return Stopped::Unknown("the machine does not exist any more".to_owned());
        };
        let remotes = &self.runs.remotes;
        let remote = remotes.get(&self.ctx.client, self.connect.as_ref(), machine);
        match remote.await {
            Ok(remote) => stop(&self.cluster, remote.as_ref(), self.provider, attempt).await,
            Err(message) => Stopped::Unknown(message),
        }
    }
}

impl Executor for Attempts {
    fn start(&self, attempt: &Attempt) {
        let (attempts, attempt) = (self.clone(), attempt.clone());
        let key = attempt.clone();
        let task = async move {
            let (report, result) = attempts.execute(&attempt).await;
            let name = attempts.cluster.metadata.name.clone();
            attempts.runs.end(EndedAttempt {
                attempt,
                report,
                result,
            });
            let event = WatchEvent::AttemptEnded(name.unwrap_or_default());
            // Without a controller, there is nobody to tell.
            let _ = attempts.ctx.events.send(event).await;
        };
        self.runs.add_task(&key, spawn(task));
    }

    async fn stop(&self, attempts: &[Attempt]) -> Vec<Stopped> {
        let stops = attempts.iter().map(|attempt| async {
            let stopped = tokio::time::timeout(STOP_TIMEOUT, self.stop_one(attempt)).await;
            stopped.unwrap_or_else(|_| Stopped::Unknown("the machine does not answer".to_owned()))
        });
        futures::future::join_all(stops).await
    }
}
