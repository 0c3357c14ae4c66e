//! `conformance bench`: kube-apiserver with etcd, then the embedded server, measured by the same client.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use outrigger_testing::kubernetes::{self, RealKubernetes};

use crate::client::Client;
use crate::embedded::{self, Embedded};
use crate::endpoint::Endpoint;

mod load;
pub(crate) mod memory;
mod verdict;

/// Objects in the list that is read.
const LISTED: usize = 9_000;
/// Objects when memory is measured.
const ALL: usize = 10_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The outrigger binary
    #[arg(long)]
    binary: PathBuf,
    /// Requests at the same time
    #[arg(long, default_value_t = 64)]
    in_flight: usize,
    /// Starts of the embedded server, of which the median counts
    #[arg(long, default_value_t = 7)]
    starts: usize,
}

/// What one server did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) start: Duration,
    /// Resident bytes, idle and with all objects.
    pub(crate) idle: u64,
    pub(crate) full: u64,
    pub(crate) creates: f64,
    pub(crate) gets: f64,
    pub(crate) list: Duration,
    pub(crate) watch_median: Duration,
    pub(crate) watch_slow: Duration,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let real = measure_real(args).await?;
    let ours = measure_ours(args).await?;
    verdict::print(&real, &ours)
}

async fn measure_real(args: &Args) -> anyhow::Result<Figures> {
    let options = kubernetes::Options {
        controller_manager: false,
        durable: true,
        ..kubernetes::Options::default()
    };
    let server = RealKubernetes::start(options).await?;
    let processes = memory::processes_of(server.folder(), &["etcd", "kube-apiserver"])?;
    let endpoint = Endpoint::read(server.kubeconfig())?;
    measure(args, &endpoint, &processes, server.ready_after()).await
}

async fn measure_ours(args: &Args) -> anyhow::Result<Figures> {
    let scratch = tempfile::tempdir()?;
    let mut starts = Vec::new();
    for round in 0..args.starts {
        let options = options(args, scratch.path().join(format!("start{round}")));
        let (server, elapsed) = start(&options).await?;
        starts.push(elapsed);
        server.kill().await?;
    }
    starts.sort_unstable();
    let median = *starts.get(starts.len() / 2).context("--starts is 0")?;
    let (server, _) = start(&options(args, scratch.path().join("data"))).await?;
    let process = server.id().context("the server is gone")?;
    let figures = measure(args, &server.endpoint, &[process], median).await?;
    server.kill().await?;
    Ok(figures)
}

fn options(args: &Args, data: PathBuf) -> embedded::Options {
    embedded::Options {
        binary: args.binary.clone(),
        data,
        simulate_workloads: false,
    }
}

/// Starts the server on an empty folder, until it answers what the real one must answer.
async fn start(options: &embedded::Options) -> anyhow::Result<(Embedded, Duration)> {
    let begin = Instant::now();
    let server = Embedded::start(options).await?;
    let client = Client::connect(&server.endpoint).await?;
    for path in ["/readyz", "/api/v1/namespaces/default"] {
        let answer = client.get(path).await?;
        if answer.status != 200 {
            bail!("{path} answers {}", answer.status);
        }
    }
    Ok((server, begin.elapsed()))
}

async fn measure(
    args: &Args,
    endpoint: &Endpoint,
    processes: &[u32],
    start: Duration,
) -> anyhow::Result<Figures> {
    // What a server does just after its start is not idling.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let idle = memory::resident(processes)?;
    let load = load::Load::new(endpoint, args.in_flight).await?;
    let creates = load.creates(0, LISTED).await?;
    let list = load.list(LISTED).await?;
    let gets = load.gets(LISTED, Duration::from_secs(6)).await?;
    let mut delays = load.watch(500).await?;
    delays.sort_unstable();
    load.creates(LISTED, ALL - LISTED - delays.len()).await?;
    let percent = |percent: usize| delays[(delays.len() - 1) * percent / 100];
    Ok(Figures {
        start,
        idle,
        full: memory::resident(processes)?,
        creates,
        gets,
        list,
        watch_median: percent(50),
        watch_slow: percent(99),
    })
}
