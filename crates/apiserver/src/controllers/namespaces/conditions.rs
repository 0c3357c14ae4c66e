//! The conditions of a namespace that is being deleted.

use serde_json::{Value, json};

use super::finalize::Remaining;

/// A condition without its type and time.
struct Condition {
    type_: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

/// Sets the conditions; false if they were set already.
pub(super) fn set(namespace: &mut Value, remaining: &Remaining, now: &str) -> bool {
    let conditions = &mut namespace["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return false;
    };
    let mut is_changed = false;
    for new in of(remaining) {
        let found = conditions
            .iter_mut()
            .find(|condition| condition["type"] == new.type_);
        let mut value = json!({
            "type": new.type_, "status": new.status, "lastTransitionTime": now,
            "reason": new.reason, "message": new.message,
        });
        match found {
            None => conditions.push(value),
            Some(old) => {
                if old["status"] == new.status {
                    value["lastTransitionTime"] = old["lastTransitionTime"].clone();
                }
                if *old == value {
                    continue;
                }
                *old = value;
            }
        }
        is_changed = true;
    }
    is_changed
}

fn of(remaining: &Remaining) -> [Condition; 5] {
    let ok = |type_, reason, message: &str| Condition {
        type_,
        status: "False",
        reason,
        message: message.to_owned(),
    };
    let list = |counts: &std::collections::BTreeMap<String, usize>, verb: &str| {
        let parts = counts
            .iter()
            .map(|(name, count)| format!("{name} {verb} {count} resource instances"));
        parts.collect::<Vec<_>>().join(", ")
    };
    let mut conditions = [
        ok(
            "NamespaceDeletionDiscoveryFailure",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        ok(
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        ok(
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        ok(
            "NamespaceContentRemaining",
            "ContentRemoved",
            "All content successfully removed",
        ),
        ok(
            "NamespaceFinalizersRemaining",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    ];
    let mut fail = |index: usize, reason, message: String| {
        let condition = &mut conditions[index];
        condition.status = "True";
        condition.reason = reason;
        condition.message = message;
    };
    if !remaining.errors.is_empty() {
        let errors = remaining.errors.join(", ");
        let count = remaining.errors.len();
        let message = format!("Failed to delete all resource types, {count} remaining: {errors}");
        fail(2, "ContentDeletionFailed", message);
    }
    if !remaining.resources.is_empty() {
        let resources = list(&remaining.resources, "has");
        let message = format!("Some resources are remaining: {resources}");
        fail(3, "SomeResourcesRemain", message);
    }
    if !remaining.finalizers.is_empty() {
        let finalizers = list(&remaining.finalizers, "in");
        let message =
            format!("Some content in the namespace has finalizers remaining: {finalizers}");
        fail(4, "SomeFinalizersRemain", message);
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_name_what_remains_and_change_once() {
        let remaining = Remaining {
            resources: [("pods.".to_owned(), 1)].into(),
            finalizers: [("example.com/hold".to_owned(), 1)].into(),
            errors: Vec::new(),
        };
        let mut namespace = json!({"status": {"phase": "Terminating"}});
        assert!(set(&mut namespace, &remaining, "now"));
        assert!(!set(&mut namespace, &remaining, "later"));
        let conditions = namespace["status"]["conditions"].as_array().unwrap();
        assert_eq!(conditions.len(), 5);
        assert_eq!(
            conditions[3]["message"],
            "Some resources are remaining: pods. has 1 resource instances"
        );
        assert_eq!(
            conditions[4],
            json!({
                "type": "NamespaceFinalizersRemaining", "status": "True", "lastTransitionTime": "now",
                "reason": "SomeFinalizersRemain",
                "message": "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
            })
        );
    }
}
