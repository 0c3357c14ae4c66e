//! Watching: every change after a revision, in order, without gap or duplicate, to any number of watchers.
//!
//! There is no queue for each watcher. All read one history that the writer appends to, each at its own place;
//! so a slow watcher costs nothing and cannot hold up the writer. One that falls behind the history is ended.
//! Selectors are not known here: an event carries the old and the new object, so the caller can translate.

mod event;
mod history;
mod hub;
mod watcher;

pub use event::Event;
pub use history::HistoryOptions;
pub use watcher::{Expired, WatchEnd, Watcher};

pub(crate) use hub::Hub;

#[cfg(test)]
mod tests;
