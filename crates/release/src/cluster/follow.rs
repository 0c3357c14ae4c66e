//! Follows one object by a watch until it is what somebody waits for.

use futures::TryStreamExt as _;
use kube::api::{WatchEvent, WatchParams};
use kube::core::Request;
use serde_json::Value;

use super::Cluster;
use super::requests::{failed, invalid};
use crate::error::Error;
use crate::id::ObjectId;

/// What is thought of an object.
#[derive(Debug)]
pub(crate) enum Verdict<T> {
    /// That is it.
    Done(T),
    NotYet,
}

/// Follows an object from a state that is known, or from its present one, until `judge` is content. A missing object
/// is judged too. Waits for ever: the caller has the deadline.
pub(crate) async fn follow<T>(
    cluster: &Cluster,
    id: &ObjectId,
    mut known: Option<Value>,
    mut judge: impl FnMut(Option<&Value>) -> Verdict<T>,
) -> Result<T, Error> {
    loop {
        let state = match known.take() {
            Some(state) => Some(state),
            None => cluster.get(id).await?,
        };
        if let Verdict::Done(result) = judge(state.as_ref()) {
            return Ok(result);
        }
        let version = state
            .as_ref()
            .map(|state| &state["metadata"]["resourceVersion"]);
        let version = version.and_then(Value::as_str).unwrap_or("0");
        if let Some(result) = watch(cluster, id, version, &mut judge).await? {
            return Ok(result);
        }
        // The watch ended, as watches do. What happened since is in the object.
    }
}

async fn watch<T>(
    cluster: &Cluster,
    id: &ObjectId,
    version: &str,
    judge: &mut impl FnMut(Option<&Value>) -> Verdict<T>,
) -> Result<Option<T>, Error> {
    let parameters = WatchParams::default().fields(&format!("metadata.name={}", id.name));
    let request = Request::new(cluster.url(id).await?)
        .watch(&parameters, version)
        .map_err(|error| invalid("watch", id, error))?;
    let events = cluster.client().request_events::<Value>(request).await;
    let mut events = std::pin::pin!(events.map_err(|source| failed("watch", id, source))?);
    loop {
        // If it was cut off, the next look tells whether the server is away.
        let Ok(Some(event)) = events.try_next().await else {
            return Ok(None);
        };
        let verdict = match &event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => judge(Some(object)),
            WatchEvent::Deleted(_) => judge(None),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(_) => return Ok(None),
        };
        if let Verdict::Done(result) = verdict {
            return Ok(Some(result));
        }
    }
}
