//! A reflector for one kind: lists it, watches it from there, and lists again when the watch expires.

use std::time::Duration;

use outrigger_apiserver::loopback::{Client, Error, WatchEvent};
use serde_json::Value;
use tokio::sync::mpsc;

use super::cache::collection;
use super::references::{CONFIG_MAPS, SECRETS, keys_only};

const RETRY_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum CacheEvent {
    Listed(&'static str, Vec<Value>),
    Applied(&'static str, Value),
    Deleted(&'static str, Value),
}

pub(super) async fn list_and_watch(
    client: Client,
    plural: &'static str,
    events: mpsc::Sender<CacheEvent>,
) {
    while !events.is_closed() {
        if let Err(error) = list_and_watch_once(&client, plural, &events).await
            && error.code() != Some(410)
        {
            tracing::warn!(plural, %error, "failed to watch a simulated kind");
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }
}

async fn list_and_watch_once(
    client: &Client,
    plural: &'static str,
    events: &mpsc::Sender<CacheEvent>,
) -> Result<(), Error> {
    let path = collection(plural);
    let reduce = |object: Value| match plural {
        CONFIG_MAPS | SECRETS => keys_only(&object),
        _ => object,
    };
    let (objects, mut revision) = client.list_in_pages(&path, reduce).await?;
    // The loop ends if the channel is closed.
    let _ = events.send(CacheEvent::Listed(plural, objects)).await;
    while !events.is_closed() {
        let mut watch = client.watch(&path, &revision).await?;
        while let Some(change) = watch.next().await? {
            let event = match change {
                WatchEvent::Applied(object) => {
                    advance(&mut revision, &object);
                    CacheEvent::Applied(plural, reduce(object))
                }
                WatchEvent::Deleted(object) => {
                    advance(&mut revision, &object);
                    CacheEvent::Deleted(plural, reduce(object))
                }
                WatchEvent::Bookmark(at) => {
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
