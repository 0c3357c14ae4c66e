//! Waits until objects are healthy, by watches. Objects that are healthy already cost no request.

use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::time::Instant;

use super::{Health, Rules, assess, kstatus};
use crate::cluster::{Cluster, await_condition};
use crate::error::Error;
use crate::id::ObjectId;
use crate::progress::{Progress, Sink};

/// An object that did not become healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReady {
    pub object: ObjectId,
    pub health: Health,
    /// Whether the object was applied before, so that it must exist.
    pub existed: bool,
}

/// In Helm's words.
impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "resource {} not ready. status: {}, message: {}",
            self.object,
            self.health.name(),
            match &self.health {
                Health::NotFound if self.existed => "was deleted before it was ready",
                health => health.message(),
            }
        )
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    #[error("{}{}", list(.objects), if *.timed_out { "\ntimed out waiting" } else { "" })]
    NotReady {
        objects: Vec<NotReady>,
        timed_out: bool,
    },
    #[error(transparent)]
    Cluster(#[from] Error),
}

fn list(objects: &[NotReady]) -> String {
    let lines: Vec<String> = objects.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Object,
    Hook,
}

/// An object to wait for, and its state if that is known.
#[derive(Debug)]
pub(crate) struct WaitTarget {
    id: ObjectId,
    state: Option<Value>,
    kind: Kind,
}

impl WaitTarget {
    pub(crate) fn object(id: ObjectId, state: Option<Value>) -> Self {
        Self {
            id,
            state,
            kind: Kind::Object,
        }
    }

    pub(crate) fn hook(id: ObjectId, state: Value) -> Self {
        Self {
            id,
            state: Some(state),
            kind: Kind::Hook,
        }
    }
}

/// Waits until each object is healthy or failed.
pub async fn wait(
    cluster: &Cluster,
    objects: &[ObjectId],
    rules: &Rules,
    timeout: Duration,
    progress: Sink<'_>,
) -> Result<(), WaitError> {
    let targets = objects.iter().cloned();
    let targets = targets.map(|id| WaitTarget::object(id, None)).collect();
    let deadline = Instant::now() + timeout;
    wait_for(cluster, targets, rules, deadline, progress).await
}

pub(crate) async fn wait_for(
    cluster: &Cluster,
    targets: Vec<WaitTarget>,
    rules: &Rules,
    deadline: Instant,
    progress: Sink<'_>,
) -> Result<(), WaitError> {
    let waits = targets
        .into_iter()
        .map(|target| wait_for_one(cluster, target, rules, deadline, progress));
    let mut objects = Vec::new();
    let mut timed_out = false;
    for result in join_all(waits).await {
        match result? {
            Waited::Healthy => {}
            Waited::Failed(object) => objects.push(object),
            Waited::TimedOut(object) => {
                timed_out = true;
                objects.push(object);
            }
        }
    }
    if objects.is_empty() {
        return Ok(());
    }
    Err(WaitError::NotReady { objects, timed_out })
}

enum Waited {
    Healthy,
    Failed(NotReady),
    TimedOut(NotReady),
}

async fn wait_for_one(
    cluster: &Cluster,
    target: WaitTarget,
    rules: &Rules,
    deadline: Instant,
    progress: Sink<'_>,
) -> Result<Waited, WaitError> {
    let WaitTarget { id, state, kind } = target;
    let existed = state.is_some();
    let mut last = Health::InProgress("not observed yet".to_owned());
    let condition = |object: Option<&Value>| {
        let health = match (object, kind) {
            (None, _) => Health::NotFound,
            (Some(object), Kind::Object) => assess(object, rules),
            (Some(object), Kind::Hook) => kstatus::assess_hook(object),
        };
        let flow = match &health {
            Health::Current => ControlFlow::Break(Waited::Healthy),
            Health::Failed(_) => ControlFlow::Break(Waited::Failed(NotReady {
                object: id.clone(),
                health: health.clone(),
                existed,
            })),
            // It does not come back by itself.
            Health::NotFound if existed => ControlFlow::Break(Waited::Failed(NotReady {
                object: id.clone(),
                health: Health::NotFound,
                existed,
            })),
            _ => ControlFlow::Continue(()),
        };
        if health != last && flow.is_continue() {
            progress(Progress::Waiting {
                object: id.clone(),
                message: health.message().to_owned(),
            });
        }
        last = health;
        flow
    };
    let wait = await_condition(cluster, &id, state, condition);
    let waited = match tokio::time::timeout_at(deadline, wait).await {
        Ok(waited) => waited?,
        Err(_) => Waited::TimedOut(NotReady {
            object: id.clone(),
            health: last,
            existed,
        }),
    };
    if matches!(waited, Waited::Healthy) {
        progress(Progress::Healthy { object: id });
    }
    Ok(waited)
}
