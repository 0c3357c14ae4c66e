//! Measures the wall time and the peak memory of a process.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use wait4::Wait4 as _;

use super::median;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    /// Peak resident memory in bytes.
    pub(crate) memory: u64,
}

/// Runs a program and discards its output.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<Cost> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let child = command
        .spawn()
        .with_context(|| format!("failed to start {command:?}"))?;
    let usage = child.wait4()?;
    let wall = start.elapsed();
    if !usage.status.success() {
        bail!("{command:?} failed: {}", usage.status);
    }
    Ok(Cost {
        wall,
        memory: usage.rusage.maxrss,
    })
}

/// The median time and the maximum memory of several runs.
pub(crate) fn summary(costs: &[Cost]) -> Option<Cost> {
    let mut walls: Vec<_> = costs.iter().map(|cost| cost.wall).collect();
    Some(Cost {
        wall: median(&mut walls)?,
        memory: costs.iter().map(|cost| cost.memory).max()?,
    })
}
