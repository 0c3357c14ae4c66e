//! Executes attempts in tasks, and reports their ends to the controller.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::RedactedBytes;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use outrigger_api::repository::SecretReference;
use outrigger_cluster::{
    Connect, Execution, Peers, Provider, Remote, RemoteError, Report, StepError, execute, stop,
};
use outrigger_flow::{Attempt, Executor, Stopped, Target};
use outrigger_node::Tree;

use super::kubeconfig;
use super::remotes::{login, registry_credentials};
use super::runs::{EndedAttempt, Runs};
use super::store::SharedObjects;
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
    pub(super) objects: SharedObjects,
    /// The names of the machines on which steps of the cluster can run.
    pub(super) control_planes: Vec<String>,
    pub(super) tree: Tree,
    pub(super) provider: Arc<dyn Provider>,
    /// The namespace of the Secret with the kubeconfig.
    pub(super) namespace: String,
    /// The machines of all clusters whose host keys or facts are recorded.
    pub(super) recorded: Arc<[Arc<Machine>]>,
}

impl Attempts {
    /// The machine of an attempt, as it was last written.
    fn machine(&self, attempt: &Attempt) -> Option<Arc<Machine>> {
        let name = match &attempt.task.target {
            Target::Cluster => self.control_planes.first()?,
            Target::Machine(name) => name,
        };
        self.objects.lock().machines.get(name).cloned()
    }

    async fn execute(
        &self,
        attempt: &Attempt,
        machine: Option<&Machine>,
    ) -> (Report, Result<(), String>) {
        let Some(machine) = machine else {
            let message = "there is no machine to run the step on".to_owned();
            return (Report::default(), Err(message));
        };
        let remotes = &self.runs.remotes;
        let remote = remotes.get(&self.ctx.client, self.connect.as_ref(), machine);
        let remote = match remote.await {
            Ok(remote) => remote,
            Err(message) => return (Report::default(), Err(message)),
        };
        let identities = &self.ctx.identities;
        let checked = identities.check(machine, remote.as_ref(), &self.recorded, |other| {
            self.connect_to(other)
        });
        let machine_id = match checked.await {
            Ok(machine_id) => machine_id,
            Err(message) => return (Report::default(), Err(message)),
        };
        let execution = Execution {
            cluster: &self.cluster,
            machine,
            remote: remote.as_ref(),
            tree: &self.tree,
            provider: self.provider.as_ref(),
            peers: self,
            now: self.ctx.options.now,
        };
        let (mut report, mut result) = execute(execution, attempt).await;
        if let Target::Machine(name) = &attempt.task.target {
            report.machine_id = machine_id;
            remotes.report_keys_once(name, &remote, &mut report);
        }
        // It is not kept in memory any longer.
        if let Some(kubeconfig) = report.kubeconfig.take() {
            let (client, namespace) = (&self.ctx.client, &self.namespace);
            match kubeconfig::keep(client, namespace, &self.cluster, &kubeconfig).await {
                Ok(secret) => report.kubeconfig_secret = Some(secret),
                Err(message) => result = result.and(Err(message)),
            }
        }
        if let Some(hook) = &mut report.hook {
            // Hooks of one second are printed in their order.
            let now = (self.ctx.options.now)();
            hook.finished = now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        }
        (report, result)
    }

    /// Connects to a machine of any cluster.
    async fn connect_to(&self, machine: Arc<Machine>) -> Result<Arc<dyn Remote>, String> {
        let login = login(&self.ctx.client, &machine).await?;
        let remote = self.connect.connect(&login);
        remote.map_err(|error| error.to_string())
    }

    async fn stop_one(&self, attempt: &Attempt) -> Stopped {
        self.runs.abort_task(attempt);
        let Some(machine) = self.machine(attempt) else {
            return Stopped::Unknown("the machine does not exist any more".to_owned());
        };
        let remotes = &self.runs.remotes;
        let remote = remotes.get(&self.ctx.client, self.connect.as_ref(), &machine);
        match remote.await {
            Ok(remote) => {
                stop(
                    &self.cluster,
                    remote.as_ref(),
                    self.provider.as_ref(),
                    attempt,
                )
                .await
            }
            Err(message) => Stopped::Unknown(message),
        }
    }
}

impl std::fmt::Debug for Attempts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempts").finish_non_exhaustive()
    }
}

impl Peers for Attempts {
    fn machines(&self) -> Vec<Arc<Machine>> {
        self.objects.lock().machines.values().cloned().collect()
    }

    fn control_planes(&self) -> Vec<Arc<Machine>> {
        let machines = &self.objects.lock().machines;
        let names = self.control_planes.iter();
        names
            .filter_map(|name| machines.get(name).cloned())
            .collect()
    }

    fn connect<'a>(
        &'a self,
        machine: &'a Machine,
    ) -> BoxFuture<'a, Result<Arc<dyn Remote>, RemoteError>> {
        async move {
            let remotes = &self.runs.remotes;
            let remote = remotes.get(&self.ctx.client, self.connect.as_ref(), machine);
            remote.await.map_err(|message| RemoteError { message })
        }
        .boxed()
    }

    fn registry_credentials<'a>(
        &'a self,
        reference: &'a SecretReference,
    ) -> BoxFuture<'a, Result<(String, RedactedBytes), StepError>> {
        async move {
            let credentials = registry_credentials(&self.ctx.client, reference).await;
            credentials.map_err(StepError::Provider)
        }
        .boxed()
    }
}

impl Executor for Attempts {
    fn start(&self, attempt: &Attempt) {
        let (attempts, attempt) = (self.clone(), attempt.clone());
        let key = attempt.clone();
        let machine = self.machine(&attempt);
        let task = async move {
            let (report, result) = attempts.execute(&attempt, machine.as_deref()).await;
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
