//! Executes the actions of a plan through the API.

use outrigger_apiserver::loopback::{Client, Error, Patch, ResourcePath};
use serde_json::{Value, json};

use super::cache::{ObjectRef, collection};
use super::node;
use super::object::namespace;
use super::plan::Action;

/// How the cache changes by an executed action.
#[derive(Debug)]
pub(super) enum CacheUpdate {
    Applied(&'static str, Value),
    Deleted(ObjectRef),
}

/// The result of executing the actions of a plan.
#[derive(Debug, Default)]
pub(super) struct Execution {
    pub(super) updates: Vec<CacheUpdate>,
    /// Why an action failed; the ones after it were not executed.
    pub(super) failure: Option<String>,
}

/// Executes actions in order until one fails.
pub(super) async fn execute(client: &Client, actions: Vec<Action>) -> Execution {
    let mut updates = Vec::new();
    for action in actions {
        if let Action::Record(event) = &action {
            let path = collection("events").in_namespace(namespace(event));
            if let Err(error) = client.create(&path, event).await {
                tracing::debug!(%action, %error, "failed to record an event of the simulation");
            }
            continue;
        }
        match execute_one(client, &action).await {
            Ok(update) => updates.extend(update),
            Err(error) if error.is_not_found() && needs_existing_object(&action) => {}
            Err(error) => {
                // Conflicts are retried; a terminating namespace forbids new objects.
                if !error.is_conflict() && error.code() != Some(403) {
                    tracing::warn!(%action, %error, "failed to execute an action of the simulation");
                }
                return Execution {
                    updates,
                    failure: Some(match error {
                        Error::Api { message, .. } => message,
                        error => error.to_string(),
                    }),
                };
            }
        }
    }
    Execution {
        updates,
        failure: None,
    }
}

fn needs_existing_object(action: &Action) -> bool {
    !matches!(action, Action::Create(..))
}

async fn execute_one(client: &Client, action: &Action) -> Result<Option<CacheUpdate>, Error> {
    Ok(Some(match action {
        Action::Record(_) => return Ok(None),
        Action::Create(plural, object) => {
            let path = collection(plural).in_namespace(namespace(object));
            CacheUpdate::Applied(plural, client.create(&path, object).await?)
        }
        Action::Patch(id, change) => {
            let object = client.patch(&id.path(), Patch::Merge, change).await?;
            CacheUpdate::Applied(id.plural, object)
        }
        Action::Status(id, change) => {
            let object = client
                .patch_status(&id.path(), &json!({"status": change}))
                .await?;
            CacheUpdate::Applied(id.plural, object)
        }
        Action::Annotate(id, annotations) => {
            let change = json!({"metadata": {"annotations": annotations}});
            CacheUpdate::Applied(id.plural, client.patch_status(&id.path(), &change).await?)
        }
        Action::Bind(id) => {
            bind(client, id).await?;
            let object = client.get(&id.path()).await?;
            CacheUpdate::Applied(id.plural, object)
        }
        Action::Delete(id) => deleted(id, client.delete(&id.path(), &background()).await?),
        Action::DeleteNow(id) => {
            let mut options = background();
            options["gracePeriodSeconds"] = 0.into();
            let response = client.delete(&id.path(), &options).await?;
            // The response is the last version of the pod, even if the pod is gone.
            if response["metadata"]["finalizers"].is_null() {
                CacheUpdate::Deleted(id.clone())
            } else {
                deleted(id, response)
            }
        }
    }))
}

fn background() -> Value {
    json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"})
}

/// The response is the object if finalizers or a grace period keep it, otherwise a Status.
fn deleted(id: &ObjectRef, response: Value) -> CacheUpdate {
    let is_gone =
        response["kind"] == "Status" || response["metadata"]["deletionTimestamp"].is_null();
    if is_gone {
        CacheUpdate::Deleted(id.clone())
    } else {
        CacheUpdate::Applied(id.plural, response)
    }
}

async fn bind(client: &Client, id: &ObjectRef) -> Result<(), Error> {
    let path = ResourcePath {
        plural: format!("pods/{}/binding", id.name),
        ..collection("pods").in_namespace(&id.namespace)
    };
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": id.name, "namespace": id.namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node::NAME},
    });
    client.create(&path, &binding).await?;
    Ok(())
}
