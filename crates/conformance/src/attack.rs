//! Attacks: hostile or unlucky input gets its sender an error, in bounded time and memory, and nobody else notices.
#![expect(
    clippy::print_stdout,
    reason = "the table is the output of this command"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;

#[derive(Debug, clap::Args)]
#[group(skip)] // Its name would be that of the arguments that include these.
pub(crate) struct Args {
    /// Only attacks whose name contains this text
    #[arg(long, default_value = "")]
    attack: String,
    /// Only attacks that take seconds
    #[arg(long)]
    short: bool,
    /// Factor for the limits of time, for a build without optimizations or a busy machine
    #[arg(long, value_name = "FACTOR", default_value_t = 1)]
    pub(crate) patience: u32,
}

/// How an attack ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What the attacker got.
    pub(crate) answer: String,
    /// The peak memory of the attacked process in bytes, if it was measured.
    pub(crate) peak: Option<u64>,
    /// The 99th percentile of the response times of another client, if there is one.
    pub(crate) neighbor: Option<Duration>,
}

/// An attack that the loop can select.
pub(crate) trait Named {
    fn name(&self) -> &str;

    /// Whether the attack takes only seconds.
    fn is_short(&self) -> bool;
}

/// Selected attacks by how they ended.
#[derive(Debug, Default)]
struct Summary {
    repelled: usize,
    succeeded: usize,
    skipped: usize,
}

impl Summary {
    fn result(&self) -> anyhow::Result<String> {
        let run = self.repelled + self.succeeded;
        if self.succeeded > 0 {
            bail!("{} of {run} attacks succeeded", self.succeeded);
        }
        Ok(match self.skipped {
            0 => format!("{run} attacks repelled"),
            skipped => format!("{run} attacks repelled, {skipped} skipped"),
        })
    }
}

/// Runs the selected attacks one after the other, each in an empty directory, and prints a table.
pub(crate) async fn run<A: Named>(
    args: &Args,
    attacks: &[A],
    run: impl AsyncFn(&A, &Path) -> anyhow::Result<Outcome>,
) -> anyhow::Result<()> {
    run_unless(args, attacks, |_| None, run).await
}

/// Like [`run`], but skips the attacks for which there is a reason to.
pub(crate) async fn run_unless<A: Named>(
    args: &Args,
    attacks: &[A],
    skip_reason: impl Fn(&A) -> Option<&'static str>,
    run: impl AsyncFn(&A, &Path) -> anyhow::Result<Outcome>,
) -> anyhow::Result<()> {
    let is_selected =
        |attack: &&A| attack.name().contains(&args.attack) && (attack.is_short() || !args.short);
    println!(
        "{:<52} {:>8} {:>9} {:>9}  ANSWER",
        "ATTACK", "SECONDS", "PEAK MiB", "P99 ms"
    );
    let mut summary = Summary::default();
    for attack in attacks.iter().filter(is_selected) {
        if let Some(reason) = skip_reason(attack) {
            summary.skipped += 1;
            println!("{}", skipped_row(attack.name(), reason));
            continue;
        }
        let directory = tempfile::tempdir()?;
        let start = Instant::now();
        let outcome = run(attack, directory.path()).await;
        let seconds = start.elapsed().as_secs_f64();
        match &outcome {
            Ok(_) => summary.repelled += 1,
            Err(_) => summary.succeeded += 1,
        }
        println!("{}", row(attack.name(), seconds, &outcome));
    }
    println!("{}", summary.result()?);
    Ok(())
}

fn skipped_row(name: &str, reason: &str) -> String {
    format!(
        "{name:<52} {:>8} {:>9} {:>9}  SKIPPED: {reason}",
        "-", "-", "-"
    )
}

fn row(name: &str, seconds: f64, outcome: &anyhow::Result<Outcome>) -> String {
    let (peak, neighbor, answer) = match outcome {
        Ok(outcome) => (outcome.peak, outcome.neighbor, outcome.answer.clone()),
        Err(error) => (None, None, format!("FAILED: {error:#}")),
    };
    let peak = peak.map_or_else(|| "-".to_owned(), |bytes| (bytes >> 20).to_string());
    let neighbor = neighbor.map_or_else(
        || "-".to_owned(),
        |p99| format!("{:.1}", p99.as_secs_f64() * 1000.0),
    );
    format!("{name:<52} {seconds:>8.1} {peak:>9} {neighbor:>9}  {answer}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_attacks_are_not_failures() {
        let summary = Summary {
            repelled: 12,
            succeeded: 0,
            skipped: 2,
        };
        let result = summary.result().unwrap();
        assert_eq!(result, "12 attacks repelled, 2 skipped");
        let summary = Summary {
            succeeded: 1,
            ..summary
        };
        let error = summary.result().unwrap_err().to_string();
        assert_eq!(error, "1 of 13 attacks succeeded");
        assert_eq!(
            skipped_row("API server hangs", "no")
                .split_whitespace()
                .collect::<Vec<_>>(),
            ["API", "server", "hangs", "-", "-", "-", "SKIPPED:", "no"]
        );
    }
}
