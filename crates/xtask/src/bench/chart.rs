//! One-shot rendering of real charts: both Helm majors and Outrigger, run in turn.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use outrigger_testing::peers;

use super::measure::{self, Cost};
use crate::process::{command, output};
use crate::{binary, peers as install};

/// Small to huge. Those marked spend their time on making RSA keys.
const CHARTS: &[(&str, Work)] = &[
    ("grafana__rollout-operator", Work::Rendering),
    ("prom__prometheus-redis-exporter", Work::Rendering),
    ("ingress__ingress-nginx", Work::Rendering),
    ("gcommunity__grafana", Work::Rendering),
    ("certmanager__cert-manager", Work::Rendering),
    ("istio__istiod", Work::Rendering),
    ("bitnami__redis", Work::Rendering),
    ("bitnami__airflow", Work::Rendering),
    ("prom__kube-prometheus-stack", Work::Rendering),
    ("argo__argo-cd", Work::Rendering),
    ("prom__prometheus-operator-crds", Work::Rendering),
    ("bitnami__etcd", Work::Keys),
];

/// What a chart spends its time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Rendering,
    Keys,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of chart archives, called `GROUP__CHART.tgz`
    #[arg(long, default_value = "../shared/charts/corpus")]
    corpus: PathBuf,
    /// Runs of each program on each chart
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Only charts whose name has this in it
    #[arg(long, default_value = "")]
    only: String,
}

/// What one chart cost each program.
struct Line {
    chart: &'static str,
    work: Work,
    helm3: Cost,
    helm4: Cost,
    ours: Cost,
}

impl Line {
    fn speed(&self) -> f64 {
        self.helm3.wall.min(self.helm4.wall).as_secs_f64() / self.ours.wall.as_secs_f64()
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "memory in bytes is far below 2^52"
    )]
    fn memory(&self) -> f64 {
        self.ours.memory as f64 / self.helm3.memory.min(self.helm4.memory) as f64
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    install::install(&[peers::HELM3, peers::HELM4])?;
    let ours = binary::release()?;
    let scratch = tempfile::tempdir()?;
    let mut lines = Vec::new();
    print_header();
    for &(chart, work) in CHARTS
        .iter()
        .filter(|(chart, _)| chart.contains(&args.only))
    {
        let folder = unpack(&args.corpus, chart, scratch.path())?;
        let line = measure_chart(chart, work, &folder, &ours, args.rounds)?;
        print_line(&line);
        lines.push(line);
    }
    print_verdict(&lines)
}

/// The programs take turns, so that all see the same moods of the machine; so many runs are one turn.
const IN_A_ROW: usize = 3;

fn unpack(corpus: &Path, chart: &str, scratch: &Path) -> anyhow::Result<PathBuf> {
    let archive = corpus.join(format!("{chart}.tgz"));
    let archive =
        fs_err::canonicalize(archive).context("--corpus names a folder without this chart")?;
    let folder = scratch.join(chart);
    fs_err::create_dir(&folder)?;
    output(command("tar", &folder).args(["-xzf", &archive.display().to_string()]))?;
    let entry = fs_err::read_dir(&folder)?
        .next()
        .context("the archive is empty")??;
    Ok(entry.path())
}

fn measure_chart(
    chart: &'static str,
    work: Work,
    folder: &Path,
    ours: &Path,
    rounds: usize,
) -> anyhow::Result<Line> {
    let helm3 = peers::HELM3.installed()?;
    let helm4 = peers::HELM4.installed()?;
    let template = |program: &Path, prefix: &[&str]| -> Command {
        let mut command = command(program, folder);
        command
            .args(prefix)
            .args(["template", "rel", ".", "--namespace", "ns"]);
        command
    };
    // Key times vary a lot from run to run, and each run takes seconds.
    let rounds = if work == Work::Keys {
        rounds.min(9)
    } else {
        rounds
    };
    let mut costs: [Vec<Cost>; 3] = Default::default();
    for _ in 0..rounds.div_ceil(IN_A_ROW) {
        let programs = [
            template(&helm3, &[]),
            template(&helm4, &[]),
            template(ours, &["chart"]),
        ];
        for (mut program, costs) in programs.into_iter().zip(&mut costs) {
            // What ran before must not tell in the time of a program: its first run is not counted.
            measure::run(&mut program)?;
            for _ in 0..IN_A_ROW {
                costs.push(measure::run(&mut program)?);
            }
        }
    }
    let [helm3, helm4, ours] = costs.map(|costs| measure::summary(&costs));
    let missing = "no round was measured";
    Ok(Line {
        chart,
        work,
        helm3: helm3.context(missing)?,
        helm4: helm4.context(missing)?,
        ours: ours.context(missing)?,
    })
}

#[expect(
    clippy::print_stdout,
    reason = "the measurements are this task's result"
)]
fn print_header() {
    println!(
        "{:32} {:>10} {:>10} {:>10} {:>7} {:>9} {:>9} {:>6}",
        "CHART", "HELM3 ms", "HELM4 ms", "OURS ms", "FASTER", "HELM MiB", "OURS MiB", "SHARE"
    );
}

#[expect(
    clippy::print_stdout,
    reason = "the measurements are this task's result"
)]
fn print_line(line: &Line) {
    let ms = |cost: Cost| cost.wall.as_secs_f64() * 1e3;
    #[expect(
        clippy::cast_precision_loss,
        reason = "memory in bytes is far below 2^52"
    )]
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "{:32} {:>10.1} {:>10.1} {:>10.1} {:>6.1}x {:>9.1} {:>9.1} {:>5.0}%{}",
        line.chart,
        ms(line.helm3),
        ms(line.helm4),
        ms(line.ours),
        line.speed(),
        mib(line.helm3.memory.min(line.helm4.memory)),
        mib(line.ours.memory),
        line.memory() * 100.0,
        if line.work == Work::Keys {
            "  (RSA keys)"
        } else {
            ""
        },
    );
}

/// Compares with what the project promises.
#[expect(
    clippy::print_stdout,
    reason = "the measurements are this task's result"
)]
fn print_verdict(lines: &[Line]) -> anyhow::Result<()> {
    let mut speeds: Vec<f64> = lines
        .iter()
        .filter(|line| line.work == Work::Rendering)
        .map(Line::speed)
        .collect();
    speeds.sort_by(f64::total_cmp);
    let median = speeds.get(speeds.len() / 2).copied().unwrap_or_default();
    let mut missed = Vec::new();
    if !speeds.is_empty() && median < 10.0 {
        missed.push(format!("the median chart is {median:.1}x faster, not 10x"));
    }
    for line in lines {
        let goal = match (line.work, line.chart) {
            (Work::Keys, _) => 1.8,
            (_, "prom__kube-prometheus-stack" | "argo__argo-cd") => 8.0,
            _ => 6.0,
        };
        if line.speed() < goal {
            missed.push(format!(
                "{} is {:.1}x faster, not {goal}x",
                line.chart,
                line.speed()
            ));
        }
        if line.memory() > 0.5 {
            missed.push(format!(
                "{} takes {:.0}% of Helm's memory, not half",
                line.chart,
                line.memory() * 100.0
            ));
        }
    }
    println!("median chart: {median:.1}x faster than the faster Helm");
    if missed.is_empty() {
        return Ok(());
    }
    bail!(
        "not as fast or small as promised:\n  {}",
        missed.join("\n  ")
    );
}
