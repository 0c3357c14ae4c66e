//! Background tasks that end with their owner, and computations that other tasks do not wait for.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::AbortHandle;

/// Computations over less data take less time than moving the other tasks of a worker elsewhere.
const MAX_INLINE: usize = 16 << 10;

/// A handle to a task that is aborted when the handle is dropped.
#[derive(Debug)]
pub(crate) struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Spawns a task that is aborted when the handle is dropped.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> AbortOnDrop {
    AbortOnDrop(tokio::spawn(task).abort_handle())
}

/// Runs a computation over `size` bytes. If these are many, other tasks of this worker continue on another one.
pub(crate) fn run_blocking<T>(size: usize, compute: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) if size > MAX_INLINE => tokio::task::block_in_place(compute),
        _ => compute(),
    }
}
