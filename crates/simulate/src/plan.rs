//! What a reconcile asks for: actions to take now, and actions to take after a delay.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Options;
use super::cache::{Cache, ObjectRef};
use super::object::{changed_fields, name, namespace};

/// One request to the API.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    /// Creates an object in the namespace that it names.
    Create(&'static str, Value),
    /// Applies a merge patch to the object.
    Patch(ObjectRef, Value),
    /// Applies a merge patch to `status`.
    Status(ObjectRef, Value),
    /// Sets annotations through the status subresource, which does not change the generation.
    Annotate(ObjectRef, Value),
    /// Binds a pod to the simulated node.
    Bind(ObjectRef),
    /// Creates an Event. If that fails, nothing is repeated.
    Record(Value),
    Delete(ObjectRef),
    /// Deletes a pod whose containers have terminated.
    DeleteNow(ObjectRef),
}

impl Action {
    /// Updates the fields of `status` that differ from those of the object, if any.
    pub(super) fn update_status(
        plural: &'static str,
        object: &Value,
        status: &Map<String, Value>,
    ) -> Option<Self> {
        let change = changed_fields(&object["status"], status)?;
        Some(Self::Status(ObjectRef::of(plural, object), change))
    }
}

/// Names the verb and the object, but not its contents.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, object) = match self {
            Self::Create(plural, object) => {
                let (namespace, name) = (namespace(object), name(object));
                return write!(f, "create {plural} {namespace}/{name}");
            }
            Self::Record(event) => return write!(f, "record event {}", event["reason"]),
            Self::Patch(object, _) => ("patch", object),
            Self::Status(object, _) => ("update the status of", object),
            Self::Annotate(object, _) => ("annotate", object),
            Self::Bind(object) => ("bind", object),
            Self::Delete(object) | Self::DeleteNow(object) => ("delete", object),
        };
        let ObjectRef {
            plural,
            namespace,
            name,
        } = object;
        write!(f, "{verb} {plural} {namespace}/{name}")
    }
}

/// The result of a reconcile.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) actions: Vec<Action>,
    pub(super) delayed: Option<Delayed>,
}

/// Actions to take after a delay, which begins with the first plan that has this `stage`. A later plan without the
/// stage cancels them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Delayed {
    pub(super) stage: String,
    pub(super) delay: Duration,
    pub(super) actions: Vec<Action>,
}

impl Plan {
    pub(super) fn none() -> Self {
        Self::default()
    }

    pub(super) fn now(actions: impl IntoIterator<Item = Action>) -> Self {
        Self {
            actions: actions.into_iter().collect(),
            delayed: None,
        }
    }

    pub(super) fn after(
        stage: impl Into<String>,
        delay: Duration,
        actions: impl IntoIterator<Item = Action>,
    ) -> Self {
        Self::none().and_after(stage, delay, actions)
    }

    pub(super) fn and_after(
        mut self,
        stage: impl Into<String>,
        delay: Duration,
        actions: impl IntoIterator<Item = Action>,
    ) -> Self {
        self.delayed = Some(Delayed {
            stage: stage.into(),
            delay,
            actions: actions.into_iter().collect(),
        });
        self
    }
}

/// What a reconcile reads beside the object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) cache: &'a Cache,
    pub(super) options: &'a Options,
    pub(super) now: Timestamp,
    /// Why the last plan for the object failed.
    pub(super) failure: Option<&'a str>,
}

impl Context<'_> {
    /// The current time in the format of `metav1.Time`.
    pub(super) fn time(&self) -> Value {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
    }
}
