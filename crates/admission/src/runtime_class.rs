//! `RuntimeClass`: a Pod gets the overhead, node selector and tolerations of its runtime class.

use outrigger_apimachinery::status::Status;
use outrigger_builtin::fields::{list, object_mut, text};
use serde_json::{Map, Value, json};

use super::{Attributes, ClusterState};
use crate::resource_list::{self, ResourceList};

pub(super) fn mutate(
    attributes: &Attributes<'_>,
    pod: &mut Value,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    let Some(class) = class_of(attributes, pod, cluster)? else {
        return Ok(());
    };
    let name = text(&pod["metadata"], "name").to_owned();
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    if class["overhead"].is_object() {
        set_overhead(spec, &class).map_err(|why| attributes.forbidden(&name, why))?;
    }
    if class["scheduling"].is_object() {
        set_scheduling(spec, &class["scheduling"])
            .map_err(|why| attributes.forbidden(&name, why))?;
    }
    Ok(())
}

pub(super) fn validate(
    attributes: &Attributes<'_>,
    pod: &Value,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    let class = class_of(attributes, pod, cluster)?.unwrap_or_default();
    let overhead = &pod["spec"]["overhead"];
    let why = if class["overhead"].is_object() {
        (fixed_overhead(&class) != resource_list::parse(overhead)).then_some(MISMATCH)
    } else {
        overhead.is_object().then_some(
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        )
    };
    match why {
        Some(why) => Err(attributes.forbidden(text(&pod["metadata"], "name"), why)),
        None => Ok(()),
    }
}

const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

fn class_of(
    attributes: &Attributes<'_>,
    pod: &Value,
    cluster: &dyn ClusterState,
) -> Result<Option<Value>, Status> {
    let Some(name) = pod["spec"]["runtimeClassName"].as_str() else {
        return Ok(None);
    };
    let class = cluster.runtime_class(name).ok_or_else(|| {
        let why = format!("pod rejected: RuntimeClass \"{name}\" not found");
        attributes.forbidden(text(&pod["metadata"], "name"), why)
    });
    class.map(Some)
}

fn fixed_overhead(class: &Value) -> ResourceList {
    resource_list::parse(&class["overhead"]["podFixed"])
}

fn set_overhead(spec: &mut Map<String, Value>, class: &Value) -> Result<(), &'static str> {
    let given = spec.get("overhead").map(resource_list::parse);
    if given.is_some_and(|given| !given.is_empty() && given != fixed_overhead(class)) {
        return Err(MISMATCH);
    }
    let overhead = class["overhead"]["podFixed"].clone();
    if overhead.is_object() {
        spec.insert("overhead".to_owned(), overhead);
    }
    Ok(())
}

fn set_scheduling(spec: &mut Map<String, Value>, scheduling: &Value) -> Result<(), String> {
    if let Some(wanted) = scheduling["nodeSelector"].as_object()
        && let Some(selector) = object_mut(spec, "nodeSelector")
    {
        for (key, value) in wanted {
            let wanted = value.as_str().unwrap_or_default();
            let given = selector.get(key).and_then(Value::as_str);
            if let Some(given) = given.filter(|given| *given != wanted) {
                return Err(format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; pod.spec.nodeSelector[{key}] = {given}"
                ));
            }
            selector.insert(key.clone(), value.clone());
        }
    }
    let added = list(scheduling, "tolerations");
    if !added.is_empty() {
        let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
        if let Some(tolerations) = tolerations.as_array_mut() {
            tolerations.extend(added.iter().cloned());
            *tolerations = merge_tolerations(tolerations);
        }
    }
    Ok(())
}

/// Drops tolerations that others include; of equal ones the first is kept.
fn merge_tolerations(all: &[Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::with_capacity(all.len());
    for (index, toleration) in all.iter().enumerate() {
        let mut later = all.iter().skip(index).skip(1);
        let is_included = merged.iter().any(|other| includes(other, toleration))
            || later.any(|other| other != toleration && includes(other, toleration));
        if !is_included {
            merged.push(toleration.clone());
        }
    }
    merged
}

/// Whether `superset` tolerates everything that `toleration` does.
fn includes(superset: &Value, toleration: &Value) -> bool {
    if superset == toleration {
        return true;
    }
    let operator = text(superset, "operator");
    let matches_all_keys = text(superset, "key").is_empty() && operator == "Exists";
    if text(toleration, "key") != text(superset, "key") && !matches_all_keys {
        return false;
    }
    let effect = text(superset, "effect");
    if !effect.is_empty() && text(toleration, "effect") != effect {
        return false;
    }
    if effect == "NoExecute"
        && let Some(most) = superset["tolerationSeconds"].as_i64()
        && toleration["tolerationSeconds"]
            .as_i64()
            .is_none_or(|seconds| seconds > most)
    {
        return false;
    }
    match operator {
        "" | "Equal" => {
            text(toleration, "operator") == "Equal"
                && text(toleration, "value") == text(superset, "value")
        }
        _ => operator == "Exists",
    }
}
