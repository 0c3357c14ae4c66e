//! Our own kinds, and those we took over: they are not healthy until their controller says so.

use serde_json::Value;

use super::{Health, conditions, in_progress};

/// None if the object is of no such kind.
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
    let is_off = object["spec"]["enabled"] == false;
    if is_off && status["phase"] == "Disabled" {
        return Health::Current;
    }
    match conditions(object).find(|condition| condition.kind == "Ready") {
        None => in_progress("no Ready condition yet"),
        Some(ready) if ready.is_true() => Health::Current,
        Some(ready) if status["phase"] == "Failed" => Health::Failed(ready.words()),
        Some(ready) => in_progress(ready.words()),
    }
}

fn by_phase(object: &Value) -> Health {
    let status = &object["status"];
    let message = status["message"].as_str().unwrap_or_default();
    let is_off = object["spec"]["disabled"] == true || object["spec"]["enabled"] == false;
    match status["phase"].as_str().unwrap_or_default() {
        "Installed" if !is_off => Health::Current,
        "Disabled" | "Removed" if is_off => Health::Current,
        "Failed" => Health::Failed(message.to_owned()),
        "" => in_progress("no phase yet"),
        phase => in_progress(format!("phase is {phase}")),
    }
}
