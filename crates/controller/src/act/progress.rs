//! The progress of a running action.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use outrigger_api::plugin::InventoryEntry;
use outrigger_release::{ActionError, ObjectId};
use tokio::sync::mpsc::Sender;

use super::inventory::{entry, object_id};
use crate::key::Key;
use crate::watch_event::WatchEvent;

/// Updated by a running action, read by the reconcile that runs it.
#[derive(Debug)]
pub(crate) struct Progress {
    key: Key,
    events: Sender<WatchEvent>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    message: Option<String>,
    /// The object that the action waits for until it is healthy.
    awaited: Option<ObjectId>,
    planned: Option<Vec<InventoryEntry>>,
    applied: HashSet<ObjectId>,
    rolled_back: Option<RolledBack>,
}

/// How a failed action was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RolledBack {
    /// The deployed revision was deployed again, as this one.
    To(u32),
    /// A failed installation was uninstalled.
    Uninstalled,
}

impl Progress {
    pub(crate) fn new(key: Key, events: Sender<WatchEvent>) -> Self {
        Self {
            key,
            events,
            state: Mutex::default(),
        }
    }

    /// What the action currently does.
    pub(crate) fn message(&self) -> Option<String> {
        self.lock().message.clone()
    }

    /// The object that the action waits for until it is healthy.
    pub(crate) fn awaited(&self) -> Option<InventoryEntry> {
        let awaited = self.lock().awaited.clone()?;
        Some(entry(&awaited, false, None))
    }

    /// The number of rendered objects, once they are rendered.
    pub(crate) fn rendered_objects(&self) -> Option<usize> {
        self.lock().planned.as_ref().map(Vec::len)
    }

    /// The planned objects that were applied.
    pub(crate) fn take_applied(&self) -> Vec<InventoryEntry> {
        let mut state = self.lock();
        let mut planned = state.planned.take().unwrap_or_default();
        planned.retain(|entry| state.applied.contains(&object_id(entry)));
        planned
    }

    /// How the action was undone, if it failed and was rolled back.
    pub(crate) fn rolled_back(&self) -> Option<RolledBack> {
        self.lock().rolled_back
    }

    pub(super) fn set_rolled_back(&self, error: &ActionError) {
        self.lock().rolled_back = match error {
            ActionError::RolledBack { revision, .. } => Some(RolledBack::To(*revision)),
            ActionError::Uninstalled { .. } => Some(RolledBack::Uninstalled),
            _ => None,
        };
    }

    pub(super) fn set_planned(&self, planned: Vec<InventoryEntry>) {
        self.lock().planned = Some(planned);
    }

    pub(super) fn update(&self, event: outrigger_release::Progress) {
        use outrigger_release::Progress as Event;
        let mut awaited = None;
        let message = match event {
            Event::Waiting { object, message } => {
                self.free_slot();
                let text = format!("{object}: {message}");
                awaited = Some(object);
                text
            }
            Event::HookStarted { event, object } => {
                self.free_slot();
                format!("{event} hook {object} is running")
            }
            Event::Applied {
                object,
                done,
                total,
            } => {
                self.lock().applied.insert(object);
                format!("{done} of {total} objects applied")
            }
            Event::RollingBack { .. } => "rolling back to the previous revision".to_owned(),
            _ => return,
        };
        let mut state = self.lock();
        state.message = Some(message);
        state.awaited = awaited;
    }

    /// Reports that the chart is being rendered, which takes longer than usual.
    pub(super) fn wait_for_render(&self) {
        self.free_slot();
        self.lock().message = Some("the chart is being rendered".to_owned());
    }

    /// Lets another plugin be reconciled while this action waits.
    pub(crate) fn free_slot(&self) {
        // Best effort: if the channel is full, another plugin is delayed.
        let event = WatchEvent::TaskWaiting(self.key.clone());
        let _ = self.events.try_send(event);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
