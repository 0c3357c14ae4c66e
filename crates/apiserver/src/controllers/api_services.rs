//! Local `APIServices`: one for each group and version that the server serves. Those of custom resources come and go with
//! their definitions.

use std::collections::BTreeSet;
use std::sync::Arc;

use outrigger_apimachinery::status::Status;
use outrigger_builtin::apiregistration::api_service::{self, Management};
use outrigger_builtin::fields::{list, text};
use outrigger_builtin::kinds::Version;
use outrigger_store::Scope;
use outrigger_store::watch::{WatchEnd, Watcher};
use serde_json::{Value, json};

use super::namespaces;
use crate::bootstrap;
use crate::loopback::{Client, ResourcePath};
use crate::server::{Service, State};

const GROUP: &str = "apiregistration.k8s.io";
const PLURAL: &str = "apiservices";
const MANAGER: &str = "kube-apiserver";

/// The objects of the built-in groups.
pub(crate) fn objects(state: &State) -> Result<Vec<Value>, Status> {
    let kinds = state.registry.snapshot();
    let mut objects = Vec::new();
    for group in &kinds.groups {
        for version in group.versions.iter().filter(|version| !is_custom(version)) {
            let service = api_service::built_in(&group.name, &version.name, group.priority());
            objects.extend(
                service
                    .map(|service| complete(state, service))
                    .transpose()?,
            );
        }
    }
    Ok(objects)
}

fn is_custom(version: &Version) -> bool {
    version.kinds.iter().all(|kind| kind.custom.is_some())
}

/// An object with metadata and status.
fn complete(state: &State, mut service: Value) -> Result<Value, Status> {
    let name = text(&service["metadata"], "name").to_owned();
    let metadata = namespaces::metadata(state, "", &name)?;
    if let (Value::Object(own), Value::Object(made)) = (&mut service["metadata"], metadata) {
        own.extend(made);
    }
    service["status"] = json!({"conditions": [api_service::local_condition(&state.now_text())]});
    Ok(service)
}

/// Runs until the store closes.
pub(super) async fn run(state: Arc<State>) {
    let client = Client::new(Service::internal(Arc::clone(&state)), MANAGER);
    let Ok(scope) = Scope::of(GROUP, PLURAL) else {
        return;
    };
    loop {
        let Ok(mut services) = state.store.watch(scope.clone(), state.store.revision()) else {
            continue;
        };
        loop {
            sync(&state, &client, &scope).await;
            match next(&state, &mut services).await {
                Ok(()) => {}
                Err(WatchEnd::Overflow) => break,
                Err(WatchEnd::Closed) => return,
            }
        }
    }
}

/// Waits for a change of the served kinds or of an `APIService`. A sync covers all changes that follow at once.
async fn next(state: &State, services: &mut Watcher) -> Result<(), WatchEnd> {
    tokio::select! {
        event = services.next() => event.map(drop),
        () = state.served_kinds_changed.notified() => Ok(()),
    }?;
    while services.ready()?.is_some() {}
    Ok(())
}

async fn sync(state: &Arc<State>, client: &Client, scope: &Scope) {
    let current: Vec<Value> = state.store.snapshot().values(scope).collect();
    let desired = custom_versions(state);
    if let Err(status) = create_missing(state, &current, &desired).await {
        tracing::warn!(error = %status.message, "failed to create an APIService");
    }
    for service in &current {
        let name = text(&service["metadata"], "name");
        let path = ResourcePath::all(&format!("{GROUP}/v1"), PLURAL).named(name);
        let spec = &service["spec"];
        let served = (
            text(spec, "group").to_owned(),
            text(spec, "version").to_owned(),
        );
        let written =
            if Management::of(service) == Management::Continuous && !desired.contains(&served) {
                let options = json!({"preconditions": {"uid": service["metadata"]["uid"]}});
                client.delete(&path, &options).await
            } else if spec["service"].is_null() && !is_available(service) {
                let condition = api_service::local_condition(&state.now_text());
                let status = json!({"status": {"conditions": [condition]}});
                client.patch_status(&path, &status).await
            } else {
                continue;
            };
        if let Err(error) = written
            && !error.is_not_found()
        {
            tracing::warn!(name, %error, "failed to write an APIService");
        }
    }
}

/// The groups and versions that only definitions serve.
fn custom_versions(state: &State) -> BTreeSet<(String, String)> {
    let kinds = state.registry.snapshot();
    let groups = kinds.groups.iter();
    let versions = groups.flat_map(|group| {
        let versions = group.versions.iter().filter(|version| is_custom(version));
        versions.map(|version| (group.name.clone(), version.name.clone()))
    });
    versions.collect()
}

async fn create_missing(
    state: &Arc<State>,
    current: &[Value],
    desired: &BTreeSet<(String, String)>,
) -> Result<(), Status> {
    let mut missing = Vec::new();
    for (group, version) in desired {
        let service = api_service::custom(group, version);
        let name = &service["metadata"]["name"];
        if !current
            .iter()
            .any(|service| service["metadata"]["name"] == *name)
        {
            missing.push(complete(state, service)?);
        }
    }
    let missing = missing.iter().map(|service| (GROUP, PLURAL, service));
    bootstrap::create_missing(state, missing).await
}

fn is_available(service: &Value) -> bool {
    let mut conditions = list(&service["status"], "conditions").iter();
    conditions.any(|condition| condition["type"] == "Available" && condition["status"] == "True")
}
