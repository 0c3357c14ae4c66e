//! How a status gets to the API server: only what changed, and nothing if nothing did.

use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use outrigger_api::plugin::{FINALIZER, Phase, Plugin, PluginStatus};
use serde_json::{Map, Value, json};

use crate::key::Key;

/// The manager of the fields that the controller sets in plugins.
pub(crate) const MANAGER: &str = "outrigger";

/// Whether a phase is one that is left again soon, so that it may not be worth telling.
pub(crate) fn is_passing(phase: Phase) -> bool {
    matches!(
        phase,
        Phase::Installing | Phase::Upgrading | Phase::Removing
    )
}

/// Whether a phase may be left so soon that it is told only when it was not.
pub(crate) fn can_wait(phase: Phase) -> bool {
    is_passing(phase) || phase == Phase::Waiting
}

/// The merge patch from one status to another; none if they are equal.
pub(crate) fn patch(saved: Option<&PluginStatus>, wanted: &PluginStatus) -> Option<Value> {
    let as_value = |status: &PluginStatus| serde_json::to_value(status).unwrap_or_default();
    let before = saved.map_or_else(|| json!({}), as_value);
    let change = difference(&before, &as_value(wanted))?;
    Some(json!({"status": change}))
}

/// What to merge into `before` to get `after`; lists are replaced.
pub(crate) fn difference(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    let mut change: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in new {
        match old.get(key) {
            None => {
                change.insert(key.clone(), value.clone());
            }
            Some(before) => {
                let difference = difference(before, value);
                change.extend(difference.map(|difference| (key.clone(), difference)));
            }
        }
    }
    (!change.is_empty()).then_some(Value::Object(change))
}

/// Writes a status if it differs from the saved one. Gives the plugin as it is now.
pub(crate) async fn write(
    client: &Client,
    key: &Key,
    saved: Option<&PluginStatus>,
    wanted: &PluginStatus,
) -> Result<Option<Plugin>, kube::Error> {
    let Some(patch) = patch(saved, wanted) else {
        return Ok(None);
    };
    let api: Api<Plugin> = Api::namespaced(client.clone(), &key.namespace);
    let parameters = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let plugin = api
        .patch_status(&key.name, &parameters, &Patch::Merge(&patch))
        .await?;
    Ok(Some(plugin))
}

/// Adds or takes away the finalizer of the very state of the plugin that was looked at.
pub(crate) async fn set_finalizer(
    client: &Client,
    plugin: &Plugin,
    is_wanted: bool,
) -> Result<Plugin, kube::Error> {
    let metadata = &plugin.metadata;
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|name| name != FINALIZER);
    if is_wanted {
        finalizers.push(FINALIZER.to_owned());
    }
    let patch = json!({"metadata": {
        "finalizers": finalizers,
        "resourceVersion": metadata.resource_version,
        "uid": metadata.uid,
    }});
    let api: Api<Plugin> = Api::namespaced(client.clone(), plugin.namespace());
    let parameters = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    api.patch(plugin.name(), &parameters, &Patch::Merge(&patch))
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_sent_and_what_is_gone_is_removed() {
        let before = PluginStatus {
            phase: Phase::Ready,
            version: Some("1".to_owned()),
            notes: Some("hello".to_owned()),
            ..PluginStatus::default()
        };
        let mut after = before.clone();
        assert_eq!(patch(Some(&before), &after), None);
        after.version = Some("2".to_owned());
        after.notes = None;
        assert_eq!(
            patch(Some(&before), &after),
            Some(json!({"status": {"version": "2", "notes": null}}))
        );
        assert_eq!(
            patch(None, &PluginStatus::default()),
            Some(json!({"status": {"phase": "Pending"}}))
        );
    }
}
