//! The control groups of labs: `/sys/fs/cgroup/<controller>/<lab>/<machine>`. The name of a lab tells whether its harness
//! still runs.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context as _;

use crate::machines::{command, run};

const ROOT: &str = "/sys/fs/cgroup";
const PREFIX: &str = "outrigger-lab-";

/// A name that no other lab has: process id and start time of the harness, and a number.
pub(super) fn new_id() -> anyhow::Result<String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let pid = std::process::id();
    let start = start_time(pid).context("failed to read the start time of this process")?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    Ok(format!("{PREFIX}{pid}-{start}-{number}"))
}

/// Removes groups that were left because the harness and the shell that outlives it were both killed.
pub(super) fn remove_those_of_dead_labs() -> anyhow::Result<()> {
    for hierarchy in fs_err::read_dir(ROOT)? {
        let hierarchy = hierarchy?.path();
        for group in fs_err::read_dir(&hierarchy).into_iter().flatten().flatten() {
            let name = group.file_name();
            if is_of_dead_lab(&name.to_string_lossy(), start_time) {
                remove(&group.path())?;
            }
        }
    }
    Ok(())
}

/// Another process may remove the groups at the same time, and groups with processes stay.
fn remove(group: &Path) -> anyhow::Result<()> {
    let mut find = command("find");
    find.arg(group).args(["-depth", "-type", "d", "-delete"]);
    match run(&mut find) {
        Err(_) if !group.exists() => Ok(()),
        result => result.map(drop),
    }
}

/// Whether a group is that of a lab whose harness has ended. Process ids are reused; start times tell them apart.
fn is_of_dead_lab(name: &str, start_time: impl Fn(u32) -> Option<u64>) -> bool {
    let harness = || {
        let mut parts = name.strip_prefix(PREFIX)?.split('-');
        let pid: u32 = parts.next()?.parse().ok()?;
        let start: u64 = parts.next()?.parse().ok()?;
        Some((pid, start))
    };
    harness().is_some_and(|(pid, start)| start_time(pid) != Some(start))
}

/// When a process started, in clock ticks since boot.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may contain spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_is_dead_if_its_harness_is_or_if_another_process_has_its_id() {
        let processes = |pid| (pid == 7).then_some(100);
        assert!(!is_of_dead_lab("outrigger-lab-7-100-0", processes));
        assert!(is_of_dead_lab("outrigger-lab-7-99-0", processes));
        assert!(is_of_dead_lab("outrigger-lab-8-100-1", processes));
        assert!(!is_of_dead_lab("outrigger-lab-", processes));
        assert!(!is_of_dead_lab("docker-8-100-1", processes));
    }

    #[test]
    fn the_labs_of_this_process_are_alive() {
        let id = new_id().unwrap();
        assert_ne!(id, new_id().unwrap());
        assert!(!is_of_dead_lab(&id, start_time));
    }
}
