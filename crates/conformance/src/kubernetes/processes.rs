//! The controllers of a cluster, as processes.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use anyhow::Context as _;
use tokio::process::Child;

use crate::process::{command, open_log};

/// A running controller; dropping it kills it.
#[derive(Debug)]
pub(super) struct Process {
    _child: Child,
}

impl Process {
    /// Starts a program, which logs to a file of its name.
    pub(super) fn start(
        program: &Path,
        arguments: &[String],
        directory: &Path,
    ) -> anyhow::Result<Self> {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let log = directory.join(format!("{name}.log"));
        let child = command(program)
            .args(arguments)
            .current_dir(directory)
            .stdout(open_log(&log)?)
            .stderr(open_log(&log)?)
            .spawn()
            .with_context(|| format!("failed to start {name}"))?;
        Ok(Self { _child: child })
    }
}

/// A loopback address with a port that is free now.
pub(super) fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
