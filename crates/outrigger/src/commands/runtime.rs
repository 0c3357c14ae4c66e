//! The tokio runtime of the commands that serve, and the signals that stop them.

use std::time::Duration;

use anyhow::Context as _;
use outrigger_apiserver::transport::raise_open_files_limit;
use rustix::process::Signal;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// How long blocking work, such as a template function, may continue after the command is done.
const BLOCKING_GRACE: Duration = Duration::from_millis(200);

/// Runs a command that serves or connects.
pub(super) fn run<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    raise_open_files_limit();
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the tokio runtime")?;
    let result = runtime.block_on(command);
    runtime.shutdown_timeout(BLOCKING_GRACE);
    result
}

/// Makes writes beyond the limit of file sizes (`ulimit -f`) fail, instead of the process end by a signal.
pub(crate) fn handle_file_size_limit() {
    let Ok(runtime) = Builder::new_current_thread().enable_io().build() else {
        return;
    };
    let _context = runtime.enter();
    // The handler stays installed. Without one, the limit still holds.
    let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
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
