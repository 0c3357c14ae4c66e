//! A watcher: one reader of the event history.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::watch;

use super::event::Event;
use super::watch_cache::WatchCache;
use crate::Scope;

/// The maximum number of events that a watcher copies from the history at once.
const BATCH: usize = 64;

/// The maximum number of events that a watcher examines before it releases the lock.
const SCAN: usize = 1024;

/// The requested revision is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("revision {revision} is too old, the history begins after {compacted}")]
pub struct Expired {
    pub revision: u64,
    /// The oldest revision at which watches may begin.
    pub compacted: u64,
}

/// Why a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WatchEnd {
    /// The watcher was too slow: events that it had not read were dropped.
    #[error("the watcher fell behind the event history")]
    Overflow,
    /// The store is closed, and the watcher has read all events.
    #[error("the store is closed")]
    Closed,
}

/// A position in the event history. Dropping it ends the watch.
#[derive(Debug)]
pub struct Watcher {
    watch_cache: Arc<WatchCache>,
    scope: Scope,
    /// All matching events up to this revision were copied.
    seen: u64,
    buffer: VecDeque<Arc<Event>>,
    wake: watch::Receiver<()>,
}

enum Poll {
    Found,
    /// There are more events to examine.
    More,
    Nothing,
}

impl Watcher {
    pub(super) fn new(
        watch_cache: Arc<WatchCache>,
        scope: Scope,
        revision: u64,
        wake: watch::Receiver<()>,
    ) -> Self {
        Self {
            watch_cache,
            scope,
            seen: revision,
            buffer: VecDeque::new(),
            wake,
        }
    }

    /// Waits for the next event. After the end, every further call returns the same error.
    ///
    /// Cancel safe: no event is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<Arc<Event>, WatchEnd> {
        loop {
            // Before polling, so that a later event wakes this watcher again.
            self.wake.mark_unchanged();
            let closed = self.watch_cache.is_closed();
            if let Some(event) = self.ready()? {
                return Ok(event);
            }
            if closed {
                return Err(WatchEnd::Closed);
            }
            // The watch cache holds the sender, so this cannot fail.
            let _ = self.wake.changed().await;
        }
    }

    /// The next event without waiting, so that a caller can send several events at once.
    pub fn ready(&mut self) -> Result<Option<Arc<Event>>, WatchEnd> {
        self.poll()?;
        Ok(self.buffer.pop_front())
    }

    /// A revision up to which all matching events were returned, for bookmarks.
    pub fn progress(&mut self) -> Result<u64, WatchEnd> {
        self.poll()?;
        Ok(match self.buffer.front() {
            Some(event) => event.revision() - 1,
            None => self.seen,
        })
    }

    /// Copies events from the history if none are buffered.
    fn poll(&mut self) -> Result<(), WatchEnd> {
        while self.buffer.is_empty() {
            match self.poll_once()? {
                Poll::More => {}
                Poll::Found | Poll::Nothing => break,
            }
        }
        Ok(())
    }

    fn poll_once(&mut self) -> Result<Poll, WatchEnd> {
        // Read before locking: the history has all events up to it.
        let revision = self.watch_cache.revision();
        let history = self.watch_cache.read();
        let Some(log) = history.log(&self.scope) else {
            return Ok(Poll::Nothing);
        };
        if !log.reaches_back_to(self.seen) {
            return Err(WatchEnd::Overflow);
        }
        for (count, event) in log.after(self.seen).enumerate() {
            if count == SCAN || self.buffer.len() == BATCH {
                return Ok(Poll::More);
            }
            self.seen = event.revision();
            if self.scope.contains(event.key()) {
                self.buffer.push_back(Arc::clone(event));
            }
        }
        self.seen = self.seen.max(revision);
        if self.buffer.is_empty() {
            return Ok(Poll::Nothing);
        }
        Ok(Poll::Found)
    }
}
