//! Events: what happened to a plugin, told once, beside the work.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource as _};
use outrigger_api::plugin::Plugin;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

/// Longest note that the API takes.
const LONGEST_NOTE: usize = 1024;

/// Events that wait to be told. When there are more, the news is not worth the memory.
const WAITING: usize = 1000;

/// Events are told at this pace at most: the work comes first.
const PACE: Duration = Duration::from_millis(20);

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Story {
    pub(crate) is_warning: bool,
    /// `Installed`, `Failed` …
    pub(crate) reason: &'static str,
    pub(crate) note: String,
}

impl Story {
    pub(crate) fn good(reason: &'static str, note: impl Into<String>) -> Self {
        Self {
            is_warning: false,
            reason,
            note: note.into(),
        }
    }

    pub(crate) fn bad(reason: &'static str, note: impl Into<String>) -> Self {
        Self {
            is_warning: true,
            ..Self::good(reason, note)
        }
    }
}

/// Where stories are told.
#[derive(Debug, Clone)]
pub(crate) struct Teller {
    sender: mpsc::Sender<(ObjectReference, Story)>,
}

impl Teller {
    /// Starts telling; it ends when all tellers are gone.
    pub(crate) fn start(client: Client) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::spawn(tell_all(client, receiver));
        Self { sender }
    }

    pub(crate) fn tell(&self, plugin: &Plugin, story: Story) {
        let result = self.sender.try_send((plugin.object_ref(&()), story));
        if result.is_err() {
            tracing::debug!(plugin = plugin.name(), "too many events at once");
        }
    }
}

async fn tell_all(client: Client, mut receiver: mpsc::Receiver<(ObjectReference, Story)>) {
    let recorder = Recorder::new(client, Reporter::from("outrigger"));
    let mut pace = tokio::time::interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while let Some((about, story)) = receiver.recv().await {
        let event = Event {
            type_: if story.is_warning {
                EventType::Warning
            } else {
                EventType::Normal
            },
            reason: story.reason.to_owned(),
            note: Some(shortened(&story.note)),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        pace.tick().await;
        // A namespace that goes takes no events, and who has no rights for them loses nothing else.
        if let Err(error) = recorder.publish(&event, &about).await {
            tracing::debug!(%error, "an event was not taken");
        }
    }
}

fn shortened(note: &str) -> String {
    let mut end = note.len().min(LONGEST_NOTE);
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    note[..end].to_owned()
}
