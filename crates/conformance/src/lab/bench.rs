//! `bench cluster`: machines that have booted become nodes that are ready, by `outrigger up` and by a script with plain kubeadm and
//! OpenSSH. Both have the same files, and new machines each time.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use outrigger_testing::lab::Lab;
use outrigger_testing::lab::cluster::{access, add_release, release_folder, spec};
use outrigger_testing::peers::lab::CURRENT;
use serde_json::{Value, json};
use tokio::process::Command;

use super::machines::Machines;
use super::{in_lab, kubeadm, steps};
use crate::bench::Report;
use crate::process::{command, log_tail, open_log};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How often each contender makes each cluster; the median counts
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Control planes of each cluster
    #[arg(long, value_delimiter = ',', default_values_t = [1, 3])]
    control_planes: Vec<usize>,
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Also print when each of our steps ended
    #[arg(long)]
    steps: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contender {
    Outrigger,
    Kubeadm,
}

/// What all turns have in common.
#[derive(Debug, Clone)]
struct Site {
    binary: PathBuf,
    /// Has the provider folder.
    directory: PathBuf,
    prints_steps: bool,
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let provider = directory.path().join("provider");
    add_release(&provider, CURRENT)?;
    let site = Site {
        binary: std::path::absolute(binary)?,
        directory: directory.path().to_owned(),
        prints_steps: args.steps,
    };
    let mut build = command(&site.binary);
    let built = build
        .args(["provider", "build"])
        .arg(&provider)
        .output()
        .await?;
    ensure!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let mut report = Report::default();
    for control_planes in &args.control_planes {
        let shape = (*control_planes, args.workers);
        let (mut ours, mut script) = (Vec::new(), Vec::new());
        for turn in 0..args.turns.max(1) {
            // The speed of a machine varies: the contenders take turns to begin.
            let mut order = [Contender::Outrigger, Contender::Kubeadm];
            order.rotate_left(turn % 2);
            for contender in order {
                let time = measure(site.clone(), contender, shape).await?;
                let times = match contender {
                    Contender::Outrigger => &mut ours,
                    Contender::Kubeadm => &mut script,
                };
                times.push(time);
            }
        }
        let name = format!("{} control planes, {} workers", shape.0, shape.1);
        let (ours, script) = (median(ours)?, median(script)?);
        Report::measured(&format!("{name}: outrigger"), ours.as_secs_f64(), "s");
        Report::measured(&format!("{name}: kubeadm"), script.as_secs_f64(), "s");
        let ratio = ours.as_secs_f64() / script.as_secs_f64();
        report.at_most("  times as long", ratio, 1.0, "x");
    }
    report.finish()
}

fn median(mut times: Vec<Duration>) -> anyhow::Result<Duration> {
    crate::bench::median(&mut times).context("nothing was measured")
}

/// How long a contender takes until all nodes are ready.
async fn measure(
    site: Site,
    contender: Contender,
    (control_planes, workers): (usize, usize),
) -> anyhow::Result<Duration> {
    in_lab(async move |lab| {
        let machines = Machines::boot(lab, control_planes, workers).await?;
        let log = site.directory.join(format!("{contender:?}.log"));
        let mut command = match contender {
            Contender::Outrigger => outrigger(&site, lab, &machines)?,
            Contender::Kubeadm => {
                let files = release_folder(&site.directory.join("provider"), CURRENT);
                kubeadm::script(lab, &machines, &files, CURRENT)?
            }
        };
        command.stdout(open_log(&log)?).stderr(open_log(&log)?);
        let began = jiff::Timestamp::now();
        let start = Instant::now();
        let mut child = command.spawn()?;
        let time = async {
            machines.until_ready().await?;
            anyhow::Ok(start.elapsed())
        };
        let ended = async {
            let status = child.wait().await?;
            // Ours runs on.
            let is_expected = contender == Contender::Kubeadm && status.success();
            ensure!(is_expected, "{contender:?}: {status}\n{}", log_tail(&log));
            Ok(())
        };
        if contender == Contender::Kubeadm {
            let (time, ()) = tokio::try_join!(time, ended)?;
            return Ok(time);
        }
        let time = tokio::select! {
            time = time => time?,
            ended = ended => return ended.map(|()| start.elapsed()),
        };
        let ended = steps::until_running(&site.kubeconfig()).await?;
        if site.prints_steps {
            steps::print(&ended, began);
        }
        Ok(time)
    })
    .await
}

impl Site {
    fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }
}

/// `outrigger up`, which is ended when the cluster and its workers run.
fn outrigger(site: &Site, lab: &Lab, machines: &Machines) -> anyhow::Result<Command> {
    let mut cluster = spec(lab, CURRENT, machines.control_plane())?;
    cluster["features"] = json!({"hookAttempts": 1});
    let mut objects: Vec<Value> = vec![json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "bench"},
        "spec": cluster,
    })];
    for worker in machines.workers() {
        let mut spec = access(lab, worker)?;
        spec["cluster"] = json!("bench");
        objects.push(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine",
            "metadata": {"name": worker.name()}, "spec": spec,
        }));
    }
    let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
    let manifest = site.directory.join("cluster.yaml");
    fs_err::write(&manifest, documents.join("\n---\n"))?;
    let mut up = command(&site.binary);
    up.args(["up", "--cluster"]).arg(&manifest);
    up.arg("--kubeconfig").arg(site.kubeconfig());
    up.arg("--provider").arg(site.directory.join("provider"));
    up.env("XDG_CACHE_HOME", site.directory.join("cache"));
    Ok(up)
}
