//! Runs programs. No other module of this crate does.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// A command without stdin that runs in a directory.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the port that runs programs in tasks"
)]
pub(crate) fn command(program: impl AsRef<OsStr>, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).stdin(Stdio::null());
    command
}

/// Runs a command with our stdout and stderr.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("failed to start {}", command_line(command)))?;
    if !status.success() {
        bail!("{} failed: {status}", command_line(command));
    }
    Ok(())
}

/// Runs a command and prints its output at the end.
#[expect(clippy::print_stderr, reason = "the output of tasks goes to stderr")]
pub(crate) fn run_captured(command: &mut Command) -> anyhow::Result<()> {
    let output = command
        .output()
        .with_context(|| format!("failed to start {}", command_line(command)))?;
    for text in [&output.stdout, &output.stderr] {
        eprint!("{}", String::from_utf8_lossy(text));
    }
    if !output.status.success() {
        bail!("{} failed: {}", command_line(command), output.status);
    }
    Ok(())
}

/// Runs a command and returns its stdout. If it fails, the error includes its stderr.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .output()
        .with_context(|| format!("failed to start {}", command_line(command)))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} failed: {}\n{}",
            command_line(command),
            output.status,
            stderr.trim_end()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn command_line(command: &Command) -> String {
    let arguments = std::iter::once(command.get_program()).chain(command.get_args());
    arguments
        .map(|argument| argument.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
