//! The figures side by side, and whether the promises are kept.
#![expect(clippy::print_stdout, reason = "the figures are this program's result")]

use std::time::Duration;

use anyhow::bail;

use super::Figures;

/// One line of the table.
struct Line {
    name: &'static str,
    real: String,
    ours: String,
    /// How many times better we are.
    factor: f64,
    /// What is promised: at least so many times better, and maybe a limit.
    promise: f64,
    within: bool,
}

pub(super) fn print(real: &Figures, ours: &Figures) -> anyhow::Result<()> {
    println!(
        "{:34} {:>16} {:>12} {:>8} {:>9}",
        "", "APISERVER+ETCD", "EMBEDDED", "BETTER", "PROMISED"
    );
    let lines = lines(real, ours);
    let mut missed = Vec::new();
    for line in &lines {
        println!(
            "{:34} {:>16} {:>12} {:>7.1}x {:>8.1}x{}",
            line.name,
            line.real,
            line.ours,
            line.factor,
            line.promise,
            if line.is_kept() { "" } else { "  MISSED" }
        );
        if !line.is_kept() {
            missed.push(line.name);
        }
    }
    if missed.is_empty() {
        return Ok(());
    }
    bail!("promises that are not kept: {}", missed.join(", "));
}

impl Line {
    fn is_kept(&self) -> bool {
        self.within && self.factor >= self.promise
    }
}

fn lines(real: &Figures, ours: &Figures) -> Vec<Line> {
    let time = |name, real: Duration, ours: Duration, promise, within| Line {
        name,
        real: milliseconds(real),
        ours: milliseconds(ours),
        factor: real.as_secs_f64() / ours.as_secs_f64(),
        promise,
        within,
    };
    let size = |name, real: u64, ours: u64, promise, within| Line {
        name,
        real: mebibytes(real),
        ours: mebibytes(ours),
        factor: ratio(real, ours),
        promise,
        within,
    };
    let rate = |name, real: f64, ours: f64, promise| Line {
        name,
        real: format!("{real:.0}/s"),
        ours: format!("{ours:.0}/s"),
        factor: ours / real,
        promise,
        within: true,
    };
    let quick = ours.start < Duration::from_millis(150);
    vec![
        time(
            "start to ready (< 150 ms)",
            real.start,
            ours.start,
            20.0,
            quick,
        ),
        size("memory, idle", real.idle, ours.idle, 8.0, true),
        rate(
            "durable creates, 64 in flight",
            real.creates,
            ours.creates,
            3.0,
        ),
        rate("GETs, 64 in flight", real.gets, ours.gets, 5.0),
        time("LIST of 9,000 objects", real.list, ours.list, 3.0, true),
        time(
            "create to watch event, median",
            real.watch_median,
            ours.watch_median,
            0.0,
            true,
        ),
        time(
            "create to watch event, p99",
            real.watch_slow,
            ours.watch_slow,
            1.0,
            true,
        ),
        size(
            "memory, 10,000 objects (<= 150 MB)",
            real.full,
            ours.full,
            0.0,
            ours.full <= 150_000_000,
        ),
    ]
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

#[expect(clippy::cast_precision_loss, reason = "memory is far below 2^52 bytes")]
fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[expect(clippy::cast_precision_loss, reason = "memory is far below 2^52 bytes")]
fn ratio(real: u64, ours: u64) -> f64 {
    real as f64 / ours as f64
}
