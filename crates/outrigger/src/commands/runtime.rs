//! The tokio runtime of the commands that serve, and the signals that stop them.

use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::Context as _;
use futures::FutureExt as _;
use futures::future::Shared;
use outrigger_apiserver::transport::raise_open_files_limit;
use rustix::process::Signal;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How long blocking work, such as a template function, may continue after the command is done.
const BLOCKING_GRACE: Duration = Duration::from_millis(200);

/// When a command that runs plugins ends after a signal, at the latest.
pub(super) const SHUTDOWN_LIMIT: Duration = Duration::from_millis(900);

/// How long a command that writes files may clean up after a signal.
pub(super) const CLEAN_UP: Duration = Duration::from_secs(10);

/// Runs a command that serves or connects.
pub(super) fn run<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = multi_threaded()?;
    let result = runtime.block_on(command);
    runtime.shutdown_timeout(BLOCKING_GRACE);
    result
}

/// Runs `start` on worker threads, and what it returned on this thread, with a runtime of its own: there it waits for nothing
/// that keeps the workers busy. `None` is the end. The workers are not waited for.
pub(super) fn supervise<T>(
    start: impl Future<Output = anyhow::Result<Option<T>>>,
    supervisor: impl AsyncFnOnce(Handle, T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let workers = multi_threaded()?;
    let own = Builder::new_current_thread().enable_all().build();
    let own = own.context("failed to start the tokio runtime")?;
    let result = match workers.block_on(start) {
        Ok(Some(started)) => own.block_on(supervisor(workers.handle().clone(), started)),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    workers.shutdown_background();
    own.shutdown_background();
    result
}

fn multi_threaded() -> anyhow::Result<Runtime> {
    raise_open_files_limit();
    let runtime = Builder::new_multi_thread().enable_all().build();
    runtime.context("failed to start the tokio runtime")
}

/// Makes writes beyond the limit of file sizes (`ulimit -f`) fail, instead of the process end by a signal.
pub(crate) fn handle_file_size_limit() {
    // The handler stays installed; nothing reads the flag. Without a handler, the limit still holds.
    let _ = signal_hook::flag::register(Signal::XFSZ.as_raw(), Arc::default());
}

/// Installs the signal handlers. The future completes on SIGTERM or SIGINT.
///
/// Also lets the allocator return memory, while nothing is allocated too. Its threads would delay the start of short
/// commands, which gain from huge pages.
///
/// A thread waits for the signals, so that they are noticed while all threads of the runtime are busy. With a limit, it also
/// ends the process if that has not ended by itself.
pub(super) fn shutdown_signal(
    limit: Option<Duration>,
) -> anyhow::Result<Shared<impl Future<Output = ()>>> {
    // Without its threads, the allocator returns memory when it is used again.
    let _ = tikv_jemalloc_ctl::background_thread::write(true);
    // With them, it returns less memory.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let (request, mut requested) = watch::channel(false);
    let (installed, installation) = mpsc::channel();
    let thread = std::thread::Builder::new().name("signals".to_owned());
    let spawned = thread.spawn(move || {
        if let Err(error) = wait_for_signal(&installed) {
            // Fails if the handlers were installed before: then there is no signal.
            let _ = installed.send(Err(error));
            return;
        }
        request.send_replace(true);
        if let Some(limit) = limit {
            std::thread::sleep(limit);
            end_process();
        }
    });
    spawned.context("failed to start a thread")?;
    let result = installation.recv().context("the signal thread panicked")?;
    result.context("failed to install a signal handler")?;
    Ok(async move {
        if requested
            .wait_for(|is_requested| *is_requested)
            .await
            .is_err()
        {
            // Without the thread there are no signals any more.
            std::future::pending::<()>().await;
        }
    }
    .shared())
}

/// Waits for SIGTERM or SIGINT, after it has reported that the handlers are installed.
fn wait_for_signal(installed: &mpsc::Sender<io::Result<()>>) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        // The receiver waits for it.
        let _ = installed.send(Ok(()));
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(())
    })
}

#[expect(
    clippy::exit,
    reason = "the last resort: whatever still runs is resumed after the next start"
)]
fn end_process() -> ! {
    std::process::exit(1)
}
