//! Pauses, resumes and cancels a render on another thread.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tokio::sync::Notify;

const RUNNING: u8 = 0;
const PAUSED: u8 = 1;
const CANCELLED: u8 = 2;

/// Shared by a render, which asks whether to stop, and the task that waits for it.
#[derive(Debug, Default)]
pub(super) struct RenderControl {
    state: AtomicU8,
    lock: Mutex<()>,
    changed: Condvar,
    cancelled: Notify,
}

impl RenderControl {
    /// Whether the render is to stop. Blocks while it is paused.
    pub(super) fn interrupted(&self) -> bool {
        match self.state.load(Ordering::Relaxed) {
            RUNNING => false,
            CANCELLED => true,
            _ => self.wait(),
        }
    }

    fn wait(&self) -> bool {
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while self.state.load(Ordering::Relaxed) == PAUSED {
            let woken = self.changed.wait(guard);
            guard = woken.unwrap_or_else(PoisonError::into_inner);
        }
        self.state.load(Ordering::Relaxed) == CANCELLED
    }

    /// Completes when the render is cancelled. At most one caller may wait.
    pub(super) async fn until_cancelled(&self) {
        self.cancelled.notified().await;
    }

    pub(super) fn pause(&self) {
        self.set(PAUSED);
    }

    /// Returns whether the render continues: it may have been cancelled.
    pub(super) fn resume(&self) -> bool {
        self.set(RUNNING)
    }

    pub(super) fn cancel(&self) {
        self.set(CANCELLED);
        self.cancelled.notify_one();
    }

    /// Sets the state, unless the render is cancelled. Returns whether it was set.
    fn set(&self, state: u8) -> bool {
        let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if self.state.load(Ordering::Relaxed) == CANCELLED {
            return false;
        }
        self.state.store(state, Ordering::Relaxed);
        self.changed.notify_all();
        true
    }
}

/// Cancels the render when it is dropped.
#[derive(Debug)]
pub(super) struct CancelOnDrop(pub(super) Arc<RenderControl>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_render_continues_or_is_cancelled() {
        for is_cancelled in [false, true] {
            let control = Arc::new(RenderControl::default());
            let guard = CancelOnDrop(Arc::clone(&control));
            assert!(!control.interrupted());
            control.pause();
            let render = {
                let control = Arc::clone(&control);
                std::thread::spawn(move || control.interrupted())
            };
            if is_cancelled {
                drop(guard);
            } else {
                assert!(control.resume());
            }
            assert_eq!(render.join().unwrap(), is_cancelled);
        }
    }
}
