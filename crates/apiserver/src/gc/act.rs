//! Executes actions through the API, with preconditions on the observed version.

use outrigger_store::{Key, Object};
use outrigger_structural::depth;
use serde_json::{Value, json};

use super::decide::{Action, Policy};
use super::observe::Observer;
use crate::loopback::{Client, Error, Patch, ResourcePath};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The actions succeeded, or the object is gone.
    Done,
    /// The object has changed, or the request failed.
    Retry,
}

/// Executes actions in order.
pub(super) async fn act(
    client: &Client,
    observer: &Observer,
    key: &Key,
    actions: Vec<Action>,
) -> Outcome {
    for action in actions {
        let Some((object, path)) = find(observer, key) else {
            return Outcome::Done;
        };
        match execute(client, observer, &object, &path, &action).await {
            Ok(()) => {}
            Err(error) if error.is_not_found() => return Outcome::Done,
            Err(error) => {
                if !error.is_conflict() {
                    tracing::warn!(%key, ?action, %error, "failed to execute a garbage collection action");
                }
                return Outcome::Retry;
            }
        }
    }
    Outcome::Done
}

fn find(observer: &Observer, key: &Key) -> Option<(std::sync::Arc<Object>, ResourcePath)> {
    Some((observer.get(key)?, observer.path(key)?))
}

async fn execute(
    client: &Client,
    observer: &Observer,
    object: &Object,
    path: &ResourcePath,
    action: &Action,
) -> Result<(), Error> {
    match action {
        Action::Delete(policy) => {
            let policy = match policy {
                Policy::Background => "Background",
                Policy::Foreground => "Foreground",
                Policy::Orphan => "Orphan",
            };
            let options = json!({
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "propagationPolicy": policy,
                "preconditions": {
                    "uid": object.metadata().uid(), "resourceVersion": object.revision().to_string(),
                },
            });
            client.delete(path, &options).await?;
        }
        Action::RemoveOwners(uids) => {
            let is_kept = |reference: &Value| !uids.iter().any(|uid| reference["uid"] == **uid);
            update_references(client, object, path, is_kept).await?;
        }
        Action::Unblock => {
            let mut references = references(object);
            for reference in &mut references {
                reference["blockOwnerDeletion"] = false.into();
            }
            patch(client, object, path, json!({"ownerReferences": references})).await?;
        }
        Action::OrphanDependents(keys) => {
            let uid = object.metadata().uid();
            for key in keys {
                orphan(client, observer, key, uid).await?;
            }
        }
        Action::RemoveFinalizer(name) => {
            let finalizers = object.metadata().finalizers().iter();
            let rest: Vec<&str> = finalizers
                .map(|text| &**text)
                .filter(|text| text != name)
                .collect();
            patch(client, object, path, json!({"finalizers": rest})).await?;
        }
    }
    Ok(())
}

/// Removes an owner reference from a dependent.
async fn orphan(client: &Client, observer: &Observer, key: &Key, owner: &str) -> Result<(), Error> {
    let Some((object, path)) = find(observer, key) else {
        return Ok(());
    };
    let is_kept = |reference: &Value| reference["uid"] != owner;
    match update_references(client, &object, &path, is_kept).await {
        Err(error) if error.is_not_found() => Ok(()),
        result => result,
    }
}

async fn update_references(
    client: &Client,
    object: &Object,
    path: &ResourcePath,
    is_kept: impl Fn(&Value) -> bool,
) -> Result<(), Error> {
    let all = references(object);
    let kept: Vec<Value> = all
        .iter()
        .filter(|reference| is_kept(reference))
        .cloned()
        .collect();
    if kept.len() == all.len() {
        return Ok(());
    }
    let kept = if kept.is_empty() {
        Value::Null
    } else {
        kept.into()
    };
    patch(client, object, path, json!({"ownerReferences": kept})).await
}

/// Patches metadata of the observed version.
async fn patch(
    client: &Client,
    object: &Object,
    path: &ResourcePath,
    mut metadata: Value,
) -> Result<(), Error> {
    metadata["resourceVersion"] = object.revision().to_string().into();
    metadata["uid"] = object.metadata().uid().into();
    client
        .patch(path, Patch::Merge, &json!({"metadata": metadata}))
        .await?;
    Ok(())
}

fn references(object: &Object) -> Vec<Value> {
    let Ok(mut stored) = depth::parse_stored(object.bytes()) else {
        return Vec::new();
    };
    match stored.value["metadata"]["ownerReferences"].take() {
        Value::Array(references) => references,
        _ => Vec::new(),
    }
}
