//! The strategy of `CustomResourceDefinitions`.

use outrigger_apimachinery::status::field;
use outrigger_structural::schema;
use serde_json::{Value, json};

use crate::strategy::{Strategy, is_empty, remove_grace_period};

/// Keeps a definition until all its custom resources are gone.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

#[derive(Debug)]
pub(crate) struct CustomResourceDefinition;

impl Strategy for CustomResourceDefinition {
    fn prepare_for_create(&self, object: &mut Value) {
        object["status"] = json!({});
        add_stored_version(object);
    }

    fn prepare_for_update(&self, object: &mut Value) {
        add_stored_version(object);
    }

    fn validate_schemas(&self, object: &Value) -> Vec<field::Error> {
        let versions = object["spec"]["versions"].as_array();
        let versions = versions.map_or(&[][..], Vec::as_slice);
        let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
        let is_shared = versions
            .windows(2)
            .all(|pair| schema(&pair[0]) == schema(&pair[1]));
        let mut errors = Vec::new();
        for (index, version) in versions.iter().enumerate() {
            let schema = schema(version);
            if schema.is_null() {
                // `validation` reports it.
                continue;
            }
            // Versions with the same schema are converted to one schema of the whole definition.
            let path = if is_shared {
                "spec.validation.openAPIV3Schema".to_owned()
            } else {
                format!("spec.versions[{index}].schema.openAPIV3Schema")
            };
            let has_status = version["subresources"]["status"].is_object();
            errors.extend(schema::validate_definition(&schema, &path, has_status));
            if is_shared {
                break;
            }
        }
        errors
    }

    fn required_extension(&self, object: &Value) -> Option<&'static str> {
        (object["spec"]["conversion"]["strategy"] == "Webhook").then_some("conversion webhooks")
    }

    fn deletes_contents_first(&self) -> bool {
        true
    }

    /// Adds the finalizer and the condition that keep the definition until its custom resources are deleted.
    fn begin_deletion(&self, object: &mut Value, now: &str) {
        remove_grace_period(object);
        let finalizers = &mut object["metadata"]["finalizers"];
        if !finalizers.is_array() {
            *finalizers = json!([]);
        }
        if let Some(finalizers) = finalizers.as_array_mut()
            && !finalizers
                .iter()
                .any(|finalizer| finalizer == CLEANUP_FINALIZER)
        {
            finalizers.push(CLEANUP_FINALIZER.into());
        }
        let message =
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        set_terminating(object, ["True", "InstanceDeletionPending", message], now);
    }
}

/// Removes the finalizer of a definition that is being deleted, once it has no custom resources. False if the
/// definition has other finalizers.
pub fn remove_cleanup_finalizer(definition: &mut Value, now: &str) -> bool {
    set_terminating(
        definition,
        [
            "False",
            "InstanceDeletionCompleted",
            "removed all instances",
        ],
        now,
    );
    if let Some(finalizers) = definition["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|finalizer| finalizer != CLEANUP_FINALIZER);
    }
    is_empty(&definition["metadata"]["finalizers"])
}

/// Records the storage version in `status.storedVersions`.
fn add_stored_version(definition: &mut Value) {
    let versions = definition["spec"]["versions"].as_array();
    let mut versions = versions.into_iter().flatten();
    let storage = versions.find(|version| version["storage"] == true);
    let Some(name) = storage.map(|version| version["name"].clone()) else {
        return;
    };
    let stored = &mut definition["status"]["storedVersions"];
    if !stored.is_array() {
        *stored = json!([]);
    }
    if let Some(stored) = stored.as_array_mut()
        && !stored.contains(&name)
    {
        stored.push(name);
    }
}

fn set_terminating(definition: &mut Value, [status, reason, message]: [&str; 3], now: &str) {
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.retain(|condition| condition["type"] != "Terminating");
        conditions.push(json!({
            "type": "Terminating", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": now,
        }));
    }
}
