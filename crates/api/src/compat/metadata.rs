//! What a plugin keeps of the metadata of the object that it is made of.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use serde_json::{Map, Value};

use super::Error;
use super::fields::Fields;

/// What kubectl notes on objects; it would name the wrong object here.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Name, namespace, labels and annotations. Everything else belongs to the other object.
pub(super) fn keep(value: Value, name: Option<String>) -> Result<ObjectMeta, Error> {
    let mut fields = Fields::new("metadata", value)?;
    let given = fields.text("name")?;
    let labels = texts(fields.map("labels")?);
    let mut annotations = texts(fields.map("annotations")?);
    annotations.remove(LAST_APPLIED);
    Ok(ObjectMeta {
        name: Some(given.or(name).ok_or_else(|| Error::Missing {
            path: "metadata.name".to_owned(),
        })?),
        namespace: fields.text("namespace")?,
        labels: Some(labels).filter(|labels| !labels.is_empty()),
        annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
        ..ObjectMeta::default()
    })
}

fn texts(map: Map<String, Value>) -> BTreeMap<String, String> {
    let entries = map.into_iter();
    entries
        .filter_map(|(key, value)| Some((key, value.as_str()?.to_owned())))
        .collect()
}
