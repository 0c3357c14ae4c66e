//! Health of plugins, of Outrigger and of KubeGems: by the status that their controller writes. Without status they are
//! in progress, unlike in kstatus.

use serde_json::Value;

use super::{Health, conditions, in_progress};

/// Assesses a plugin; none for other kinds.
pub(super) fn assess(object: &Value) -> Option<Health> {
    let api_version = object["apiVersion"].as_str()?;
    match api_version.split_once('/')?.0 {
        "outrigger.dev" => Some(by_conditions(object)),
        "plugins.kubegems.io" | "bundle.kubegems.io" => Some(by_phase(object)),
        _ => None,
    }
}

fn by_conditions(object: &Value) -> Health {
    let status = &object["status"];
    let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
    let observed = status["observedGeneration"].as_i64().unwrap_or(0);
    if observed < generation {
        return in_progress(format!(
            "generation is {generation}, but latest observed generation is {observed}"
        ));
    }
    let is_disabled = object["spec"]["enabled"] == false;
    if is_disabled && status["phase"] == "Disabled" {
        return Health::Current;
    }
    match conditions(object).find(|condition| condition.kind == "Ready") {
        None => in_progress("no Ready condition yet"),
        Some(ready) if ready.is_true() => Health::Current,
        Some(ready) if status["phase"] == "Failed" => Health::Failed(ready.text()),
        Some(ready) => in_progress(ready.text()),
    }
}

fn by_phase(object: &Value) -> Health {
    let status = &object["status"];
    let message = status["message"].as_str().unwrap_or_default();
    let is_disabled = object["spec"]["disabled"] == true || object["spec"]["enabled"] == false;
    match status["phase"].as_str().unwrap_or_default() {
        "Installed" if !is_disabled => Health::Current,
        "Disabled" | "Removed" if is_disabled => Health::Current,
        "Failed" => Health::Failed(message.to_owned()),
        "" | "None" if !message.is_empty() => in_progress(message),
        "" => in_progress("no phase yet"),
        phase => in_progress(format!("phase is {phase}")),
    }
}
