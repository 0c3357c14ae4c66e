//! Counts what a copy does, for progress bars and the summary, and stops one that is canceled.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

use crate::upload::Transfer;

/// Counters that a copy updates, and anyone may read.
#[derive(Debug, Default)]
pub struct Progress {
    images: AtomicU64,
    unchanged: AtomicU64,
    expected: AtomicU64,
    done: AtomicU64,
    sent: AtomicU64,
    skipped: AtomicU64,
    mounted: AtomicU64,
    pushed: AtomicU64,
    is_canceled: AtomicBool,
    cancellation: Notify,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Images that are finished, and how many of them the target had before
    pub images: u64,
    pub unchanged: u64,
    /// Bytes of all blobs that are known so far, and how many of them are at the target
    pub expected: u64,
    pub done: u64,
    /// Bytes that were sent
    pub sent: u64,
    /// Blobs that were there, were mounted, and were sent
    pub skipped: u64,
    pub mounted: u64,
    pub pushed: u64,
}

impl Progress {
    pub fn totals(&self) -> Totals {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Totals {
            images: get(&self.images),
            unchanged: get(&self.unchanged),
            expected: get(&self.expected),
            done: get(&self.done),
            sent: get(&self.sent),
            skipped: get(&self.skipped),
            mounted: get(&self.mounted),
            pushed: get(&self.pushed),
        }
    }

    /// Lets work that writes files fail with [`Error::Canceled`](crate::Error::Canceled), and clean up.
    pub fn cancel(&self) {
        self.is_canceled.store(true, Ordering::SeqCst);
        self.cancellation.notify_waiters();
    }

    /// Completes when the work is canceled.
    pub(crate) async fn canceled(&self) {
        // It is notified from now on, so no cancellation is missed.
        let notified = self.cancellation.notified();
        if !self.is_canceled.load(Ordering::SeqCst) {
            notified.await;
        }
    }

    pub(super) fn image_done(&self) {
        self.images.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn skip_image(&self) {
        self.unchanged.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn expect(&self, bytes: u64) {
        self.expected.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn transferred(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A blob of this size is at the target; `counted` bytes of it were reported before.
    pub(crate) fn blob_done(&self, transfer: Transfer, size: u64, counted: u64) {
        let counter = match transfer {
            Transfer::Skipped => &self.skipped,
            Transfer::Mounted => &self.mounted,
            Transfer::Sent => &self.pushed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.done
            .fetch_add(size.saturating_sub(counted), Ordering::Relaxed);
    }
}
