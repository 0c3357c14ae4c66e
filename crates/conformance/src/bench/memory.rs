//! Resident memory of processes, as the kernel tells it.

use std::path::Path;

use anyhow::Context as _;

/// The sum of the resident bytes of processes.
pub(crate) fn resident(processes: &[u32]) -> anyhow::Result<u64> {
    processes.iter().map(|process| resident_of(*process)).sum()
}

fn resident_of(process: u32) -> anyhow::Result<u64> {
    let status = fs_err::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes = kibibytes.context("the kernel tells no VmRSS")?;
    Ok(kibibytes.parse::<u64>()? * 1024)
}

/// Processes of these names that were started with a path below the folder.
pub(super) fn processes_of(folder: &Path, names: &[&str]) -> anyhow::Result<Vec<u32>> {
    let folder = folder.display().to_string();
    let mut found = Vec::new();
    for entry in fs_err::read_dir("/proc")? {
        let path = entry?.path();
        let process = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        let Some(process) = process else { continue };
        // A process may end while it is looked at.
        let words = fs_err::read_to_string(path.join("cmdline")).unwrap_or_default();
        let program = words.split('\0').next().unwrap_or_default();
        let is_named = names.iter().any(|name| Path::new(program).ends_with(name));
        if is_named && words.contains(&folder) {
            found.push(process);
        }
    }
    anyhow::ensure!(
        found.len() == names.len(),
        "not all of {names:?} are running"
    );
    Ok(found)
}
