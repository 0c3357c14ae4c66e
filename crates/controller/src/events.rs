//! Records Kubernetes events about plugins, clusters and machines, in the background.

use std::collections::HashMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource, ResourceExt as _};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

/// The limit of the API for a note, in bytes.
const MAX_NOTE: usize = 1024;

/// Events in the queue. Further events are dropped.
const CAPACITY: usize = 1000;

/// Recorders that are kept to count repeated events.
const MAX_RECORDERS: usize = 10_000;

/// Minimum time between two events, so that they do not compete with reconciles.
const INTERVAL: Duration = Duration::from_millis(20);

/// An event about a plugin, cluster or machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PluginEvent {
    pub(crate) is_warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) note: String,
}

impl PluginEvent {
    pub(crate) fn normal(reason: impl Into<&'static str>, note: impl Into<String>) -> Self {
        Self {
            is_warning: false,
            reason: reason.into(),
            note: note.into(),
        }
    }

    pub(crate) fn warning(reason: impl Into<&'static str>, note: impl Into<String>) -> Self {
        Self {
            is_warning: true,
            ..Self::normal(reason, note)
        }
    }
}

/// A handle to the task that publishes events. The task ends when all handles are dropped.
#[derive(Debug, Clone)]
pub(crate) struct EventRecorder {
    sender: mpsc::Sender<(ObjectReference, PluginEvent)>,
}

impl EventRecorder {
    pub(crate) fn start(client: Client) -> Self {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        tokio::spawn(publish_all(client, receiver));
        Self { sender }
    }

    /// Queues an event. Never blocks; drops the event if the queue is full.
    pub(crate) fn emit(&self, object: &impl Resource<DynamicType = ()>, event: PluginEvent) {
        let result = self.sender.try_send((object.object_ref(&()), event));
        if result.is_err() {
            let object = object.name_any();
            tracing::debug!(object, "event queue is full, event dropped");
        }
    }
}

async fn publish_all(client: Client, mut receiver: mpsc::Receiver<(ObjectReference, PluginEvent)>) {
    let mut recorders = Recorders {
        client,
        last: HashMap::new(),
    };
    let mut interval = tokio::time::interval(INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while let Some((regarding, event)) = receiver.recv().await {
        let event = Event {
            type_: if event.is_warning {
                EventType::Warning
            } else {
                EventType::Normal
            },
            reason: event.reason.to_owned(),
            note: Some(truncated(&event.note)),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        interval.tick().await;
        let recorder = recorders.of(&regarding, &event);
        // Events are best effort: a terminating namespace rejects them, and so may RBAC.
        if let Err(error) = recorder.publish(&event, &regarding).await {
            tracing::debug!(%error, "failed to publish event");
        }
    }
}

/// A recorder counts the events with one reason about one object, and keeps the note of the first. So that a note is never
/// untrue, another note gets another recorder.
struct Recorders {
    client: Client,
    /// The last note about an object with a reason, and its recorder.
    last: HashMap<(Option<String>, String), (Option<String>, Recorder)>,
}

impl Recorders {
    fn of(&mut self, regarding: &ObjectReference, event: &Event) -> Recorder {
        let key = (regarding.uid.clone(), event.reason.clone());
        if let Some((note, recorder)) = self.last.get(&key)
            && *note == event.note
        {
            return recorder.clone();
        }
        if self.last.len() >= MAX_RECORDERS {
            self.last.clear();
        }
        let recorder = Recorder::new(self.client.clone(), Reporter::from("outrigger"));
        self.last
            .insert(key, (event.note.clone(), recorder.clone()));
        recorder
    }
}

fn truncated(note: &str) -> String {
    let mut end = note.len().min(MAX_NOTE);
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    note[..end].to_owned()
}
