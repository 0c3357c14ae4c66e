//! `bench apiserver`: measures kube-apiserver with etcd, then the embedded server, with the same client.
#![expect(
    clippy::print_stdout,
    reason = "the report is the output of this command"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use outrigger_testing::kubernetes::{self, RealKubernetes};

use crate::bench::{Report, median};
use crate::client::{Client, Endpoint};
use crate::process::{EmbeddedServer, Options};
use crate::procfs;

mod load;

/// Objects in the list that is read.
const LISTED: usize = 9_000;
/// Objects in the server when its memory is measured.
const TOTAL: usize = 10_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Concurrent requests
    #[arg(long, default_value_t = 64)]
    in_flight: usize,
    /// Starts of the embedded server; the report has the median
    #[arg(long, default_value_t = 7)]
    starts: usize,
}

/// The measurements of one server.
#[derive(Debug, Clone, Copy)]
struct Measurements {
    startup: Duration,
    /// Resident memory in bytes, without objects and with `TOTAL` objects.
    idle_memory: u64,
    full_memory: u64,
    creates_per_second: f64,
    gets_per_second: f64,
    list: Duration,
    watch_median: Duration,
    watch_p99: Duration,
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let real = measure_real(args).await?;
    let embedded = measure_embedded(binary, args).await?;
    report(&real, &embedded).finish()
}

async fn measure_real(args: &Args) -> anyhow::Result<Measurements> {
    let options = kubernetes::Options {
        controller_manager: false,
        durable: true,
        ..kubernetes::Options::default()
    };
    let server = RealKubernetes::start(options).await?;
    let pids = procfs::find_processes(server.directory(), &["etcd", "kube-apiserver"])?;
    let endpoint = Endpoint::read(server.kubeconfig())?;
    measure(args, &endpoint, &pids, server.ready_after()).await
}

async fn measure_embedded(binary: &Path, args: &Args) -> anyhow::Result<Measurements> {
    let scratch = tempfile::tempdir()?;
    let options = |data: String| Options {
        binary: binary.to_owned(),
        data: scratch.path().join(data),
        simulate_workloads: false,
    };
    let mut startups = Vec::new();
    for round in 0..args.starts {
        let (mut server, startup) = start(&options(format!("start{round}"))).await?;
        startups.push(startup);
        server.kill().await?;
    }
    let startup = median(&mut startups).context("--starts is 0")?;
    let (mut server, _) = start(&options("data".to_owned())).await?;
    let measurements = measure(args, &server.endpoint, &[server.pid()?], startup).await?;
    server.kill().await?;
    Ok(measurements)
}

/// Starts the server on an empty data directory until it passes the readiness check of the real server.
async fn start(options: &Options) -> anyhow::Result<(EmbeddedServer, Duration)> {
    let start = Instant::now();
    let server = EmbeddedServer::start(options).await?;
    let client = Client::connect(&server.endpoint).await?;
    for path in ["/readyz", "/api/v1/namespaces/default"] {
        let response = client.get(path).await?;
        if response.status() != 200 {
            bail!("{path} returned {}", response.status());
        }
    }
    Ok((server, start.elapsed()))
}

async fn measure(
    args: &Args,
    endpoint: &Endpoint,
    pids: &[u32],
    startup: Duration,
) -> anyhow::Result<Measurements> {
    // Background work that follows the start must not count as idle.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let idle_memory = procfs::resident_memory(pids)?;
    let load = load::Load::new(endpoint, args.in_flight).await?;
    let creates_per_second = load.create(0, LISTED).await?;
    let list = load.list(LISTED).await?;
    let gets_per_second = load.get(LISTED, Duration::from_secs(6)).await?;
    let mut latencies = load.watch(500).await?;
    latencies.sort_unstable();
    load.create(LISTED, TOTAL - LISTED - latencies.len())
        .await?;
    let percentile = |percent: usize| latencies[(latencies.len() - 1) * percent / 100];
    Ok(Measurements {
        startup,
        idle_memory,
        full_memory: procfs::resident_memory(pids)?,
        creates_per_second,
        gets_per_second,
        list,
        watch_median: percentile(50),
        watch_p99: percentile(99),
    })
}

/// One row of the report.
struct Row {
    name: &'static str,
    real: String,
    embedded: String,
    /// How many times better the embedded server is.
    factor: f64,
    /// The least acceptable factor.
    goal: f64,
    /// Whether the embedded server is within an absolute limit.
    is_within_limit: bool,
}

fn report(real: &Measurements, embedded: &Measurements) -> Report {
    let mut report = Report::default();
    println!(
        "{:34} {:>16} {:>12} {:>8} {:>9}",
        "", "APISERVER+ETCD", "EMBEDDED", "BETTER", "GOAL"
    );
    for row in rows(real, embedded) {
        let is_met = row.is_within_limit && row.factor >= row.goal;
        println!(
            "{:34} {:>16} {:>12} {:>7.1}x {:>8.1}x{}",
            row.name,
            row.real,
            row.embedded,
            row.factor,
            row.goal,
            if is_met { "" } else { "  MISSED" }
        );
        report.expect(is_met, || row.name);
    }
    report
}

fn rows(real: &Measurements, embedded: &Measurements) -> Vec<Row> {
    let time = |name, real: Duration, embedded: Duration, goal, is_within_limit| Row {
        name,
        real: format!("{:.1} ms", real.as_secs_f64() * 1e3),
        embedded: format!("{:.1} ms", embedded.as_secs_f64() * 1e3),
        factor: real.as_secs_f64() / embedded.as_secs_f64(),
        goal,
        is_within_limit,
    };
    let size = |name, real: u64, embedded: u64, goal, is_within_limit| Row {
        name,
        real: format!("{:.1} MB", megabytes(real)),
        embedded: format!("{:.1} MB", megabytes(embedded)),
        factor: megabytes(real) / megabytes(embedded),
        goal,
        is_within_limit,
    };
    let rate = |name, real: f64, embedded: f64, goal| Row {
        name,
        real: format!("{real:.0}/s"),
        embedded: format!("{embedded:.0}/s"),
        factor: embedded / real,
        goal,
        is_within_limit: true,
    };
    let (r, e) = (real, embedded);
    let is_fast = e.startup < Duration::from_millis(150);
    let is_small = e.full_memory <= 150_000_000;
    vec![
        time(
            "start to ready (< 150 ms)",
            r.startup,
            e.startup,
            20.0,
            is_fast,
        ),
        size("memory, idle", r.idle_memory, e.idle_memory, 8.0, true),
        rate(
            "durable creates, 64 in flight",
            r.creates_per_second,
            e.creates_per_second,
            3.0,
        ),
        rate(
            "GETs, 64 in flight",
            r.gets_per_second,
            e.gets_per_second,
            5.0,
        ),
        time("LIST of 9,000 objects", r.list, e.list, 3.0, true),
        time(
            "create to watch event, median",
            r.watch_median,
            e.watch_median,
            0.0,
            true,
        ),
        time(
            "create to watch event, p99",
            r.watch_p99,
            e.watch_p99,
            1.0,
            true,
        ),
        size(
            "memory, 10,000 objects (<= 150 MB)",
            r.full_memory,
            e.full_memory,
            0.0,
            is_small,
        ),
    ]
}

#[expect(
    clippy::cast_precision_loss,
    reason = "memory in bytes is far below 2^52"
)]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
