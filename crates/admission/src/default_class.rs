//! `DefaultStorageClass` and `DefaultIngressClass`.

use serde_json::Value;

use super::ClusterState;

/// Sets the default class of a claim.
pub(super) fn mutate_claim(claim: &mut Value, cluster: &dyn ClusterState) {
    const ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
    let class = || cluster.default_storage_class();
    set_class(claim, "storageClassName", ANNOTATION, class);
}

/// Sets the default class of an ingress.
pub(super) fn mutate_ingress(ingress: &mut Value, cluster: &dyn ClusterState) {
    const ANNOTATION: &str = "kubernetes.io/ingress.class";
    let class = || cluster.default_ingress_class();
    set_class(ingress, "ingressClassName", ANNOTATION, class);
}

/// Sets the default class of an object that has none, neither in its field nor in the deprecated annotation.
fn set_class(
    object: &mut Value,
    key: &str,
    annotation: &str,
    default: impl FnOnce() -> Option<String>,
) {
    let has_annotation = object["metadata"]["annotations"][annotation].is_string();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if !has_annotation
        && !spec.contains_key(key)
        && let Some(class) = default()
    {
        spec.insert(key.to_owned(), class.into());
    }
}
