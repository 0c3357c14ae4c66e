//! What a process has used so far, as the kernel counts it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

/// Ticks of the kernel's clock in a second: the same on every Linux that this runs on.
const TICKS: u64 = 100;

/// The processor time of a process, with that of the kernel for it.
pub(crate) fn cpu(id: u32) -> anyhow::Result<Duration> {
    let line = fs_err::read_to_string(format!("/proc/{id}/stat"))?;
    // The name, in brackets, may have spaces.
    let (_, rest) = line.rsplit_once(')').context("the line has a name")?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut field =
        || -> anyhow::Result<u64> { Ok(fields.next().context("the line is too short")?.parse()?) };
    let ticks = field()? + field()?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS))
}

/// The most memory that a process had, in bytes.
pub(crate) fn peak_memory(id: u32) -> anyhow::Result<u64> {
    let status = fs_err::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB"));
    let kilobytes: u64 = kilobytes.context("no peak is told")?.trim().parse()?;
    Ok(kilobytes * 1024)
}

/// Waits until the machine has nothing to do: a server that has just started has work of its own.
pub(crate) async fn until_idle(within: Duration) -> anyhow::Result<()> {
    const STEP: Duration = Duration::from_millis(500);
    /// Of a hundred.
    const IDLE: u64 = 90;
    let deadline = Instant::now() + within;
    let mut before = idle_and_all()?;
    loop {
        // There is no event for "nothing happens".
        tokio::time::sleep(STEP).await;
        let now = idle_and_all()?;
        if (now.0 - before.0) * 100 >= (now.1 - before.1) * IDLE {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "the machine is busy with other work"
        );
        before = now;
    }
}

/// The ticks of all processors without work, and all ticks.
fn idle_and_all() -> anyhow::Result<(u64, u64)> {
    let text = fs_err::read_to_string("/proc/stat")?;
    let line = text.lines().next().context("there is no line")?;
    let ticks = line.split_whitespace().skip(1).map(str::parse);
    let ticks: Vec<u64> = ticks.collect::<Result<_, _>>()?;
    let idle = ticks.get(3).context("the line is too short")?;
    Ok((*idle, ticks.iter().sum()))
}
