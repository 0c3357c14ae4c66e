//! Watches one kind for as long as somebody listens: a list, then every change, and again when that ends.

use std::time::Duration;

use outrigger_apiserver::local::{Change, Error, Local};
use serde_json::Value;
use tokio::sync::mpsc;

use super::world::collection;

const WAIT_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What is heard of a kind.
#[derive(Debug)]
pub(super) enum News {
    Listed(&'static str, Vec<Value>),
    Applied(&'static str, Value),
    Deleted(&'static str, Value),
}

pub(super) async fn follow(local: Local, plural: &'static str, news: mpsc::Sender<News>) {
    while !news.is_closed() {
        if let Err(error) = follow_once(&local, plural, &news).await
            && error.code() != Some(410)
        {
            tracing::warn!(plural, %error, "the simulation cannot watch");
            tokio::time::sleep(WAIT_AFTER_FAILURE).await;
        }
    }
}

async fn follow_once(
    local: &Local,
    plural: &'static str,
    news: &mpsc::Sender<News>,
) -> Result<(), Error> {
    let place = collection(plural);
    let (objects, mut revision) = local.list(&place, "").await?;
    // A closed channel ends the watch at the next look.
    let _ = news.send(News::Listed(plural, objects)).await;
    while !news.is_closed() {
        let mut watch = local.watch(&place, &revision).await?;
        while let Some(change) = watch.next().await? {
            let heard = match change {
                Change::Applied(object) => {
                    note(&mut revision, &object);
                    News::Applied(plural, object)
                }
                Change::Deleted(object) => {
                    note(&mut revision, &object);
                    News::Deleted(plural, object)
                }
                Change::Bookmark(at) => {
                    revision = at;
                    continue;
                }
            };
            if news.send(heard).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn note(revision: &mut String, object: &Value) {
    if let Some(version) = object["metadata"]["resourceVersion"].as_str() {
        version.clone_into(revision);
    }
}
