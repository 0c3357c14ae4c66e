//! What a state machine asks for: things to do now, and things to do after a while.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::Options;
use super::object::{name, namespace};
use super::world::{Id, World};

/// One call of the API.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    /// Creates an object of a kind in the namespace that it names.
    Create(&'static str, Value),
    /// Merges into the object.
    Patch(Id, Value),
    /// Merges into `status`.
    Status(Id, Value),
    /// Merges annotations, through the status: so no new generation comes of it.
    Annotate(Id, Value),
    /// Puts a pod on the node.
    Bind(Id),
    Delete(Id),
    /// Deletes a pod whose containers have ended.
    DeleteNow(Id),
}

/// Tells what is done to which object, and nothing of what is in it.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, id) = match self {
            Self::Create(plural, object) => {
                let (namespace, name) = (namespace(object), name(object));
                return write!(f, "create {plural} {namespace}/{name}");
            }
            Self::Patch(id, _) => ("patch", id),
            Self::Status(id, _) => ("write the status of", id),
            Self::Annotate(id, _) => ("annotate", id),
            Self::Bind(id) => ("bind", id),
            Self::Delete(id) | Self::DeleteNow(id) => ("delete", id),
        };
        write!(f, "{verb} {} {}/{}", id.plural, id.namespace, id.name)
    }
}

/// What to do about one object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Step {
    pub(super) actions: Vec<Action>,
    pub(super) later: Option<Later>,
}

/// Something that takes time. The time begins when `stage` is first seen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Later {
    pub(super) stage: String,
    pub(super) delay: Duration,
    pub(super) actions: Vec<Action>,
}

impl Step {
    pub(super) fn nothing() -> Self {
        Self::default()
    }

    pub(super) fn now(actions: impl Into<Vec<Action>>) -> Self {
        Self {
            actions: actions.into(),
            later: None,
        }
    }

    pub(super) fn later(
        stage: impl Into<String>,
        delay: Duration,
        actions: impl Into<Vec<Action>>,
    ) -> Self {
        Self::nothing().and_later(stage, delay, actions)
    }

    pub(super) fn and_later(
        mut self,
        stage: impl Into<String>,
        delay: Duration,
        actions: impl Into<Vec<Action>>,
    ) -> Self {
        self.later = Some(Later {
            stage: stage.into(),
            delay,
            actions: actions.into(),
        });
        self
    }
}

/// What a state machine sees beside the object.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) world: &'a World,
    pub(super) options: &'a Options,
    pub(super) now: Timestamp,
}

impl View<'_> {
    /// The time as objects hold it.
    pub(super) fn time(&self) -> Value {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
    }
}
