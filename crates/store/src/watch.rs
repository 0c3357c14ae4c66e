//! Watches: all changes after a revision, in order, without gaps or duplicates.
//!
//! Watchers have no queues of their own. Each reads the shared event history at its own position, so that a slow watcher
//! costs nothing and cannot block the writer. A watcher that falls behind the history ends.
//! Selectors are up to the caller: an event has the old and the new version of the object.

mod event;
mod history;
mod watch_cache;
mod watcher;

pub use event::Event;
pub use history::HistoryOptions;
pub use watcher::{Expired, WatchEnd, Watcher};

pub(crate) use watch_cache::WatchCache;

#[cfg(test)]
mod tests;
