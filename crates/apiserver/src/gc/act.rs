//! Does what was decided, through the API like any other client, and only to the object that was looked at.

use outrigger_store::{Key, Object};
use serde_json::{Value, json};

use super::decide::{Action, Policy};
use super::observe::Observer;
use crate::local::{Error, Local, Patch, Place};

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Done, or there is nothing left to do it to.
    Done,
    /// The object has changed, or the server could not do it now.
    Again,
}

/// Does the actions in order.
pub(super) async fn act(
    local: &Local,
    observer: &Observer,
    key: &Key,
    actions: Vec<Action>,
) -> Outcome {
    for action in actions {
        let Some((object, place)) = find(observer, key) else {
            return Outcome::Done;
        };
        match one(local, observer, &object, &place, &action).await {
            Ok(()) => {}
            Err(error) if error.is_not_found() => return Outcome::Done,
            Err(error) => {
                if !error.is_conflict() {
                    tracing::warn!(%key, ?action, %error, "garbage collection failed");
                }
                return Outcome::Again;
            }
        }
    }
    Outcome::Done
}

fn find(observer: &Observer, key: &Key) -> Option<(std::sync::Arc<Object>, Place)> {
    Some((observer.get(key)?, observer.place(key)?))
}

async fn one(
    local: &Local,
    observer: &Observer,
    object: &Object,
    place: &Place,
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
            local.delete(place, &options).await?;
        }
        Action::DropOwners(uids) => {
            let is_kept = |reference: &Value| !uids.iter().any(|uid| reference["uid"] == **uid);
            change_references(local, object, place, is_kept).await?;
        }
        Action::Unblock => {
            let mut references = references(object);
            for reference in &mut references {
                reference["blockOwnerDeletion"] = false.into();
            }
            patch(local, object, place, json!({"ownerReferences": references})).await?;
        }
        Action::Release(keys) => {
            let uid = object.metadata().uid();
            for key in keys {
                release(local, observer, key, uid).await?;
            }
        }
        Action::DropFinalizer(name) => {
            let finalizers = object.metadata().finalizers().iter();
            let rest: Vec<&str> = finalizers
                .map(|text| &**text)
                .filter(|text| text != name)
                .collect();
            patch(local, object, place, json!({"finalizers": rest})).await?;
        }
    }
    Ok(())
}

/// Takes an owner out of one dependent.
async fn release(local: &Local, observer: &Observer, key: &Key, owner: &str) -> Result<(), Error> {
    let Some((object, place)) = find(observer, key) else {
        return Ok(());
    };
    let is_kept = |reference: &Value| reference["uid"] != owner;
    match change_references(local, &object, &place, is_kept).await {
        Err(error) if error.is_not_found() => Ok(()),
        result => result,
    }
}

async fn change_references(
    local: &Local,
    object: &Object,
    place: &Place,
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
    patch(local, object, place, json!({"ownerReferences": kept})).await
}

/// Changes metadata of the object if it is still at the version that was looked at.
async fn patch(
    local: &Local,
    object: &Object,
    place: &Place,
    mut metadata: Value,
) -> Result<(), Error> {
    metadata["resourceVersion"] = object.revision().to_string().into();
    metadata["uid"] = object.metadata().uid().into();
    local
        .patch(place, Patch::Merge, &json!({"metadata": metadata}))
        .await?;
    Ok(())
}

fn references(object: &Object) -> Vec<Value> {
    let mut value: Value = serde_json::from_slice(object.bytes()).unwrap_or_default();
    match value["metadata"]["ownerReferences"].take() {
        Value::Array(references) => references,
        _ => Vec::new(),
    }
}
