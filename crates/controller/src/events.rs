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

const ELLIPSIS: &str = "…";

/// Events in the queue. Further events are dropped.
const CAPACITY: usize = 1000;

/// Recorders that are kept to count repeated events: those that were used last.
const MAX_RECORDERS: usize = 2000;

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
    let mut recorders = Recorders::new(client);
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
            note: Some(one_line(&event.note)),
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
    last: HashMap<RecorderKey, LastEvent>,
    /// Counts the uses of all recorders.
    uses: u64,
}

/// The uid of an object, and a reason.
type RecorderKey = (Option<String>, String);

/// The last event about an object with a reason.
struct LastEvent {
    note: Option<String>,
    recorder: Recorder,
    /// [`Recorders::uses`] when it was used last.
    used: u64,
}

impl Recorders {
    fn new(client: Client) -> Self {
        Self {
            client,
            last: HashMap::new(),
            uses: 0,
        }
    }

    fn of(&mut self, regarding: &ObjectReference, event: &Event) -> Recorder {
        self.uses += 1;
        let key = (regarding.uid.clone(), event.reason.clone());
        if let Some(last) = self.last.get_mut(&key)
            && last.note == event.note
        {
            last.used = self.uses;
            return last.recorder.clone();
        }
        if self.last.len() >= MAX_RECORDERS && !self.last.contains_key(&key) {
            self.remove_least_recently_used();
        }
        let recorder = Recorder::new(self.client.clone(), Reporter::from("outrigger"));
        let last = LastEvent {
            note: event.note.clone(),
            recorder: recorder.clone(),
            used: self.uses,
        };
        self.last.insert(key, last);
        recorder
    }

    fn remove_least_recently_used(&mut self) {
        let oldest = self.last.iter().min_by_key(|(_, last)| last.used);
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            self.last.remove(&key);
        }
    }
}

/// A note on one line, because `kubectl` prints it in a table, and within the limit of the API.
fn one_line(note: &str) -> String {
    let parts = note.split(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'));
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    let line = parts.collect::<Vec<_>>().join(" ");
    if line.len() <= MAX_NOTE {
        return line;
    }
    let end = line.floor_char_boundary(MAX_NOTE - ELLIPSIS.len());
    format!("{}{ELLIPSIS}", &line[..end])
}

#[cfg(test)]
mod tests {
    use outrigger_testing::embedded_api;

    use super::*;

    #[test]
    fn a_note_of_several_lines_becomes_one_line() {
        let note = "values don't meet the schema:\r\nweb:\n\t- at '/replicas'\n\n";
        assert_eq!(
            one_line(note),
            "values don't meet the schema: web: - at '/replicas'"
        );
    }

    #[test]
    fn a_long_note_is_cut_within_the_limit_at_a_character() {
        assert_eq!(one_line(&"x".repeat(MAX_NOTE)).len(), MAX_NOTE);
        for length in MAX_NOTE / 2..MAX_NOTE / 2 + 4 {
            let note = one_line(&format!("{}{}", "x".repeat(length), "ü".repeat(MAX_NOTE)));
            assert!(note.len() <= MAX_NOTE, "{}", note.len());
            assert!(note.len() > MAX_NOTE - 4, "{}", note.len());
            assert!(note.ends_with("ü…"), "{note}");
        }
    }

    #[tokio::test]
    async fn the_recorders_that_were_used_last_are_kept() {
        let server = embedded_api::start(Duration::from_millis(5)).await;
        let mut recorders = Recorders::new(embedded_api::client(&server));
        let mut use_of = |number: usize| {
            let regarding = ObjectReference {
                uid: Some(number.to_string()),
                ..ObjectReference::default()
            };
            let event = Event {
                type_: EventType::Normal,
                reason: "Installed".to_owned(),
                note: None,
                action: String::new(),
                secondary: None,
            };
            recorders.of(&regarding, &event);
            let mut kept: Vec<usize> = recorders
                .last
                .keys()
                .filter_map(|(uid, _)| uid.as_ref()?.parse().ok())
                .collect();
            kept.sort_unstable();
            kept
        };
        for number in 0..MAX_RECORDERS {
            use_of(number);
        }
        use_of(0);
        let kept = use_of(MAX_RECORDERS);
        assert_eq!(kept.len(), MAX_RECORDERS);
        assert_eq!(kept[..2], [0, 2]);
        server.close().await;
    }
}
