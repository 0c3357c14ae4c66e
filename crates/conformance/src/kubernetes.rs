//! `conformance kubernetes`: runs specs of Kubernetes' own e2e suite on the embedded API server, first with simulated
//! workloads, then with the real controllers, and on a real server where both fail.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;

mod clusters;
mod processes;
mod report;
mod selection;
mod suite;

use clusters::Cluster;
use report::{Outcome, Row, Verdict};
use selection::Selection;
use suite::Suite;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only specs whose name contains this text
    #[arg(long, default_value = "")]
    focus: String,
    /// How many specs run at the same time
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// After how many seconds without a result a spec is interrupted
    #[arg(long, default_value_t = 60)]
    limit: u64,
    /// Run on the real server only
    #[arg(long)]
    only_real: bool,
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let start = Instant::now();
    let scratch = tempfile::Builder::new()
        .prefix("outrigger-e2e-")
        .tempdir()?;
    let suite = Suite::new(scratch.path(), args.jobs, Duration::from_secs(args.limit))?;
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("kubernetes");
    let selection = Selection::load(&directory.join("left-out.yaml"))?;
    let chosen = selection.choose(suite.list().await?, &args.focus);
    if chosen.run.is_empty() {
        bail!("no spec contains {:?}", args.focus);
    }
    let mut outcomes: BTreeMap<String, Row> = BTreeMap::new();
    let stages: &[Cluster] = if args.only_real {
        &[Cluster::Real]
    } else {
        &[Cluster::Simulated, Cluster::WithControllers, Cluster::Real]
    };
    let mut left: Vec<String> = chosen.run.clone();
    for cluster in stages {
        if left.is_empty() {
            break;
        }
        let results = run_on(*cluster, binary, scratch.path(), &suite, left).await?;
        left = Vec::new();
        for (name, outcome) in results {
            if !outcome.is_passed() {
                left.push(name.clone());
            }
            outcomes.entry(name).or_default().insert(*cluster, outcome);
        }
    }
    report::print(&outcomes, &chosen.left_out, start.elapsed());
    let ours: Vec<&str> = outcomes
        .iter()
        .filter(|(_, row)| row.verdict() == Verdict::Ours)
        .map(|(name, _)| name.as_str())
        .collect();
    if !ours.is_empty() {
        bail!("{} specs fail only on the embedded server", ours.len());
    }
    Ok(())
}

/// Runs specs on a cluster: those that need it alone one after the other, at the end.
async fn run_on(
    cluster: Cluster,
    binary: &Path,
    scratch: &Path,
    suite: &Suite,
    specs: Vec<String>,
) -> anyhow::Result<Vec<(String, Outcome)>> {
    let running = clusters::start(cluster, binary, scratch).await?;
    let (serial, parallel) = specs
        .into_iter()
        .partition(|spec| selection::is_serial(spec));
    let mut results = suite.run(running.kubeconfig(), parallel, cluster).await?;
    let alone = suite.alone();
    results.extend(alone.run(running.kubeconfig(), serial, cluster).await?);
    Ok(results)
}
