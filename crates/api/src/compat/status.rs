//! What became of a plugin, told in the words of the system whose object it was made of.

use serde_json::{Map, Value, json};

use super::{Error, Foreign};
use crate::condition::{Condition, Truth};
use crate::plugin::{Phase, Plugin, PluginStatus};

/// KubeGems knows three phases and no progress; conditions tell the rest. Installed means healthy.
pub(super) fn kubegems(object: &Value, plugin: &Plugin) -> Value {
    let empty = PluginStatus::default();
    let status = plugin.status.as_ref().unwrap_or(&empty);
    let first_form = is_first_form(object);
    let phase = match plugin.phase() {
        Phase::Ready | Phase::Upgrading => "Installed",
        Phase::Failed | Phase::Degraded => "Failed",
        Phase::Disabled if first_form => "Removed",
        Phase::Disabled => "Disabled",
        Phase::Pending | Phase::Waiting | Phase::Installing | Phase::Removing if first_form => {
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
    let mut told = Map::new();
    put(&mut told, "observedGeneration", observed(object, plugin));
    told.insert("phase".to_owned(), phase.into());
    put_text(&mut told, "message", Some(&message));
    put_text(&mut told, "version", status.version.as_deref());
    put_text(&mut told, "appVersion", status.app_version.as_deref());
    put_text(&mut told, "namespace", status.namespace.as_deref());
    put_text(&mut told, "upgradeTimestamp", applied_at(plugin));
    if !resources.is_empty() {
        told.insert("resources".to_owned(), resources.into());
    }
    told.insert("conditions".to_owned(), conditions(object, plugin));
    Value::Object(told)
}

/// TKEStack's phases, with its own spelling.
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
    let mut told = Map::new();
    put(&mut told, "observedGeneration", observed(object, plugin));
    told.insert("phase".to_owned(), phase.into());
    if plugin.phase() == Phase::Ready {
        put_text(&mut told, "releaseStatus", Some("deployed"));
    } else {
        put_text(&mut told, "message", Some(&ready_message(plugin)));
        let reason = plugin.condition("Ready").map(|ready| ready.reason.as_str());
        put_text(&mut told, "reason", reason);
    }
    put(&mut told, "revision", status.revision);
    told.insert("conditions".to_owned(), conditions(object, plugin));
    Value::Object(told)
}

/// An object that cannot be made a plugin is told so where its users look.
pub(super) fn refusal(kind: Foreign, object: &Value, error: &Error, now: &str) -> Value {
    let message = match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    };
    let phase = match kind {
        Foreign::TkestackApp => "InstallFailed",
        Foreign::KubeGemsPlugin | Foreign::KubeGemsBundle => "Failed",
    };
    let condition = Condition {
        kind: "Ready".to_owned(),
        status: Truth::False,
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

/// Only the first form has these fields.
fn is_first_form(object: &Value) -> bool {
    let spec = &object["spec"];
    ["enabled", "repo", "name", "resources"]
        .iter()
        .any(|field| !spec[*field].is_null())
}

fn generation(object: &Value) -> Option<i64> {
    object["metadata"]["generation"].as_i64()
}

/// The generation of the object that was made into what the controller saw; none if it has not seen it yet.
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

/// When it was applied last, as far as the conditions tell.
fn applied_at(plugin: &Plugin) -> Option<&str> {
    let applied = plugin.condition("Applied")?;
    (applied.status == Truth::True).then_some(applied.last_transition_time.as_str())
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
