//! Ownership of objects: Helm's label and annotations, and the resource policy `keep`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::id::{ObjectId, ReleaseId};
use crate::record::secret;

/// Helm's field manager, so that Helm and Outrigger own the same fields.
pub(crate) const FIELD_MANAGER: &str = "helm";

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const HELM: &str = "Helm";
const RELEASE_NAME: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// Helm's message about missing or different ownership metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid ownership metadata; {0}")]
pub struct InvalidOwnership(String);

/// An existing object that is not part of the release. In Helm's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} exists and cannot be imported into the current release: {reason}", .object.helm_text())]
pub struct CannotImport {
    pub object: ObjectId,
    pub reason: InvalidOwnership,
}

/// Sets the ownership metadata of the release.
pub(crate) fn set_metadata(object: &mut Value, release: &ReleaseId) {
    set(object, "labels", MANAGED_BY, HELM);
    set(object, "annotations", RELEASE_NAME, &release.name);
    set(object, "annotations", RELEASE_NAMESPACE, &release.namespace);
}

fn set(object: &mut Value, map: &str, key: &str, value: &str) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let metadata = map_entry(object, "metadata");
    map_entry(metadata, map).insert(key.to_owned(), json!(value));
}

/// The map under `key`, replaced by an empty one if it is missing or not a map.
fn map_entry<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = map.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("the value is a map")
}

/// Checks that a live object has the ownership metadata of the release.
pub(crate) fn check(live: &Value, release: &ReleaseId) -> Result<(), InvalidOwnership> {
    let metadata = &live["metadata"];
    let required = [
        ("label", "labels", MANAGED_BY, HELM),
        ("annotation", "annotations", RELEASE_NAME, &release.name),
        (
            "annotation",
            "annotations",
            RELEASE_NAMESPACE,
            &release.namespace,
        ),
    ];
    let violations: Vec<String> = required
        .iter()
        .filter_map(|(what, map, key, value)| {
            let violation = match metadata[*map][*key].as_str() {
                None => format!("missing key {key:?}: must be set to {value:?}"),
                Some(found) if found != *value => {
                    format!("key {key:?} must equal {value:?}: current value is {found:?}")
                }
                Some(_) => return None,
            };
            Some(format!("{what} validation error: {violation}"))
        })
        .collect();
    if violations.is_empty() {
        return Ok(());
    }
    Err(InvalidOwnership(violations.join("; ")))
}

/// The release that owns a live object, if it is another one.
fn other_release(live: &Value, release: &ReleaseId) -> Option<ReleaseId> {
    let annotations = &live["metadata"]["annotations"];
    let owner = ReleaseId {
        namespace: annotations[RELEASE_NAMESPACE].as_str()?.to_owned(),
        name: annotations[RELEASE_NAME].as_str()?.to_owned(),
    };
    (owner != *release).then_some(owner)
}

/// Checks that a live object does not belong to another release, as an object or as the record of a revision. One that belongs
/// to no release passes.
pub(crate) fn check_foreign(live: &Value, release: &ReleaseId) -> Result<(), InvalidOwnership> {
    if let Some(owner) = record_owner(live).filter(|owner| owner != release) {
        return Err(InvalidOwnership(format!(
            "it is the record of a revision of release {owner}"
        )));
    }
    match other_release(live, release) {
        Some(_) => check(live, release),
        None => Ok(()),
    }
}

/// The annotation of a CRD of the `crds` directory that a release replaces: the release.
const CRD_OWNER: &str = "outrigger.dev/replaced-by-release";

/// Marks a CRD as replaced by a release.
pub(crate) fn set_crd_owner(crd: &mut Value, release: &str) {
    set(crd, "annotations", CRD_OWNER, release);
}

/// The release that replaces a live CRD, as text.
pub(crate) fn crd_owner(live: &Value) -> Option<&str> {
    live["metadata"]["annotations"][CRD_OWNER].as_str()
}

/// Checks that a release may replace a live CRD. `replacing` are releases that exist and replace CRDs.
pub(crate) fn check_crd(
    live: &Value,
    release: &ReleaseId,
    replacing: &BTreeSet<ReleaseId>,
) -> Result<(), InvalidOwnership> {
    check_foreign(live, release)?;
    let mut others = replacing.iter().filter(|other| *other != release);
    match others.find(|other| crd_owner(live) == Some(&*other.to_string())) {
        Some(owner) => Err(InvalidOwnership(format!(
            "it belongs to release {owner}, which replaces it with another definition"
        ))),
        None => Ok(()),
    }
}

/// The release whose record a Secret is.
fn record_owner(live: &Value) -> Option<ReleaseId> {
    let (kind, metadata) = (&live["type"], &live["metadata"]);
    let owner = ReleaseId {
        namespace: metadata["namespace"].as_str()?.to_owned(),
        name: metadata["labels"]["name"].as_str()?.to_owned(),
    };
    (*kind == secret::TYPE).then_some(owner)
}

/// Whether the resource policy keeps the object on uninstall and prune.
pub(crate) fn has_keep_policy(object: &Value) -> bool {
    let policy = &object["metadata"]["annotations"][RESOURCE_POLICY];
    policy
        .as_str()
        .is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"))
}

/// What to do with a live object that the release no longer contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Removal {
    Delete,
    /// Keep it, for this reason.
    Keep(String),
    /// The release never owned it.
    Ignore,
}

/// `is_deployed`: the object is in the manifest of the deployed revision. Other revisions failed or were interrupted, so
/// their manifests may list objects that they never created.
pub(crate) fn removal(live: &Value, release: &ReleaseId, is_deployed: bool) -> Removal {
    if has_keep_policy(live) {
        return keep_by_policy();
    }
    if let Some(owner) = other_release(live, release) {
        return Removal::Keep(format!("it belongs to release {owner}"));
    }
    if !is_deployed && check(live, release).is_err() {
        return Removal::Ignore;
    }
    Removal::Delete
}

pub(crate) fn keep_by_policy() -> Removal {
    Removal::Keep("its resource policy is keep".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> ReleaseId {
        ReleaseId::new("shop", "web")
    }

    #[test]
    fn ownership_metadata_assigns_an_object_to_exactly_one_release() {
        let mut object = json!({"metadata": {"name": "x", "labels": {"a": "b"}}});
        set_metadata(&mut object, &release());
        assert_eq!(check(&object, &release()), Ok(()));
        assert_eq!(object["metadata"]["labels"]["a"], "b");
        assert_eq!(other_release(&object, &release()), None);
        let other = ReleaseId::new("shop", "other");
        assert_eq!(other_release(&object, &other), Some(release()));
    }

    #[test]
    fn invalid_ownership_metadata_is_reported_in_helms_words() {
        let object = json!({
            "metadata": {"annotations": {"meta.helm.sh/release-name": "other"}}
        });
        assert_eq!(
            check(&object, &release()).unwrap_err().to_string(),
            "invalid ownership metadata; label validation error: missing key \
             \"app.kubernetes.io/managed-by\": must be set to \"Helm\"; annotation validation error: key \
             \"meta.helm.sh/release-name\" must equal \"web\": current value is \"other\"; annotation validation \
             error: missing key \"meta.helm.sh/release-namespace\": must be set to \"shop\""
        );
    }

    #[test]
    fn only_the_keep_policy_keeps_an_object() {
        let object = |policy: &str| json!({"metadata": {"annotations": {"helm.sh/resource-policy": policy}}});
        assert!(has_keep_policy(&object("keep")));
        assert!(!has_keep_policy(&object("delete")));
        assert!(!has_keep_policy(&json!({"metadata": {}})));
    }
}
