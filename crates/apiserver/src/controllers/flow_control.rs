//! Puts flow schemas and priority levels in force, reports schemas whose level does not exist, and restores the mandatory
//! ones.

use std::sync::Arc;

use outrigger_apimachinery::status::Status;
use outrigger_builtin::fields::as_text;
use outrigger_store::watch::{WatchEnd, Watcher};
use outrigger_store::{KeyError, Resource, Scope, Snapshot};
use serde_json::{Value, json};

use crate::flow_control::{self, GROUP};
use crate::loopback::{Client, ResourcePath};
use crate::server::{Service, State};
use crate::{bootstrap, controllers::namespaces};

const MANAGER: &str = "api-priority-and-fairness-config-consumer-v1";
const SCHEMAS: &str = "flowschemas";
const LEVELS: &str = "prioritylevelconfigurations";

/// The objects that every cluster has, with their plurals.
pub(crate) fn objects(state: &State) -> Result<Vec<(&'static str, Value)>, Status> {
    let mut objects = Vec::new();
    for (plural, mut object) in flow_control::objects() {
        let name = as_text(&object["metadata"]["name"]).to_owned();
        let metadata = namespaces::metadata(state, "", &name)?;
        if let (Value::Object(own), Value::Object(made)) = (&mut object["metadata"], metadata) {
            own.extend(made);
        }
        if plural == SCHEMAS {
            object["status"] = json!({"conditions": [condition(&object, true, &state.now_text())]});
        }
        objects.push((plural, object));
    }
    Ok(objects)
}

/// Puts the stored objects in force.
pub(crate) fn configure(state: &State) {
    let snapshot = state.store.snapshot();
    let (schemas, levels) = (list(&snapshot, SCHEMAS), list(&snapshot, LEVELS));
    state.flow_control.configure(&schemas, &levels);
}

/// Runs until the store closes.
pub(super) async fn run(state: Arc<State>) {
    let client = Client::new(Service::internal(Arc::clone(&state)), MANAGER);
    let (Ok(schemas), Ok(levels)) = (scope(SCHEMAS), scope(LEVELS)) else {
        return;
    };
    loop {
        let revision = state.store.revision();
        let (Ok(mut schemas), Ok(mut levels)) = (
            state.store.watch(schemas.clone(), revision),
            state.store.watch(levels.clone(), revision),
        ) else {
            continue;
        };
        loop {
            sync(&state, &client).await;
            match next(&mut schemas, &mut levels).await {
                Ok(()) => {}
                Err(WatchEnd::Overflow) => break,
                Err(WatchEnd::Closed) => return,
            }
        }
    }
}

/// Waits for a change, and skips those that follow at once: a sync covers all of them.
async fn next(schemas: &mut Watcher, levels: &mut Watcher) -> Result<(), WatchEnd> {
    tokio::select! {
        event = schemas.next() => event.map(drop),
        event = levels.next() => event.map(drop),
    }?;
    while schemas.ready()?.is_some() || levels.ready()?.is_some() {}
    Ok(())
}

async fn sync(state: &Arc<State>, client: &Client) {
    if let Err(status) = restore_mandatory(state).await {
        tracing::warn!(error = %status.message, "failed to restore flow schemas and priority levels");
    }
    configure(state);
    let snapshot = state.store.snapshot();
    let levels = list(&snapshot, LEVELS);
    for schema in list(&snapshot, SCHEMAS) {
        let level = &schema["spec"]["priorityLevelConfiguration"]["name"];
        let exists = levels
            .iter()
            .any(|object| object["metadata"]["name"] == *level);
        let desired = condition(&schema, exists, &state.now_text());
        if dangling(&schema)["status"] == desired["status"]
            && dangling(&schema)["message"] == desired["message"]
        {
            continue;
        }
        let name = as_text(&schema["metadata"]["name"]);
        let status = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "FlowSchema", "metadata": {"name": name},
            "status": {"conditions": [desired]},
        });
        let path = ResourcePath::all(&format!("{GROUP}/v1"), SCHEMAS).named(name);
        if let Err(error) = client.apply_status(&path, &status).await
            && !error.is_not_found()
        {
            tracing::warn!(name, %error, "failed to write the status of a flow schema");
        }
    }
}

/// Creates the mandatory objects that were deleted.
async fn restore_mandatory(state: &Arc<State>) -> Result<(), Status> {
    let snapshot = state.store.snapshot();
    let is_missing = |plural: &str, name: &str| {
        let key = Resource::new(GROUP, plural).and_then(|resource| resource.key("", name));
        key.is_ok_and(|key| snapshot.get(&key).is_none())
    };
    let missing =
        |plural: &str, name: &str| flow_control::is_mandatory(name) && is_missing(plural, name);
    if !flow_control::objects()
        .any(|(plural, object)| missing(plural, as_text(&object["metadata"]["name"])))
    {
        return Ok(());
    }
    let mut objects = objects(state)?;
    objects.retain(|(plural, object)| missing(plural, as_text(&object["metadata"]["name"])));
    let objects = objects
        .iter()
        .map(|(plural, object)| (GROUP, *plural, object));
    bootstrap::create_missing(state, objects).await
}

/// Whether the level of a schema is missing, in the words of the real server.
fn condition(schema: &Value, exists: bool, now: &str) -> Value {
    let level = as_text(&schema["spec"]["priorityLevelConfiguration"]["name"]);
    let (status, reason, what) = if exists {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    json!({
        "type": "Dangling", "status": status, "lastTransitionTime": now, "reason": reason,
        "message": format!(
            "This FlowSchema references the PriorityLevelConfiguration object named \"{level}\" {what}"
        ),
    })
}

fn dangling(schema: &Value) -> &Value {
    let conditions = schema["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions
        .find(|condition| condition["type"] == "Dangling")
        .unwrap_or(&Value::Null)
}

fn scope(plural: &str) -> Result<Scope, KeyError> {
    Scope::of(GROUP, plural)
}

fn list(snapshot: &Snapshot, plural: &str) -> Vec<Value> {
    scope(plural).map_or_else(|_| Vec::new(), |scope| snapshot.values(&scope).collect())
}
