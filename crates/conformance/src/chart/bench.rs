//! `bench chart`: renders real charts with both Helm majors and with Outrigger, in turn.
#![expect(
    clippy::print_stdout,
    reason = "the report is the output of this command"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use outrigger_testing::peers;

use crate::bench::measure::{self, Cost};
use crate::bench::{Report, mebibytes};
use crate::process::command_in;

/// Charts from small to huge, with what dominates their rendering time.
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
    ("bitnami__etcd", Work::RsaKeys),
];

/// What dominates the rendering time of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Rendering,
    RsaKeys,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory of chart archives named `GROUP__CHART.tgz`
    #[arg(long, default_value = "../shared/charts/corpus")]
    corpus: PathBuf,
    /// Runs of each program on each chart
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Only charts whose name contains this text
    #[arg(long, default_value = "")]
    only: String,
}

/// The measurements of one chart.
struct Row {
    chart: &'static str,
    work: Work,
    helm3: Cost,
    helm4: Cost,
    ours: Cost,
}

impl Row {
    /// How many times faster we are than the faster Helm.
    fn speedup(&self) -> f64 {
        self.helm3.wall.min(self.helm4.wall).as_secs_f64() / self.ours.wall.as_secs_f64()
    }

    /// The peak memory of the Helm that uses less.
    fn helm_memory(&self) -> f64 {
        mebibytes(self.helm3.memory.min(self.helm4.memory))
    }

    /// Our peak memory as a share of Helm's.
    fn memory_share(&self) -> f64 {
        mebibytes(self.ours.memory) / self.helm_memory()
    }
}

pub(crate) fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let mut rows = Vec::new();
    print_header();
    for &(chart, work) in CHARTS
        .iter()
        .filter(|(chart, _)| chart.contains(&args.only))
    {
        let directory = unpack(&args.corpus, chart, scratch.path())?;
        let row = measure_chart(binary, chart, work, &directory, args.rounds)?;
        print_row(&row);
        rows.push(row);
    }
    report(&rows).finish()
}

/// Runs of one program before it is the turn of the next, so that all programs are measured under the same load.
const RUNS_PER_TURN: usize = 3;

fn unpack(corpus: &Path, chart: &str, scratch: &Path) -> anyhow::Result<PathBuf> {
    let archive = corpus.join(format!("{chart}.tgz"));
    let archive = fs_err::canonicalize(archive)
        .context("the --corpus directory has no archive of this chart")?;
    let directory = scratch.join(chart);
    fs_err::create_dir(&directory)?;
    let mut tar = command_in(&directory, "tar");
    let status = tar.arg("-xzf").arg(&archive).status()?;
    ensure!(status.success(), "failed to unpack {}", archive.display());
    let entry = fs_err::read_dir(&directory)?
        .next()
        .context("the archive is empty")??;
    Ok(entry.path())
}

fn measure_chart(
    binary: &Path,
    chart: &'static str,
    work: Work,
    directory: &Path,
    rounds: usize,
) -> anyhow::Result<Row> {
    let helm3 = peers::HELM3.installed()?;
    let helm4 = peers::HELM4.installed()?;
    let template = |program: &Path, prefix: &[&str]| -> Command {
        let mut command = command_in(directory, program);
        command
            .args(prefix)
            .args(["template", "rel", ".", "--namespace", "ns"]);
        command
    };
    // Generating keys takes seconds.
    let rounds = if work == Work::RsaKeys {
        rounds.min(9)
    } else {
        rounds
    };
    let mut costs: [Vec<Cost>; 3] = Default::default();
    for _ in 0..rounds.div_ceil(RUNS_PER_TURN) {
        let programs = [
            template(&helm3, &[]),
            template(&helm4, &[]),
            template(binary, &["chart"]),
        ];
        for (mut program, costs) in programs.into_iter().zip(&mut costs) {
            // The first run warms the caches and is not counted.
            measure::run(&mut program)?;
            for _ in 0..RUNS_PER_TURN {
                costs.push(measure::run(&mut program)?);
            }
        }
    }
    let [helm3, helm4, ours] = costs.map(|costs| measure::summary(&costs));
    let missing = "--rounds is 0";
    Ok(Row {
        chart,
        work,
        helm3: helm3.context(missing)?,
        helm4: helm4.context(missing)?,
        ours: ours.context(missing)?,
    })
}

fn print_header() {
    println!(
        "{:32} {:>10} {:>10} {:>10} {:>7} {:>9} {:>9} {:>6}",
        "CHART", "HELM3 ms", "HELM4 ms", "OURS ms", "FASTER", "HELM MiB", "OURS MiB", "SHARE"
    );
}

fn print_row(row: &Row) {
    let milliseconds = |cost: Cost| cost.wall.as_secs_f64() * 1e3;
    println!(
        "{:32} {:>10.1} {:>10.1} {:>10.1} {:>6.1}x {:>9.1} {:>9.1} {:>5.0}%{}",
        row.chart,
        milliseconds(row.helm3),
        milliseconds(row.helm4),
        milliseconds(row.ours),
        row.speedup(),
        row.helm_memory(),
        mebibytes(row.ours.memory),
        row.memory_share() * 100.0,
        if row.work == Work::RsaKeys {
            "  (RSA keys)"
        } else {
            ""
        },
    );
}

fn report(rows: &[Row]) -> Report {
    let mut report = Report::default();
    let mut speedups: Vec<f64> = rows
        .iter()
        .filter(|row| row.work == Work::Rendering)
        .map(Row::speedup)
        .collect();
    speedups.sort_by(f64::total_cmp);
    if let Some(median) = speedups.get(speedups.len() / 2) {
        report.at_least("median speedup over the faster Helm", *median, 10.0, "x");
    }
    for row in rows {
        let goal = match (row.work, row.chart) {
            (Work::RsaKeys, _) => 1.8,
            (_, "prom__kube-prometheus-stack" | "argo__argo-cd") => 8.0,
            _ => 6.0,
        };
        let (chart, speedup, share) = (row.chart, row.speedup(), row.memory_share());
        report.expect(speedup >= goal, || {
            format!("{chart}: {speedup:.1}x faster, goal: {goal}x")
        });
        report.expect(share <= 0.5, || {
            format!("{chart}: {:.0}% of Helm's memory, goal: 50%", share * 100.0)
        });
    }
    report
}
