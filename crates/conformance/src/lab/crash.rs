//! `crash cluster`: clusters are made and upgraded on machines of the lab, while the controller is killed, a machine is power-cycled
//! and a cable is cut. Each ends as without faults, and kubeadm finished no step twice.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::machine::{Machine, MachinePhase};
use outrigger_testing::kubernetes;
use outrigger_testing::lab::Lab;
use outrigger_testing::lab::cluster::{access, add_release, release_folder, spec};
use outrigger_testing::peers::lab::{CURRENT, NEXT, Release};
use serde_json::{Value, json};

use super::faults::{self, Plan};
use super::machines::{Machines, stdout};
use super::snapshot::{self, Snapshot};
use super::{in_lab, kubeadm_calls};
use crate::crash::CrashTest;
use crate::process::{Controller, EmbeddedServer, Options, command, log_tail};

const NAME: &str = "crash";
const CONTROL_PLANES: usize = 2;
const WORKERS: usize = 1;
/// One round of this many also upgrades.
const UPGRADE_INTERVAL: usize = 4;
const LIMIT: Duration = Duration::from_mins(20);
const POLL: Duration = Duration::from_millis(200);

pub(crate) struct Test {
    site: Site,
    /// How it is without faults.
    create: Outcome,
    /// The same after an upgrade, if the next release is installed.
    upgrade: Option<Outcome>,
    kills: usize,
    upgrades: usize,
}

/// What all rounds have in common.
#[derive(Debug, Clone)]
struct Site {
    binary: PathBuf,
    directory: PathBuf,
}

/// How a flow ended, and how long it took.
#[derive(Debug, Clone)]
struct Outcome {
    time: Duration,
    state: Snapshot,
}

/// A flow with its faults, and the state after it, if it is known.
#[derive(Debug, Clone, Default)]
struct Task {
    faults: Plan,
    expected: Option<Snapshot>,
}

impl CrashTest for Test {
    const DEFAULT_ROUNDS: usize = 20;

    async fn start(binary: &Path, directory: &Path) -> anyhow::Result<Self> {
        let site = Site {
            binary: std::path::absolute(binary)?,
            directory: directory.to_owned(),
        };
        let has_next = Lab::check(NEXT).is_ok();
        let releases: &[Release] = if has_next {
            &[CURRENT, NEXT]
        } else {
            &[CURRENT]
        };
        site.write(releases).await?;
        let upgrade = has_next.then(Task::default);
        let mut outcomes = site.run(Task::default(), upgrade).await?.into_iter();
        Ok(Self {
            site,
            create: outcomes.next().context("a cluster was created")?,
            upgrade: outcomes.next(),
            kills: 0,
            upgrades: 0,
        })
    }

    async fn round(&mut self, round: usize) -> anyhow::Result<()> {
        let create = self.task(&self.create);
        let is_upgraded = round.is_multiple_of(UPGRADE_INTERVAL);
        let upgrade = self.upgrade.as_ref().filter(|_| is_upgraded);
        let upgrade = upgrade.map(|outcome| self.task(outcome));
        let planned = format!(
            "{:?}, {:?}",
            create.faults,
            upgrade.as_ref().map(|it| &it.faults)
        );
        let plans = [&create].into_iter().chain(&upgrade);
        self.kills += plans.map(|task| faults::kills(&task.faults)).sum::<usize>();
        self.upgrades += usize::from(upgrade.is_some());
        let ended = self.site.run(create, upgrade).await;
        ended.map(drop).context(planned)
    }

    async fn finish(self) -> anyhow::Result<String> {
        let upgrades = match self.upgrade {
            Some(_) => format!("{} upgrades", self.upgrades),
            None => format!("no upgrades: `cargo xtask peers {}` was not run", NEXT.name),
        };
        Ok(format!(
            "{} controllers, {upgrades}; each cluster ended as without faults, which took {:.0} s, and no finished step of \
             kubeadm ran again",
            self.kills,
            self.create.time.as_secs_f64()
        ))
    }
}

impl Test {
    #[expect(clippy::unused_self, reason = "tasks belong to a test")]
    fn task(&self, outcome: &Outcome) -> Task {
        Task {
            faults: faults::plan(CONTROL_PLANES + WORKERS, outcome.time),
            expected: Some(outcome.state.clone()),
        }
    }
}

impl Site {
    fn provider(&self) -> PathBuf {
        self.directory.join("provider")
    }

    /// Writes the provider folder, in which kubeadm is the program that records calls.
    async fn write(&self, releases: &[Release]) -> anyhow::Result<()> {
        let programs = self.directory.join("kubeadm");
        fs_err::create_dir_all(&programs)?;
        for release in releases {
            add_release(&self.provider(), *release)?;
            let wrapped = release_folder(&self.provider(), *release).join("bin/kubeadm");
            fs_err::rename(&wrapped, programs.join(release.kubernetes))?;
            fs_err::write(&wrapped, kubeadm_calls::wrapper(release.kubernetes))?;
        }
        let mut build = command(&self.binary);
        let built = build
            .args(["provider", "build"])
            .arg(self.provider())
            .output()
            .await?;
        ensure!(
            built.status.success(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        Ok(())
    }

    /// Makes a cluster on new machines, and upgrades it.
    async fn run(&self, create: Task, upgrade: Option<Task>) -> anyhow::Result<Vec<Outcome>> {
        let site = self.clone();
        in_lab(async move |lab| {
            let machines = Machines::boot(lab, CONTROL_PLANES, WORKERS).await?;
            let mut controlled = Controlled::start(&site, &machines).await?;
            let objects = objects(lab, &machines)?;
            let mut outcomes = vec![controlled.flow(Flow::Create(objects), create).await?];
            if let Some(task) = upgrade {
                outcomes.push(controlled.flow(Flow::Upgrade(NEXT), task).await?);
            }
            Ok(outcomes)
        })
        .await
    }
}

/// A cluster with its workers.
fn objects(lab: &Lab, machines: &Machines) -> anyhow::Result<(Value, Vec<Value>)> {
    let mut spec = spec(lab, CURRENT, machines.control_plane())?;
    let programs = json!({"src": "kubeadm", "dst": kubeadm_calls::PROGRAMS});
    spec["features"] = json!({"files": [programs]});
    let cluster = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": NAME}, "spec": spec,
    });
    let workers = machines.workers().iter().map(|worker| {
        let mut spec = access(lab, worker)?;
        spec["cluster"] = json!(NAME);
        anyhow::Ok(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine",
            "metadata": {"name": worker.name()}, "spec": spec,
        }))
    });
    Ok((cluster, workers.collect::<Result<_, _>>()?))
}

enum Flow {
    Create((Value, Vec<Value>)),
    Upgrade(Release),
}

/// An API server with a controller, and the machines.
struct Controlled<'a> {
    site: &'a Site,
    machines: &'a Machines,
    server: EmbeddedServer,
    controller: Option<Controller>,
    client: Client,
    /// Of the API server, which is new in each round.
    _data: tempfile::TempDir,
}

impl<'a> Controlled<'a> {
    async fn start(site: &'a Site, machines: &'a Machines) -> anyhow::Result<Self> {
        let data = tempfile::tempdir_in(&site.directory)?;
        let options = Options {
            binary: site.binary.clone(),
            data: data.path().join("data"),
            simulate_workloads: false,
        };
        let server = EmbeddedServer::start(&options).await?;
        let client = kubernetes::client(&server.endpoint.kubeconfig).await?;
        let mut controlled = Self {
            site,
            machines,
            server,
            controller: None,
            client,
            _data: data,
        };
        controlled.start_controller()?;
        crate::plugins::wait_until_served(&controlled.clusters()).await?;
        crate::plugins::wait_until_served(&controlled.machine_api()).await?;
        Ok(controlled)
    }

    fn log(&self) -> PathBuf {
        self.site.directory.join("serve.log")
    }

    fn start_controller(&mut self) -> anyhow::Result<()> {
        let files = self.site.directory.display().to_string();
        let provider = self.site.provider().display().to_string();
        let flags = ["--files", &files, "--provider", &provider];
        let kubeconfig = &self.server.endpoint.kubeconfig;
        let started = Controller::start_with(&flags, &self.site.binary, kubeconfig, &self.log())?;
        self.controller = Some(started);
        Ok(())
    }

    async fn kill_controller(&mut self) -> anyhow::Result<()> {
        if let Some(controller) = self.controller.take() {
            controller.kill().await?;
        }
        self.start_controller()
    }

    fn clusters(&self) -> Api<Cluster> {
        Api::all(self.client.clone())
    }

    fn machine_api(&self) -> Api<Machine> {
        Api::all(self.client.clone())
    }

    /// Runs a flow with its faults, and checks its end.
    async fn flow(&mut self, flow: Flow, task: Task) -> anyhow::Result<Outcome> {
        let start = Instant::now();
        let version = self.begin(flow).await?;
        let machines = self.machines;
        faults::inject(&task.faults, &machines.all, async || {
            self.kill_controller().await
        })
        .await?;
        let ended = self.until_running(&version).await;
        ended.with_context(|| log_tail(&self.log()))?;
        machines.until_ready().await?;
        let time = start.elapsed();
        for connection in &machines.connections {
            kubeadm_calls::check(&stdout(connection, kubeadm_calls::READ).await?)?;
        }
        let state = match task.expected {
            Some(expected) => {
                snapshot::until(machines, &expected).await?;
                expected
            }
            None => snapshot::settled(machines).await?,
        };
        Ok(Outcome { time, state })
    }

    async fn begin(&self, flow: Flow) -> anyhow::Result<String> {
        match flow {
            Flow::Create((cluster, workers)) => {
                let parameters = PostParams::default();
                let cluster = serde_json::from_value(cluster)?;
                self.clusters().create(&parameters, &cluster).await?;
                for worker in workers {
                    let worker = serde_json::from_value(worker)?;
                    self.machine_api().create(&parameters, &worker).await?;
                }
                Ok(CURRENT.kubernetes.to_owned())
            }
            Flow::Upgrade(release) => {
                let patch = Patch::Merge(json!({"spec": {"version": release.kubernetes}}));
                let parameters = PatchParams::default();
                self.clusters().patch(NAME, &parameters, &patch).await?;
                Ok(release.kubernetes.to_owned())
            }
        }
    }

    /// Waits until the cluster and all machines run with a version.
    async fn until_running(&self, version: &str) -> anyhow::Result<()> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let cluster = self.clusters().get(NAME).await?;
            let machines = self
                .machine_api()
                .list(&kube::api::ListParams::default())
                .await?;
            let status = cluster.status.clone().unwrap_or_default();
            let is_running = |machine: &Machine| {
                let status = machine.status.as_ref();
                status.is_some_and(|it| it.phase == MachinePhase::Running)
            };
            if status.phase == ClusterPhase::Running
                && status.version.as_deref() == Some(version)
                && machines.items.len() == CONTROL_PLANES + WORKERS
                && machines.items.iter().all(is_running)
            {
                return Ok(());
            }
            let is_failed = status.phase == ClusterPhase::Failed;
            ensure!(!is_failed, "the cluster failed: {}", status.message);
            ensure!(
                Instant::now() < deadline,
                "the flow did not end: {status:#?}"
            );
            tokio::time::sleep(POLL).await;
        }
    }
}
