//! `conformance crash`: the server is killed under load, again and again, on one data folder.
//!
//! Afterwards nothing that was acknowledged is missing, no revision was used for two changes, and watchers that
//! resume from the last revision they saw end up with what the server has.
#![expect(clippy::print_stdout, reason = "the outcome is this program's result")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::client::Client;
use crate::embedded::{self, Embedded, Options};

mod ledger;
mod objects;
mod watcher;
mod writer;

use ledger::Ledger;
use watcher::Watcher;

const WRITERS: usize = 8;
const WATCHERS: usize = 2;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The outrigger binary
    #[arg(long)]
    binary: PathBuf,
    /// How often to kill it
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// For the random times and changes; told at the end of a run
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    fastrand::seed(seed);
    let begin = Instant::now();
    let scratch = tempfile::tempdir()?;
    let options = Options {
        binary: args.binary.clone(),
        data: scratch.path().join("data"),
        simulate_workloads: false,
    };
    let ledger = Ledger::default();
    let mut watchers: Vec<Watcher> = (0..WATCHERS).map(|_| Watcher::default()).collect();
    for round in 0..args.rounds {
        round_of(&options, &ledger, &mut watchers, round)
            .await
            .with_context(|| format!("round {round}, seed {seed}"))?;
    }
    let server = Embedded::start(&options).await?;
    let client = Client::connect(&server.endpoint).await?;
    check(&client, &ledger, &mut watchers, args.rounds).await?;
    server.kill().await?;
    println!(
        "{} kills, {} writes acknowledged, {} events seen; watchers went on {} times and listed again {} times; \
         nothing lost, no revision used twice, no gap; {:.0} s",
        args.rounds,
        ledger.acknowledged(),
        sum(&watchers, |watcher| watcher.seen),
        sum(&watchers, |watcher| watcher.resumed),
        sum(&watchers, |watcher| watcher.listed.len()),
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}

fn sum(watchers: &[Watcher], count: impl Fn(&Watcher) -> usize) -> usize {
    watchers.iter().map(count).sum()
}

/// Starts the server, checks what it has, lets writers and watchers loose on it, and kills it.
async fn round_of(
    options: &Options,
    ledger: &Ledger,
    watchers: &mut Vec<Watcher>,
    round: usize,
) -> anyhow::Result<()> {
    if fastrand::u8(..) < 50 {
        return kill_while_it_starts(options).await;
    }
    let server = Embedded::start(options).await?;
    let client = Client::connect(&server.endpoint).await?;
    check(&client, ledger, watchers, round).await?;
    let readers: Vec<_> = std::mem::take(watchers)
        .into_iter()
        .map(|watcher| tokio::spawn(watcher.follow(client.clone())))
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| tokio::spawn(writer::run(number, client.clone(), ledger.clone())))
        .collect();
    tokio::time::sleep(Duration::from_millis(fastrand::u64(5..500))).await;
    server.kill().await?;
    for writer in writers {
        writer.await??;
    }
    for reader in readers {
        watchers.push(reader.await??);
    }
    Ok(())
}

async fn kill_while_it_starts(options: &Options) -> anyhow::Result<()> {
    let kubeconfig = options.data.with_extension("killed");
    let mut child = embedded::command(options, &kubeconfig).spawn()?;
    tokio::time::sleep(Duration::from_micros(fastrand::u64(..60_000))).await;
    Ok(child.kill().await?)
}

/// Compares what the server has with what was acknowledged, and with what each watcher knows once it caught up.
async fn check(
    client: &Client,
    ledger: &Ledger,
    watchers: &mut [Watcher],
    round: usize,
) -> anyhow::Result<()> {
    let (contents, revision) = objects::list(client).await?;
    ledger.compare(&contents)?;
    let marker = objects::mark(client, round).await?;
    anyhow::ensure!(
        marker > revision,
        "the marker got revision {marker}, not above {revision}"
    );
    for watcher in watchers {
        watcher.catch_up(client, marker).await?;
        watcher.compare(&contents)?;
        ledger.compare_revisions(watcher)?;
    }
    Ok(())
}
