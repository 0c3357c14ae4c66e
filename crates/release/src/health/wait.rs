//! Waits until objects are healthy, by watches. What is healthy already costs nothing.

use std::fmt;
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::time::Instant;

use super::{Health, Rules, assess, builtin};
use crate::cluster::{Cluster, Verdict, follow};
use crate::error::Error;
use crate::id::ObjectId;
use crate::progress::{Progress, Sink};

/// An object that did not become healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unhealthy {
    pub object: ObjectId,
    pub health: Health,
}

/// In Helm's words.
impl fmt::Display for Unhealthy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "resource {} not ready. status: {}, message: {}",
            self.object,
            self.health.name(),
            self.health.message()
        )
    }
}

/// Why waiting ended without success.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    #[error("{}{}", list(.unhealthy), if *.timed_out { "\ntimed out waiting" } else { "" })]
    Unhealthy {
        unhealthy: Vec<Unhealthy>,
        timed_out: bool,
    },
    #[error(transparent)]
    Cluster(#[from] Error),
}

fn list(unhealthy: &[Unhealthy]) -> String {
    let lines: Vec<String> = unhealthy.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// How an object is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Hook,
}

/// An object to wait for, and its state if that is known.
#[derive(Debug)]
pub(crate) struct Awaited {
    pub(crate) id: ObjectId,
    pub(crate) state: Option<Value>,
    kind: Kind,
}

impl Awaited {
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

/// Waits until all objects are healthy, or none of the others will be without help.
pub async fn wait(
    cluster: &Cluster,
    objects: &[ObjectId],
    rules: &Rules,
    timeout: Duration,
    progress: Sink<'_>,
) -> Result<(), WaitError> {
    let awaited = objects.iter().cloned();
    let awaited = awaited.map(|id| Awaited::object(id, None)).collect();
    let deadline = Instant::now() + timeout;
    wait_for(cluster, awaited, rules, deadline, progress).await
}

pub(crate) async fn wait_for(
    cluster: &Cluster,
    awaited: Vec<Awaited>,
    rules: &Rules,
    deadline: Instant,
    progress: Sink<'_>,
) -> Result<(), WaitError> {
    let waits = awaited
        .into_iter()
        .map(|one| wait_for_one(cluster, one, rules, deadline, progress));
    let mut unhealthy = Vec::new();
    let mut timed_out = false;
    for result in join_all(waits).await {
        match result? {
            Ended::Healthy => {}
            Ended::Failed(one) => unhealthy.push(one),
            Ended::Late(one) => {
                timed_out = true;
                unhealthy.push(one);
            }
        }
    }
    if unhealthy.is_empty() {
        return Ok(());
    }
    Err(WaitError::Unhealthy {
        unhealthy,
        timed_out,
    })
}

enum Ended {
    Healthy,
    Failed(Unhealthy),
    Late(Unhealthy),
}

async fn wait_for_one(
    cluster: &Cluster,
    awaited: Awaited,
    rules: &Rules,
    deadline: Instant,
    progress: Sink<'_>,
) -> Result<Ended, WaitError> {
    let Awaited { id, state, kind } = awaited;
    let mut last = Health::InProgress("not looked at yet".to_owned());
    let judge = |object: Option<&Value>| {
        let health = match (object, kind) {
            (None, _) => Health::Missing,
            (Some(object), Kind::Object) => assess(object, rules),
            (Some(object), Kind::Hook) => builtin::assess_hook(object),
        };
        let verdict = match &health {
            Health::Current => Verdict::Done(Ended::Healthy),
            Health::Failed(_) => Verdict::Done(Ended::Failed(Unhealthy {
                object: id.clone(),
                health: health.clone(),
            })),
            _ => Verdict::NotYet,
        };
        if health != last && matches!(verdict, Verdict::NotYet) {
            progress(Progress::Waiting {
                object: id.clone(),
                message: health.message().to_owned(),
            });
        }
        last = health;
        verdict
    };
    let ended = tokio::time::timeout_at(deadline, follow(cluster, &id, state, judge)).await;
    let ended = match ended {
        Ok(ended) => ended?,
        Err(_) => Ended::Late(Unhealthy {
            object: id.clone(),
            health: last,
        }),
    };
    if matches!(ended, Ended::Healthy) {
        progress(Progress::Healthy { object: id });
    }
    Ok(ended)
}
