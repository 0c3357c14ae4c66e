//! `crash flow`: clusters are created, upgraded and deleted on machines with real SSH servers, while controllers are killed
//! and compete, connections are cut, and machines hang and reboot.
//!
//! Every flow ends as without the faults, and every hook ran once for each machine or cluster, in order.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::condition::ConditionStatus;
use outrigger_api::hook::Hook;
use outrigger_api::machine::Machine;
use outrigger_api::step::FlowName;
use outrigger_testing::kubernetes;
use outrigger_testing::machines::{Machines, Options as MachineOptions, Server};
use serde_json::{Value, json};

use super::{faults, markers};
use crate::crash::CrashTest;
use crate::process::{Controller, EmbeddedServer, Options, log_tail};

const MACHINES: usize = 3;
const NAME: &str = "crash";
/// The password of stand-in machines, base64-encoded.
const PASSWORD: &str = "b3V0cmlnZ2Vy";
const FLOW_TIMEOUT: Duration = Duration::from_mins(3);
const FLOWS: [FlowName; 3] = [FlowName::Create, FlowName::Upgrade, FlowName::Delete];

pub(crate) struct Test {
    machines: Machines,
    controllers: Controllers,
    client: Client,
    _server: EmbeddedServer,
    hooks: usize,
    reboots: usize,
}

/// The controllers that run. Some rounds have two.
pub(super) struct Controllers {
    binary: PathBuf,
    kubeconfig: PathBuf,
    files: PathBuf,
    log: PathBuf,
    running: Vec<Controller>,
    kills: usize,
}

impl Controllers {
    pub(super) fn start_one(&mut self) -> anyhow::Result<()> {
        let files = self.files.display().to_string();
        let flags = ["--files", &files];
        let controller = Controller::start_with(&flags, &self.binary, &self.kubeconfig, &self.log)?;
        self.running.push(controller);
        Ok(())
    }

    /// Kills a controller. If it was the last one, another one starts.
    pub(super) async fn kill_one(&mut self) -> anyhow::Result<()> {
        let index = fastrand::usize(..self.running.len());
        self.running.swap_remove(index).kill().await?;
        self.kills += 1;
        if self.running.is_empty() {
            self.start_one()?;
        }
        Ok(())
    }

    async fn kill_all(&mut self) -> anyhow::Result<()> {
        for controller in self.running.drain(..) {
            controller.kill().await?;
        }
        Ok(())
    }
}

impl CrashTest for Test {
    const DEFAULT_ROUNDS: usize = 200;

    async fn start(binary: &Path, directory: &Path) -> anyhow::Result<Self> {
        let machines = MachineOptions {
            count: MACHINES,
            ..MachineOptions::new(Server::OpenSsh)
        };
        let machines = Machines::start(machines)?;
        let files = directory.join("files");
        fs_err::create_dir(&files)?;
        fs_err::write(files.join("hook"), markers::SCRIPT)?;
        let options = Options {
            binary: binary.to_owned(),
            data: directory.join("data"),
            simulate_workloads: false,
        };
        let server = EmbeddedServer::start(&options).await?;
        let kubeconfig = server.endpoint.kubeconfig.clone();
        let mut controllers = Controllers {
            binary: binary.to_owned(),
            kubeconfig: kubeconfig.clone(),
            files,
            log: directory.join("serve.log"),
            running: Vec::new(),
            kills: 0,
        };
        let client = kubernetes::client(&kubeconfig).await?;
        // It installs the definitions.
        controllers.start_one()?;
        crate::plugins::wait_until_served(&Api::<Cluster>::all(client.clone())).await?;
        crate::plugins::wait_until_served(&Api::<Machine>::all(client.clone())).await?;
        Ok(Self {
            machines,
            controllers,
            client,
            _server: server,
            hooks: 0,
            reboots: 0,
        })
    }

    async fn round(&mut self, round: usize) -> anyhow::Result<()> {
        let flow = FLOWS[(round - 1) % FLOWS.len()];
        for _ in self.controllers.running.len()..=usize::from(fastrand::bool()) {
            self.controllers.start_one()?;
        }
        self.begin(flow).await?;
        let reboots = faults::inject(&mut self.machines, &mut self.controllers).await?;
        let ended = tokio::time::timeout(FLOW_TIMEOUT, self.until_ended(flow)).await;
        let ended = ended
            .context("the flow did not end")
            .and_then(|ended| ended);
        if ended.is_err() {
            let status = self
                .clusters()
                .get_opt(NAME)
                .await?
                .and_then(|cluster| cluster.status);
            let log = log_tail(&self.controllers.log);
            return ended.with_context(|| format!("{}: {status:#?}\n{log}", flow.as_str()));
        }
        self.controllers.kill_all().await?;
        let markers = markers::take(&self.machines)?;
        self.hooks += markers::check(flow, &markers, &reboots)?;
        self.reboots += reboots.iter().sum::<usize>();
        self.check_objects(flow).await
    }

    async fn finish(mut self) -> anyhow::Result<String> {
        self.controllers.kill_all().await?;
        Ok(format!(
            "{} hooks ran on {MACHINES} machines; {} controllers were killed, machines rebooted {} times; each hook ran \
             once, in order, except where a reboot interrupted it",
            self.hooks, self.controllers.kills, self.reboots
        ))
    }
}

impl Test {
    fn clusters(&self) -> Api<Cluster> {
        Api::all(self.client.clone())
    }

    async fn begin(&self, flow: FlowName) -> anyhow::Result<()> {
        let api = self.clusters();
        match flow {
            FlowName::Create => {
                let cluster = serde_json::from_value(self.cluster())?;
                api.create(&PostParams::default(), &cluster).await?;
            }
            FlowName::Upgrade => {
                let patch = json!({"spec": {"version": "1.1.0"}});
                api.patch(NAME, &PatchParams::default(), &Patch::Merge(&patch))
                    .await?;
            }
            _ => drop(api.delete(NAME, &DeleteParams::default()).await?),
        }
        Ok(())
    }

    /// A cluster on all machines, with all hooks.
    fn cluster(&self) -> Value {
        let machines = self.machines.machines().iter();
        let machines: Vec<Value> = machines
            .map(|machine| json!({"ip": machine.address.to_string(), "password": PASSWORD}))
            .collect();
        let hooks = Hook::of_clusters();
        let hooks = hooks.map(|hook| (hook.name.to_owned(), json!("/opt/hooks/hook")));
        let hooks: serde_json::Map<String, Value> = hooks.collect();
        json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": NAME},
            "spec": {
                "version": "1.0.0", "machines": machines,
                "features": {"files": [{"src": "hook", "dst": "/opt/hooks/hook"}], "hooks": hooks, "hookTimeout": "20s"},
            },
        })
    }

    async fn until_ended(&self, flow: FlowName) -> anyhow::Result<()> {
        let is_ended = |cluster: Option<&Cluster>| match (flow, cluster) {
            (FlowName::Delete, cluster) => cluster.is_none(),
            (_, None) => false,
            (_, Some(cluster)) => {
                let status = cluster.status.clone().unwrap_or_default();
                status.phase == ClusterPhase::Running
                    && status.version.as_deref() == Some(&cluster.spec.version)
            }
        };
        await_condition(self.clusters(), NAME, is_ended).await?;
        Ok(())
    }

    /// Checks what is left of the flow: conditions, and files on the machines.
    async fn check_objects(&self, flow: FlowName) -> anyhow::Result<()> {
        let machines: Api<Machine> = Api::all(self.client.clone());
        let machines = machines
            .list(&kube::api::ListParams::default())
            .await?
            .items;
        let is_deleted = flow == FlowName::Delete;
        let expected = if is_deleted { 0 } else { MACHINES };
        ensure!(
            machines.len() == expected,
            "there are {} machines",
            machines.len()
        );
        for machine in &machines {
            let status = machine.status.clone().unwrap_or_default();
            let mut conditions = status.conditions.iter();
            let bad = conditions.find(|condition| condition.status != ConditionStatus::True);
            ensure!(bad.is_none(), "{bad:?}");
            let mut hooks = status.hooks.iter();
            let bad = hooks.find(|hook| hook.exit_code != Some(0));
            ensure!(bad.is_none(), "{bad:?}");
        }
        for machine in self.machines.machines() {
            let exists = machine.stand_in.path("/opt/hooks/hook").exists();
            ensure!(
                exists != is_deleted,
                "the files of {} are wrong",
                machine.address
            );
        }
        Ok(())
    }
}
