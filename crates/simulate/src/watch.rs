//! A reflector for one kind: lists it, watches it from there, and lists again when the watch expires.

use std::time::Duration;

use outrigger_apiserver::local::{Change, Error, Local};
use serde_json::Value;
use tokio::sync::mpsc;

use super::cache::collection;

const RETRY_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum WatchEvent {
    Listed(&'static str, Vec<Value>),
    Applied(&'static str, Value),
    Deleted(&'static str, Value),
}

pub(super) async fn list_and_watch(
    local: Local,
    plural: &'static str,
    events: mpsc::Sender<WatchEvent>,
) {
    while !events.is_closed() {
        if let Err(error) = list_and_watch_once(&local, plural, &events).await
            && error.code() != Some(410)
        {
            tracing::warn!(plural, %error, "failed to watch a simulated kind");
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }
}

async fn list_and_watch_once(
    local: &Local,
    plural: &'static str,
    events: &mpsc::Sender<WatchEvent>,
) -> Result<(), Error> {
    let place = collection(plural);
    let (objects, mut revision) = local.list(&place, "").await?;
    // The loop ends if the channel is closed.
    let _ = events.send(WatchEvent::Listed(plural, objects)).await;
    while !events.is_closed() {
        let mut watch = local.watch(&place, &revision).await?;
        while let Some(change) = watch.next().await? {
            let event = match change {
                Change::Applied(object) => {
                    advance(&mut revision, &object);
                    WatchEvent::Applied(plural, object)
                }
                Change::Deleted(object) => {
                    advance(&mut revision, &object);
                    WatchEvent::Deleted(plural, object)
                }
                Change::Bookmark(at) => {
                    revision = at;
                    continue;
                }
            };
            if events.send(event).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn advance(revision: &mut String, object: &Value) {
    if let Some(version) = object["metadata"]["resourceVersion"].as_str() {
        version.clone_into(revision);
    }
}
