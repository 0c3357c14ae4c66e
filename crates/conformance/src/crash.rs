//! Crash tests: a process is killed at a random time, round after round, and must not lose anything.
#![expect(
    clippy::print_stdout,
    reason = "the outcome is the output of this command"
)]

use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How often to kill the process [default: 200 for the API server, flows and the installer, 100 for plugins, 20 for
    /// clusters]
    #[arg(long)]
    rounds: Option<usize>,
    /// Seed of the random times and changes; a run prints it
    #[arg(long)]
    seed: Option<u64>,
}

/// A process that survives crashes, and the state that it must have.
pub(crate) trait CrashTest: Sized {
    const DEFAULT_ROUNDS: usize;
    /// What a round is, in the summary.
    const ROUNDS: &str = "kills";

    /// Prepares the test in an empty directory.
    async fn start(binary: &Path, directory: &Path) -> anyhow::Result<Self>;

    /// Starts the process, kills it at a random time, and checks its state. Rounds are numbered from 1.
    async fn round(&mut self, round: usize) -> anyhow::Result<()>;

    /// Checks the state after the last round, and summarizes the test.
    async fn finish(self) -> anyhow::Result<String>;
}

pub(crate) async fn run<T: CrashTest>(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    fastrand::seed(seed);
    let rounds = args.rounds.unwrap_or(T::DEFAULT_ROUNDS);
    let start = Instant::now();
    let directory = tempfile::tempdir()?;
    let mut test = T::start(binary, directory.path()).await?;
    for round in 1..=rounds {
        let result = test.round(round).await;
        result.with_context(|| format!("round {round}, seed {seed}"))?;
    }
    let summary = test
        .finish()
        .await
        .with_context(|| format!("seed {seed}"))?;
    println!(
        "{rounds} {}, {summary}; seed {seed}, {:.0} s",
        T::ROUNDS,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
