//! Whose objects are: Helm's label and annotations, and the policy that keeps an object.

use serde_json::{Map, Value, json};

use crate::id::{ObjectId, ReleaseId};

/// The manager of the fields that releases set. Helm's own, so that both own the same fields.
pub(crate) const MANAGER: &str = "helm";

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const HELM: &str = "Helm";
const RELEASE_NAME: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// Marks an object as one of the release.
pub(crate) fn stamp(object: &mut Value, release: &ReleaseId) {
    set(object, "labels", MANAGED_BY, HELM);
    set(object, "annotations", RELEASE_NAME, &release.name);
    set(object, "annotations", RELEASE_NAMESPACE, &release.namespace);
}

fn set(object: &mut Value, map: &str, key: &str, value: &str) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let metadata = entry(object, "metadata");
    entry(metadata, map).insert(key.to_owned(), json!(value));
}

/// The map of that name, made if it is not there or is something else.
fn entry<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = map.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was just made a map")
}

/// Why a live object is not one of the release, in Helm's words.
pub(crate) fn check(live: &Value, release: &ReleaseId) -> Result<(), String> {
    let metadata = &live["metadata"];
    let wanted = [
        ("label", "labels", MANAGED_BY, HELM),
        ("annotation", "annotations", RELEASE_NAME, &release.name),
        (
            "annotation",
            "annotations",
            RELEASE_NAMESPACE,
            &release.namespace,
        ),
    ];
    let faults: Vec<String> = wanted
        .iter()
        .filter_map(|(what, map, key, value)| {
            let fault = match metadata[*map][*key].as_str() {
                None => format!("missing key {key:?}: must be set to {value:?}"),
                Some(found) if found != *value => {
                    format!("key {key:?} must equal {value:?}: current value is {found:?}")
                }
                Some(_) => return None,
            };
            Some(format!("{what} validation error: {fault}"))
        })
        .collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("invalid ownership metadata; {}", faults.join("; ")))
}

/// The release that a live object names as its own, if it is another one.
pub(crate) fn other_owner(live: &Value, release: &ReleaseId) -> Option<ReleaseId> {
    let annotations = &live["metadata"]["annotations"];
    let owner = ReleaseId {
        namespace: annotations[RELEASE_NAMESPACE].as_str()?.to_owned(),
        name: annotations[RELEASE_NAME].as_str()?.to_owned(),
    };
    (owner != *release).then_some(owner)
}

/// Whether an object stays when the release goes.
pub(crate) fn is_kept(object: &Value) -> bool {
    let policy = &object["metadata"]["annotations"][RESOURCE_POLICY];
    policy
        .as_str()
        .is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"))
}

/// The text of Helm's refusal to take an object.
pub(crate) fn refusal(object: &ObjectId, reason: &str) -> String {
    format!(
        "{} exists and cannot be imported into the current release: {reason}",
        object.helm_text()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> ReleaseId {
        ReleaseId::new("shop", "web")
    }

    #[test]
    fn a_stamped_object_belongs_to_the_release_and_to_no_other() {
        let mut object = json!({"metadata": {"name": "x", "labels": {"a": "b"}}});
        stamp(&mut object, &release());
        assert_eq!(check(&object, &release()), Ok(()));
        assert_eq!(object["metadata"]["labels"]["a"], "b");
        assert_eq!(other_owner(&object, &release()), None);
        let other = ReleaseId::new("shop", "other");
        assert_eq!(other_owner(&object, &other), Some(release()));
    }

    #[test]
    fn the_refusal_is_helms() {
        let object = json!({
            "metadata": {"annotations": {"meta.helm.sh/release-name": "other"}}
        });
        assert_eq!(
            check(&object, &release()).unwrap_err(),
            "invalid ownership metadata; label validation error: missing key \
             \"app.kubernetes.io/managed-by\": must be set to \"Helm\"; annotation validation error: key \
             \"meta.helm.sh/release-name\" must equal \"web\": current value is \"other\"; annotation validation \
             error: missing key \"meta.helm.sh/release-namespace\": must be set to \"shop\""
        );
    }

    #[test]
    fn only_the_policy_keep_keeps() {
        let object = |policy: &str| json!({"metadata": {"annotations": {"helm.sh/resource-policy": policy}}});
        assert!(is_kept(&object("keep")));
        assert!(!is_kept(&object("delete")));
        assert!(!is_kept(&json!({"metadata": {}})));
    }
}
