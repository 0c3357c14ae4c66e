//! One reader of the history at its own place.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::watch;

use super::event::Event;
use super::hub::Hub;
use crate::Scope;

/// Most events that a watcher takes out of the history at once.
const BATCH: usize = 64;

/// Most events that a watcher looks at before it lets others into the history.
const SCAN: usize = 1024;

/// The history does not reach back far enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("revision {revision} is too old, the history begins after {compacted}")]
pub struct Expired {
    /// What was asked for.
    pub revision: u64,
    /// The first revision that is served for every resource.
    pub compacted: u64,
}

/// Why a watch is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WatchEnd {
    /// The watcher read so slowly that events which it had not seen left the history.
    #[error("the watcher fell behind the history")]
    Overflow,
    /// The store was closed, and the watcher has seen everything.
    #[error("the store is closed")]
    Closed,
}

/// A place in the history. Dropping it ends the watch.
#[derive(Debug)]
pub struct Watcher {
    hub: Arc<Hub>,
    scope: Scope,
    /// All matching events up to here were taken out of the history.
    seen: u64,
    taken: VecDeque<Arc<Event>>,
    wake: watch::Receiver<()>,
}

/// What a look into the history found.
enum Look {
    Found,
    /// Not all was looked at.
    More,
    Nothing,
}

impl Watcher {
    pub(super) fn new(
        hub: Arc<Hub>,
        scope: Scope,
        revision: u64,
        wake: watch::Receiver<()>,
    ) -> Self {
        Self {
            hub,
            scope,
            seen: revision,
            taken: VecDeque::new(),
            wake,
        }
    }

    /// The next event; waits until there is one. After an end every further call gives the same end.
    ///
    /// Cancel safe: an event is lost to no one if the future is dropped.
    pub async fn next(&mut self) -> Result<Arc<Event>, WatchEnd> {
        loop {
            // Before the look, so that what comes after it wakes again.
            self.wake.mark_unchanged();
            let closed = self.hub.is_closed();
            if let Some(event) = self.ready()? {
                return Ok(event);
            }
            if closed {
                return Err(WatchEnd::Closed);
            }
            // The hub holds the sender, so this cannot fail while we hold the hub.
            let _ = self.wake.changed().await;
        }
    }

    /// The next event if there is one already. Lets a caller send several events at once.
    pub fn ready(&mut self) -> Result<Option<Arc<Event>>, WatchEnd> {
        self.look()?;
        Ok(self.taken.pop_front())
    }

    /// A revision up to which everything that matches was handed out: what a bookmark may say.
    pub fn progress(&mut self) -> Result<u64, WatchEnd> {
        self.look()?;
        Ok(match self.taken.front() {
            Some(event) => event.revision() - 1,
            None => self.seen,
        })
    }

    /// Takes events out of the history if none are at hand.
    fn look(&mut self) -> Result<(), WatchEnd> {
        while self.taken.is_empty() {
            match self.look_once()? {
                Look::More => {}
                Look::Found | Look::Nothing => break,
            }
        }
        Ok(())
    }

    fn look_once(&mut self) -> Result<Look, WatchEnd> {
        // Read before the history: all events up to it are there.
        let revision = self.hub.revision();
        let history = self.hub.read();
        let Some(log) = history.log(&self.scope) else {
            return Ok(Look::Nothing);
        };
        if !log.reaches_back_to(self.seen) {
            return Err(WatchEnd::Overflow);
        }
        for (count, event) in log.after(self.seen).enumerate() {
            if count == SCAN || self.taken.len() == BATCH {
                return Ok(Look::More);
            }
            self.seen = event.revision();
            if self.scope.contains(event.key()) {
                self.taken.push_back(Arc::clone(event));
            }
        }
        self.seen = self.seen.max(revision);
        if self.taken.is_empty() {
            return Ok(Look::Nothing);
        }
        Ok(Look::Found)
    }
}
