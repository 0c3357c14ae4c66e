//! Watches one object until a condition holds.

use std::ops::ControlFlow;

use futures::TryStreamExt as _;
use kube::api::{WatchEvent, WatchParams};
use kube::core::Request;
use serde_json::Value;

use super::Cluster;
use super::requests::{build_failed, failed};
use crate::error::Error;
use crate::id::ObjectId;

/// Calls `condition` with each state of the object, `None` if it does not exist, until it breaks. Starts from `state`, or
/// reads the object if that is `None`. Has no timeout of its own.
pub(crate) async fn await_condition<T>(
    cluster: &Cluster,
    id: &ObjectId,
    mut state: Option<Value>,
    mut condition: impl FnMut(Option<&Value>) -> ControlFlow<T>,
) -> Result<T, Error> {
    loop {
        let current = match state.take() {
            Some(state) => Some(state),
            None => cluster.get(id).await?,
        };
        if let ControlFlow::Break(result) = condition(current.as_ref()) {
            return Ok(result);
        }
        let version = current
            .as_ref()
            .and_then(|current| current["metadata"]["resourceVersion"].as_str());
        let version = version.unwrap_or("0");
        if let Some(result) = watch(cluster, id, version, &mut condition).await? {
            return Ok(result);
        }
        // The watch ended, as watches do: read the object and watch again.
    }
}

async fn watch<T>(
    cluster: &Cluster,
    id: &ObjectId,
    version: &str,
    condition: &mut impl FnMut(Option<&Value>) -> ControlFlow<T>,
) -> Result<Option<T>, Error> {
    let parameters = WatchParams::default().fields(&format!("metadata.name={}", id.name));
    let request = Request::new(cluster.url(id).await?)
        .watch(&parameters, version)
        .map_err(|error| build_failed("watch", id, error))?;
    let events = cluster.client().request_events::<Value>(request).await;
    let mut events = std::pin::pin!(events.map_err(|source| failed("watch", id, source))?);
    loop {
        // After a broken connection the next read reports whether the server is unreachable.
        let Ok(Some(event)) = events.try_next().await else {
            return Ok(None);
        };
        let flow = match &event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => condition(Some(object)),
            WatchEvent::Deleted(_) => condition(None),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(_) => return Ok(None),
        };
        if let ControlFlow::Break(result) = flow {
            return Ok(Some(result));
        }
    }
}
