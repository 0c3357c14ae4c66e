//! Time and peak memory of one run of a program, as the kernel saw it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use wait4::Wait4 as _;

/// What one run cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    pub(super) wall: Duration,
    /// Peak resident memory in bytes.
    pub(super) memory: u64,
}

/// Runs the program to its end, its output thrown away.
pub(super) fn run(command: &mut Command) -> anyhow::Result<Cost> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let child = command
        .spawn()
        .with_context(|| format!("failed to start {command:?}"))?;
    let end = child.wait4()?;
    let wall = start.elapsed();
    if !end.status.success() {
        bail!("{command:?} failed: {}", end.status);
    }
    Ok(Cost {
        wall,
        memory: end.rusage.maxrss,
    })
}

/// The median time, and the greatest memory, of several runs.
pub(super) fn summary(costs: &[Cost]) -> Option<Cost> {
    let mut walls: Vec<_> = costs.iter().map(|cost| cost.wall).collect();
    walls.sort_unstable();
    let wall = *walls.get(walls.len() / 2)?;
    Some(Cost {
        wall,
        memory: costs.iter().map(|cost| cost.memory).max()?,
    })
}
