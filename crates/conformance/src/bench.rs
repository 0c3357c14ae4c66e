//! The report of a benchmark: measurements, and which of them miss their goals.
#![expect(
    clippy::print_stdout,
    reason = "the report is the output of this command"
)]

use std::fmt::Display;

use anyhow::bail;

pub(crate) mod measure;

/// Prints measurements as they come in, and collects missed goals.
#[derive(Debug, Default)]
pub(crate) struct Report {
    missed: Vec<String>,
}

impl Report {
    /// Prints a measurement without a goal.
    pub(crate) fn measured(name: &str, value: f64, unit: &str) {
        println!("{name:52} {value:>10.2} {unit}");
    }

    /// Prints a measurement that must not exceed a limit.
    pub(crate) fn at_most(&mut self, name: &str, value: f64, limit: f64, unit: &str) {
        let goal = format!("at most {limit} {unit}");
        println!("{name:52} {value:>10.2} {unit:4} {goal}");
        self.expect(value <= limit, || {
            format!("{name}: {value:.2} {unit}, goal: {goal}")
        });
    }

    /// Prints a measurement that must not be below a limit.
    pub(crate) fn at_least(&mut self, name: &str, value: f64, limit: f64, unit: &str) {
        let goal = format!("at least {limit} {unit}");
        println!("{name:52} {value:>10.2} {unit:4} {goal}");
        self.expect(value >= limit, || {
            format!("{name}: {value:.2} {unit}, goal: {goal}")
        });
    }

    /// Records a goal as missed unless it is met.
    pub(crate) fn expect<T: Display>(&mut self, is_met: bool, describe: impl FnOnce() -> T) {
        if !is_met {
            self.missed.push(describe().to_string());
        }
    }

    /// Fails if a goal was missed.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        if self.missed.is_empty() {
            return Ok(());
        }
        bail!("missed goals:\n  {}", self.missed.join("\n  "));
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "memory in bytes is far below 2^52"
)]
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The median of measurements; `None` if there are none.
pub(crate) fn median<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}
