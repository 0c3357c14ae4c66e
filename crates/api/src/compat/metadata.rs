//! Converts the metadata of an object of a foreign kind.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use serde_json::{Map, Value, json};

use super::Error;
use super::fields::Fields;

/// Written by `kubectl apply`. It describes the foreign object, not the plugin.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Name, namespace, labels and annotations. All other fields belong to the foreign object.
pub(super) fn convert(value: Value, default_name: Option<String>) -> Result<ObjectMeta, Error> {
    let mut fields = Fields::new("metadata", value)?;
    let name = fields.string("name")?.or(default_name);
    let labels = strings(fields.map("labels")?);
    let mut annotations = strings(fields.map("annotations")?);
    annotations.remove(LAST_APPLIED);
    Ok(ObjectMeta {
        name: Some(name.ok_or_else(|| Error::Missing {
            path: "metadata.name".to_owned(),
        })?),
        namespace: fields.string("namespace")?,
        labels: Some(labels).filter(|labels| !labels.is_empty()),
        annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
        ..ObjectMeta::default()
    })
}

/// Carries changed annotations of the converted object over to the foreign one. Its others stay.
pub(super) fn change_annotations(object: &mut Value, before: &ObjectMeta, after: &ObjectMeta) {
    let (before, after) = (&before.annotations, &after.annotations);
    if before == after {
        return;
    }
    let annotations = &mut object["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    let Some(annotations) = annotations.as_object_mut() else {
        return;
    };
    for name in before.iter().flatten().map(|(name, _)| name) {
        annotations.remove(name);
    }
    let after = after.iter().flatten();
    annotations.extend(after.map(|(name, value)| (name.clone(), json!(value))));
}

fn strings(map: Map<String, Value>) -> BTreeMap<String, String> {
    let entries = map.into_iter();
    entries
        .filter_map(|(key, value)| Some((key, value.as_str()?.to_owned())))
        .collect()
}
