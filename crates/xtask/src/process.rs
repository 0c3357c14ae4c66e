//! The port through which tasks start programs.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// A program to run in a folder.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the port through which tasks start programs"
)]
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs it, its output going where ours goes.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("failed to start {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs it, and shows what it printed when it has ended.
#[expect(clippy::print_stderr, reason = "tasks talk to the developer on stderr")]
pub(crate) fn run_quietly(command: &mut Command) -> anyhow::Result<()> {
    let output = command
        .output()
        .with_context(|| format!("failed to start {}", shown(command)))?;
    for text in [&output.stdout, &output.stderr] {
        eprint!("{}", String::from_utf8_lossy(text));
    }
    if !output.status.success() {
        bail!("{} failed: {}", shown(command), output.status);
    }
    Ok(())
}

/// Runs it silently and gives what it printed; if it fails, the error has what it complained of.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .output()
        .with_context(|| format!("failed to start {}", shown(command)))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} failed: {}\n{}",
            shown(command),
            output.status,
            complaint.trim_end()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
