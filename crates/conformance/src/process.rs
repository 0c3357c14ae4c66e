//! Starts processes: the embedded API server, the controller and peers. No other module of this crate does.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;

use anyhow::ensure;
use tokio::process::Command;

mod controller;
mod embedded_server;

pub(crate) use controller::Controller;
pub(crate) use embedded_server::{ANY_PORT, EmbeddedServer, Options};

/// A command without stdin whose process is killed on drop.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// A command without stdin that runs in a directory, for synchronous callers.
pub(crate) fn command_in(directory: &Path, program: impl AsRef<OsStr>) -> std::process::Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).current_dir(directory);
    command.into_std()
}

/// Opens the log file of a process, which restarts append to.
pub(crate) fn open_log(path: &Path) -> anyhow::Result<Stdio> {
    let file = fs_err::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    Ok(Stdio::from(file.into_parts().0))
}

/// The last lines of a log file, for an error message.
pub(crate) fn log_tail(path: &Path) -> String {
    const LINES: usize = 20;
    let log = fs_err::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// Sends a signal, such as `STOP`, to a process.
pub(crate) async fn signal(name: &str, pid: u32) -> anyhow::Result<()> {
    let mut kill = command("kill");
    let status = kill
        .args(["-s", name])
        .arg(pid.to_string())
        .status()
        .await?;
    ensure!(status.success(), "kill -s {name} {pid} failed");
    Ok(())
}
