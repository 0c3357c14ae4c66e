//! The tokio runtime of the commands that serve, and the signals that stop them.

use anyhow::Context as _;
use outrigger_apiserver::transport::raise_open_files_limit;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

pub(super) fn build() -> anyhow::Result<Runtime> {
    raise_open_files_limit();
    Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the tokio runtime")
}

/// Installs the signal handlers. The future completes on SIGTERM or SIGINT.
pub(super) fn shutdown_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let handle = |kind| signal(kind).context("failed to install a signal handler");
    let mut terminate = handle(SignalKind::terminate())?;
    let mut interrupt = handle(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
