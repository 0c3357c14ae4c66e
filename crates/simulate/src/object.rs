//! Accessors for fields of unstructured objects, label selectors and scaled values.

use outrigger_builtin::selector::LabelSelector;
use serde_json::{Map, Value, json};

use super::behavior::Behavior;
use super::cache::{Cache, ObjectRef};

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn integer(value: &Value) -> Option<i64> {
    value.as_i64()
}

pub(super) fn uid(object: &Value) -> &str {
    text(&object["metadata"]["uid"])
}

pub(super) fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

pub(super) fn namespace(object: &Value) -> &str {
    text(&object["metadata"]["namespace"])
}

pub(super) fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or(0)
}

pub(super) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

pub(super) fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    text(&object["metadata"]["annotations"][key])
}

pub(super) fn label<'a>(object: &'a Value, key: &str) -> &'a str {
    text(&object["metadata"]["labels"][key])
}

pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The owner reference with `controller: true`.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let mut references = items(&object["metadata"]["ownerReferences"]).iter();
    references.find(|reference| reference["controller"] == true)
}

pub(super) fn controller_uid(object: &Value) -> Option<&str> {
    controller(object).map(|reference| text(&reference["uid"]))
}

/// The plural name of a kind that controls other objects.
pub(super) fn plural_of_controller(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "Deployment" => "deployments",
        "ReplicaSet" => "replicasets",
        "ReplicationController" => "replicationcontrollers",
        "StatefulSet" => "statefulsets",
        "DaemonSet" => "daemonsets",
        "CronJob" => "cronjobs",
        "Job" => "jobs",
        "Service" => "services",
        _ => return None,
    })
}

/// Owner references that make `owner` the controller.
pub(super) fn controller_reference(owner: &Value, api_version: &str, kind: &str) -> Value {
    json!([{
        "apiVersion": api_version, "kind": kind, "name": name(owner), "uid": uid(owner),
        "controller": true, "blockOwnerDeletion": true,
    }])
}

/// The behavior that the object or the nearest of its controllers requests.
pub(super) fn behavior(cache: &Cache, object: &Value) -> Behavior {
    let mut object = object;
    for _ in 0..4 {
        if let Some(behavior) = Behavior::of(object) {
            return behavior;
        }
        let next = controller(object).and_then(|reference| {
            let plural = plural_of_controller(text(&reference["kind"]))?;
            cache.get(&ObjectRef::new(
                plural,
                namespace(object),
                text(&reference["name"]),
            ))
        });
        match next {
            Some(owner) => object = owner,
            None => break,
        }
    }
    Behavior::Normal
}

/// Whether a label selector matches. An empty selector matches everything, a missing one nothing.
pub(super) fn selects(selector: &Value, labels: &Value) -> bool {
    LabelSelector::of_object(selector).is_some_and(|selector| selector.matches(labels.as_object()))
}

/// Whether labels contain all pairs of a map, the selector of a Service. An empty map matches nothing.
pub(super) fn matches_labels(wanted: &Value, labels: &Value) -> bool {
    let wanted = wanted.as_object();
    wanted.is_some_and(|wanted| {
        !wanted.is_empty() && wanted.iter().all(|(key, value)| labels[key] == *value)
    })
}

/// `intstr.GetScaledValueFromIntOrPercent`: a number, or a percentage of `total`.
pub(super) fn scaled_value(value: &Value, total: i64, round_up: bool) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return Some(number);
    }
    let percent: i64 = value.as_str()?.strip_suffix('%')?.parse().ok()?;
    let hundredths = percent.checked_mul(total)?;
    Some(if round_up {
        hundredths.saturating_add(99).div_euclid(100)
    } else {
        hundredths.div_euclid(100)
    })
}

pub(super) fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready["status"] == "True")
}

/// Whether a pod is neither terminated nor terminating.
pub(super) fn is_active(pod: &Value) -> bool {
    !is_deleting(pod) && !is_terminated(pod)
}

/// Whether all containers of a pod have terminated.
pub(super) fn is_terminated(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut conditions = items(&object["status"]["conditions"]).iter();
    conditions.find(|condition| condition["type"] == kind)
}

/// Whether a condition of an object is true.
pub(super) fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Whether a Job has completed.
pub(super) fn is_complete(job: &Value) -> bool {
    is_true(job, "Complete")
}

/// The fields of `desired` that `object` does not have, as a merge patch. Missing and null are the same.
pub(super) fn changed_fields(object: &Value, desired: &Map<String, Value>) -> Option<Value> {
    let changed = desired
        .iter()
        .filter(|(key, value)| object.get(key.as_str()).unwrap_or(&Value::Null) != *value);
    let changed: Map<String, Value> = changed
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    (!changed.is_empty()).then(|| changed.into())
}

pub(super) fn insert_counts<N: Into<Value>>(
    status: &mut Map<String, Value>,
    counts: impl IntoIterator<Item = (&'static str, N)>,
) {
    for (key, count) in counts {
        status.insert(key.to_owned(), count.into());
    }
}

/// The same for fields with `omitempty`.
pub(super) fn insert_nonzero_counts<N: Into<Value>>(
    status: &mut Map<String, Value>,
    counts: impl IntoIterator<Item = (&'static str, N)>,
) {
    for (key, count) in counts {
        let count = count.into();
        let count = if count == 0 { Value::Null } else { count };
        status.insert(key.to_owned(), count);
    }
}

/// A hash of a value that is safe in names.
pub(super) fn compute_hash(value: &Value) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    const LETTERS: u64 = ALPHABET.len() as u64;
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in value.to_string().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut name = String::with_capacity(10);
    for _ in 0..10 {
        let index = usize::try_from(hash % LETTERS).unwrap_or(0);
        name.push(char::from(ALPHABET[index]));
        hash /= LETTERS;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluates_label_selectors() {
        let labels = json!({"app": "a", "tier": "web"});
        assert!(selects(&json!({"matchLabels": {"app": "a"}}), &labels));
        assert!(!selects(&json!({"matchLabels": {"app": "b"}}), &labels));
        assert!(selects(
            &json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["web"]}]}),
            &labels
        ));
        assert!(!selects(
            &json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
            &labels
        ));
        assert!(selects(&json!({}), &labels));
        assert!(!selects(&Value::Null, &labels));
    }

    #[test]
    fn rounds_percentages_up_or_down() {
        assert_eq!(scaled_value(&json!("25%"), 3, true), Some(1));
        assert_eq!(scaled_value(&json!("25%"), 3, false), Some(0));
        assert_eq!(scaled_value(&json!(2), 3, false), Some(2));
        assert_eq!(scaled_value(&json!("x"), 3, false), None);
    }

    #[test]
    fn hashes_are_stable_and_differ() {
        assert_eq!(
            compute_hash(&json!({"a": 1})),
            compute_hash(&json!({"a": 1}))
        );
        assert_ne!(
            compute_hash(&json!({"a": 1})),
            compute_hash(&json!({"a": 2}))
        );
        assert_eq!(compute_hash(&json!(null)).len(), 10);
    }
}
