//! Writes statuses, finalizers and owner references to the API server, as minimal merge patches.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, OwnerReference};
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::{Api, Client};
use outrigger_api::annotation::{CASCADE, FORCE};
use outrigger_api::plugin::{FINALIZER, Phase, Plugin, PluginStatus};
use serde_json::{Map, Value, json};

use crate::key::Key;
use crate::lifecycle::has_finalizer;

/// The field manager of what the controller writes to its own resources.
pub(crate) const FIELD_MANAGER: &str = "outrigger";

/// Parameters of a patch by a field manager.
pub(crate) fn patch_params(manager: &str) -> PatchParams {
    PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    }
}

/// Keeps of the managed fields only who else wrote to the status since the controller did. The rest is unused, and the
/// larger half of an object.
pub(crate) fn keep_status_editors(metadata: &mut ObjectMeta) {
    let mut entries = metadata.managed_fields.take().unwrap_or_default();
    entries.retain(|entry| entry.subresource.as_deref() == Some("status"));
    let is_ours = |entry: &ManagedFieldsEntry| entry.manager.as_deref() == Some(FIELD_MANAGER);
    let time = |entry: &ManagedFieldsEntry| entry.time.as_ref().map(|time| time.0);
    let written_at = entries
        .iter()
        .filter(|entry| is_ours(entry))
        .map(time)
        .max();
    entries.retain(|entry| !is_ours(entry) && Some(time(entry)) >= written_at);
    for entry in &mut entries {
        entry.fields_v1 = None;
    }
    metadata.managed_fields = (!entries.is_empty()).then_some(entries);
}

/// Whether someone else wrote to the status of a watched plugin since the controller did. What they removed does not
/// count, and times are in seconds: while the controller runs, it compares statuses instead.
pub(crate) fn is_edited(plugin: &Plugin) -> bool {
    plugin.metadata.managed_fields.is_some()
}

/// Whether an operation is in progress in this phase.
pub(crate) fn is_in_progress(phase: Phase) -> bool {
    matches!(
        phase,
        Phase::Installing | Phase::Upgrading | Phase::Removing
    )
}

/// Whether the phase usually ends so soon that writing it can be deferred.
pub(crate) fn is_deferrable(phase: Phase) -> bool {
    is_in_progress(phase) || phase == Phase::Waiting
}

/// The merge patch from the status of a plugin to a new one; `None` if they are equal. Without our finalizer the plugin
/// can be deleted and created anew at any time; then the patch applies only to the version that was read.
fn status_patch(plugin: &Plugin, new: &PluginStatus) -> Option<Value> {
    let as_value = |status: &PluginStatus| serde_json::to_value(status).unwrap_or_default();
    let before = plugin.status.as_ref().map_or_else(|| json!({}), as_value);
    let change = merge_patch(&before, &as_value(new))?;
    let mut patch = json!({"status": change});
    if !has_finalizer(plugin) {
        patch["metadata"] = json!({"resourceVersion": plugin.metadata.resource_version});
    }
    Some(patch)
}

/// The merge patch from `before` to `after`; `None` if they are equal.
pub(crate) fn merge_patch(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let removed = old.keys().filter(|key| !new.contains_key(*key));
    let mut patch: Map<String, Value> = removed.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in new {
        match old.get(key) {
            None => {
                patch.insert(key.clone(), value.clone());
            }
            Some(before) => {
                let change = merge_patch(before, value);
                patch.extend(change.map(|change| (key.clone(), change)));
            }
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Writes a status if it differs from the written one. Returns the resulting plugin if it did. Fails with a conflict if
/// the plugin has changed and does not have our finalizer.
pub(crate) async fn write(
    client: &Client,
    key: &Key,
    plugin: &Plugin,
    new: &PluginStatus,
) -> Result<Option<Plugin>, kube::Error> {
    let Some(patch) = status_patch(plugin, new) else {
        return Ok(None);
    };
    let api: Api<Plugin> = Api::namespaced(client.clone(), &key.namespace);
    let parameters = patch_params(FIELD_MANAGER);
    let patch = Patch::Merge(&patch);
    let plugin = api.patch_status(&key.name, &parameters, &patch).await?;
    Ok(Some(plugin))
}

/// Adds or removes our finalizer. With it go the annotations of the removal, which must not apply to the next one. Fails
/// with a conflict if the plugin has changed.
pub(crate) async fn set_finalizer(
    client: &Client,
    plugin: &Plugin,
    is_present: bool,
) -> Result<Plugin, kube::Error> {
    let metadata = &plugin.metadata;
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|name| name != FINALIZER);
    if is_present {
        finalizers.push(FINALIZER.to_owned());
    }
    let mut patch = json!({"metadata": {
        "finalizers": finalizers,
        "resourceVersion": metadata.resource_version,
        "uid": metadata.uid,
    }});
    if !is_present {
        for name in [CASCADE, FORCE] {
            if metadata
                .annotations
                .iter()
                .flatten()
                .any(|(key, _)| key == name)
            {
                patch["metadata"]["annotations"][name] = Value::Null;
            }
        }
    }
    let api: Api<Plugin> = Api::namespaced(client.clone(), plugin.namespace());
    let parameters = patch_params(FIELD_MANAGER);
    api.patch(plugin.name(), &parameters, &Patch::Merge(&patch))
        .await
}

/// Replaces the owner references. Fails with a conflict if the plugin has changed.
pub(crate) async fn set_owners(
    client: &Client,
    plugin: &Plugin,
    owners: &[OwnerReference],
) -> Result<Plugin, kube::Error> {
    let patch = json!({"metadata": {
        "ownerReferences": owners,
        "resourceVersion": plugin.metadata.resource_version,
        "uid": plugin.metadata.uid,
    }});
    let api: Api<Plugin> = Api::namespaced(client.clone(), plugin.namespace());
    let parameters = patch_params(FIELD_MANAGER);
    api.patch(plugin.name(), &parameters, &Patch::Merge(&patch))
        .await
}

#[cfg(test)]
mod tests {
    use outrigger_api::plugin::PluginSpec;

    use super::*;

    fn plugin(finalizers: &[&str], status: Option<PluginStatus>) -> Plugin {
        let mut plugin = Plugin::new("db", PluginSpec::default());
        let finalizers = finalizers.iter().map(|name| (*name).to_owned());
        plugin.metadata.finalizers = Some(finalizers.collect());
        plugin.metadata.resource_version = Some("7".to_owned());
        plugin.status = status;
        plugin
    }

    #[test]
    fn only_managers_that_wrote_to_the_status_after_the_controller_are_editors() {
        let editors = |entries: Value| {
            let mut metadata: ObjectMeta =
                serde_json::from_value(json!({"managedFields": entries})).unwrap();
            keep_status_editors(&mut metadata);
            let editors = metadata.managed_fields.into_iter().flatten();
            editors
                .filter_map(|entry| entry.manager)
                .collect::<Vec<_>>()
        };
        let entry = |manager: &str, second: u32| {
            let time = format!("2026-01-01T00:00:0{second}Z");
            json!({"manager": manager, "subresource": "status", "time": time})
        };
        let spec = json!({"manager": "kubectl", "time": "2026-01-01T00:00:09Z"});
        assert_eq!(editors(json!([entry("outrigger", 5), spec])), [""; 0]);
        assert_eq!(
            editors(json!([entry("outrigger", 5), entry("edit", 4)])),
            [""; 0]
        );
        assert_eq!(
            editors(json!([entry("edit", 5), entry("outrigger", 5)])),
            ["edit"]
        );
        assert_eq!(editors(json!([entry("edit", 1)])), ["edit"]);
    }

    #[test]
    fn a_patch_has_only_changed_fields_and_nulls_for_removed_ones() {
        let before = PluginStatus {
            phase: Phase::Ready,
            version: Some("1".to_owned()),
            notes: Some("hello".to_owned()),
            ..PluginStatus::default()
        };
        let plugin = plugin(&[FINALIZER], Some(before.clone()));
        let mut after = before;
        assert_eq!(status_patch(&plugin, &after), None);
        after.version = Some("2".to_owned());
        after.notes = None;
        assert_eq!(
            status_patch(&plugin, &after),
            Some(json!({"status": {"version": "2", "notes": null}}))
        );
    }

    #[test]
    fn the_status_of_a_plugin_that_may_be_replaced_is_written_to_the_version_that_was_read() {
        assert_eq!(
            status_patch(&plugin(&[], None), &PluginStatus::default()),
            Some(json!({"status": {"phase": "Pending"}, "metadata": {"resourceVersion": "7"}}))
        );
    }
}
