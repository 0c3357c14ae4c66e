//! What a process has used so far, as the kernel counts it.

use std::time::Duration;

use anyhow::Context as _;

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
