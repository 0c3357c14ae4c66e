//! Converts the status of a plugin to that of the foreign object that it was converted from.

use serde_json::{Map, Value, json};

use super::{Error, ForeignKind};
use crate::condition::{Condition, ConditionStatus};
use crate::plugin::{Phase, Plugin, PluginStatus};

/// KubeGems has only three phases, none for progress; conditions have the details. `Installed` means healthy.
pub(super) fn kubegems(object: &Value, plugin: &Plugin) -> Value {
    let empty = PluginStatus::default();
    let status = plugin.status.as_ref().unwrap_or(&empty);
    let is_legacy = is_legacy(object);
    let phase = match plugin.phase() {
        Phase::Ready | Phase::Upgrading => "Installed",
        Phase::Failed | Phase::Degraded => "Failed",
        Phase::Disabled if is_legacy => "Removed",
        Phase::Disabled => "Disabled",
        Phase::Pending | Phase::Waiting | Phase::Installing | Phase::Removing if is_legacy => {
            "None"
        }
        Phase::Pending | Phase::Waiting | Phase::Installing | Phase::Removing => "",
    };
    let message = match plugin.phase() {
        Phase::Ready => status.notes.clone().unwrap_or_default(),
        _ => ready_message(plugin),
    };
    let resources: Vec<Value> = status
        .inventory
        .iter()
        .map(|entry| {
            json!({
                "apiVersion": entry.api_version,
                "kind": entry.kind,
                "namespace": entry.namespace,
                "name": entry.name,
            })
        })
        .collect();
    let mut converted = Map::new();
    put(
        &mut converted,
        "observedGeneration",
        observed(object, plugin),
    );
    converted.insert("phase".to_owned(), phase.into());
    put_text(&mut converted, "message", Some(&message));
    put_text(&mut converted, "version", status.version.as_deref());
    put_text(&mut converted, "appVersion", status.app_version.as_deref());
    put_text(&mut converted, "namespace", status.namespace.as_deref());
    put_text(&mut converted, "upgradeTimestamp", applied_at(plugin));
    if !resources.is_empty() {
        converted.insert("resources".to_owned(), resources.into());
    }
    converted.insert("conditions".to_owned(), conditions(object, plugin));
    Value::Object(converted)
}

/// TKEStack's phases. `UpgradFailed` is its spelling.
pub(super) fn tkestack(object: &Value, plugin: &Plugin) -> Value {
    let empty = PluginStatus::default();
    let status = plugin.status.as_ref().unwrap_or(&empty);
    let was_installed = status.revision.is_some_and(|revision| revision > 1);
    let phase = match plugin.phase() {
        Phase::Pending | Phase::Waiting | Phase::Installing => "Installing",
        Phase::Upgrading => "Upgrading",
        Phase::Ready => "Succeeded",
        Phase::Degraded => "SyncFailed",
        Phase::Failed if was_installed => "UpgradFailed",
        Phase::Failed => "InstallFailed",
        Phase::Disabled => "Isolated",
        Phase::Removing => "Terminating",
    };
    let mut converted = Map::new();
    put(
        &mut converted,
        "observedGeneration",
        observed(object, plugin),
    );
    converted.insert("phase".to_owned(), phase.into());
    if plugin.phase() == Phase::Ready {
        put_text(&mut converted, "releaseStatus", Some("deployed"));
    } else {
        put_text(&mut converted, "message", Some(&ready_message(plugin)));
        let reason = plugin.condition("Ready").map(|ready| ready.reason.as_str());
        put_text(&mut converted, "reason", reason);
    }
    put(&mut converted, "revision", status.revision);
    converted.insert("conditions".to_owned(), conditions(object, plugin));
    Value::Object(converted)
}

/// The status of an object that cannot be converted.
pub(super) fn rejected(kind: ForeignKind, object: &Value, error: &Error, now: &str) -> Value {
    let message = match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    };
    let phase = match kind {
        ForeignKind::TkestackApp => "InstallFailed",
        ForeignKind::KubeGemsPlugin | ForeignKind::KubeGemsBundle => "Failed",
    };
    let condition = Condition {
        kind: "Ready".to_owned(),
        status: ConditionStatus::False,
        reason: "Refused".to_owned(),
        message: message.clone(),
        last_transition_time: now.to_owned(),
        observed_generation: generation(object),
    };
    json!({
        "observedGeneration": generation(object),
        "phase": phase,
        "message": message,
        "conditions": [condition],
    })
}

/// Whether the object has a field that only the legacy spec has.
fn is_legacy(object: &Value) -> bool {
    let spec = &object["spec"];
    ["enabled", "repo", "name", "resources"]
        .iter()
        .any(|field| !spec[*field].is_null())
}

fn generation(object: &Value) -> Option<i64> {
    object["metadata"]["generation"].as_i64()
}

/// The generation of the object, if the controller has observed the plugin that it was converted to.
fn observed(object: &Value, plugin: &Plugin) -> Option<i64> {
    plugin.is_observed().then(|| generation(object)).flatten()
}

fn conditions(object: &Value, plugin: &Plugin) -> Value {
    let conditions = plugin
        .status
        .as_ref()
        .map(|status| status.conditions.clone());
    let mut conditions = conditions.unwrap_or_default();
    for condition in &mut conditions {
        condition.observed_generation = observed(object, plugin);
    }
    json!(conditions)
}

/// The time of the last apply, from the conditions.
fn applied_at(plugin: &Plugin) -> Option<&str> {
    let applied = plugin.condition("Applied")?;
    (applied.status == ConditionStatus::True).then_some(applied.last_transition_time.as_str())
}

fn ready_message(plugin: &Plugin) -> String {
    let ready = plugin.condition("Ready");
    ready.map(|ready| ready.message.clone()).unwrap_or_default()
}

fn put(map: &mut Map<String, Value>, key: &str, number: Option<i64>) {
    if let Some(number) = number {
        map.insert(key.to_owned(), number.into());
    }
}

fn put_text(map: &mut Map<String, Value>, key: &str, text: Option<&str>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        map.insert(key.to_owned(), text.into());
    }
}
