//! Resource usage of processes, from `/proc`.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

/// `USER_HZ`, which is 100 on every Linux that this runs on.
const TICKS_PER_SECOND: u64 = 100;
/// Interval for checks that no event announces.
const POLL: Duration = Duration::from_millis(500);

/// The user and system CPU time of a process.
pub(crate) fn cpu_time(pid: u32) -> anyhow::Result<Duration> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field, the command in parentheses, may contain spaces.
    let (_, fields) = stat
        .rsplit_once(')')
        .context("no command in /proc/PID/stat")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || -> anyhow::Result<u64> {
        let field = fields.next().context("too few fields in /proc/PID/stat")?;
        Ok(field.parse()?)
    };
    let ticks = ticks()? + ticks()?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// The CPU time of a process once it has been idle for two seconds.
pub(crate) async fn cpu_time_when_idle(pid: u32) -> anyhow::Result<Duration> {
    const IDLE_POLLS: usize = 4;
    const IDLE: Duration = Duration::from_millis(20);
    let mut used = cpu_time(pid)?;
    let mut idle_polls = 0;
    while idle_polls < IDLE_POLLS {
        tokio::time::sleep(POLL).await;
        let now = cpu_time(pid)?;
        let is_idle = now.saturating_sub(used) < IDLE;
        idle_polls = if is_idle { idle_polls + 1 } else { 0 };
        used = now;
    }
    Ok(used)
}

/// The resident memory of processes in bytes.
pub(crate) fn resident_memory(pids: &[u32]) -> anyhow::Result<u64> {
    pids.iter().map(|pid| memory(*pid, "VmRSS:")).sum()
}

/// The peak resident memory of a process in bytes.
pub(crate) fn peak_memory(pid: u32) -> anyhow::Result<u64> {
    memory(pid, "VmHWM:")
}

fn memory(pid: u32, field: &str) -> anyhow::Result<u64> {
    let status = fs_err::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes = kibibytes.with_context(|| format!("no {field} in /proc/{pid}/status"))?;
    Ok(kibibytes.trim().parse::<u64>()? * 1024)
}

/// The processes with these names that have a path below `directory` in their arguments.
pub(crate) fn find_processes(directory: &Path, names: &[&str]) -> anyhow::Result<Vec<u32>> {
    let directory = directory.display().to_string();
    let mut pids = Vec::new();
    for entry in fs_err::read_dir("/proc")? {
        let path = entry?.path();
        let pid = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        let Some(pid) = pid else { continue };
        // The process may have exited since.
        let arguments = fs_err::read_to_string(path.join("cmdline")).unwrap_or_default();
        let program = arguments.split('\0').next().unwrap_or_default();
        let is_named = names.iter().any(|name| Path::new(program).ends_with(name));
        if is_named && arguments.contains(&directory) {
            pids.push(pid);
        }
    }
    ensure!(
        pids.len() == names.len(),
        "not all of {names:?} are running"
    );
    Ok(pids)
}

/// Waits until the machine is idle, so that a measurement does not compete with a server that has just started.
pub(crate) async fn wait_until_idle(within: Duration) -> anyhow::Result<()> {
    const IDLE_PERCENT: u64 = 90;
    let deadline = Instant::now() + within;
    let (mut idle, mut total) = cpu_ticks()?;
    loop {
        tokio::time::sleep(POLL).await;
        let (idle_now, total_now) = cpu_ticks()?;
        if (idle_now - idle) * 100 >= (total_now - total) * IDLE_PERCENT {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "the machine is busy with other work"
        );
        (idle, total) = (idle_now, total_now);
    }
}

/// The idle ticks and the total ticks of all CPUs.
fn cpu_ticks() -> anyhow::Result<(u64, u64)> {
    let stat = fs_err::read_to_string("/proc/stat")?;
    let line = stat.lines().next().context("/proc/stat is empty")?;
    let ticks = line.split_whitespace().skip(1).map(str::parse);
    let ticks: Vec<u64> = ticks.collect::<Result<_, _>>()?;
    let idle = ticks.get(3).context("too few fields in /proc/stat")?;
    Ok((*idle, ticks.iter().sum()))
}
