//! What the watches and the workers tell the one who keeps the queue.

use kube::api::ObjectMeta;
use kube::runtime::watcher::Event;
use outrigger_api::plugin::Plugin;
use serde_json::Value;

use crate::digest;
use crate::key::Key;
use crate::objects::{Kind, Name, Place};
use crate::references::Source;
use crate::world::{RELEASE_NAME, RELEASE_NAMESPACE};

/// Something happened.
#[derive(Debug)]
pub(crate) enum News {
    /// A watch of plugins, of one namespace or all, tells.
    Plugin(Option<String>, Event<Box<Plugin>>),
    /// A watch of sources of values of a namespace tells names and versions.
    Reference(Source, String, Event<(String, String)>),
    /// A watch of a kind of objects tells.
    Object(Place, Kind, Box<Event<Sight>>),
    /// The registry that the cluster-wide defaults name.
    Defaults(Option<String>),
    /// Repositories changed.
    Repositories,
    /// A worker only waits from now on.
    Waits(Key),
}

/// What is seen of an object.
#[derive(Debug)]
pub(crate) struct Sight {
    pub(crate) name: Name,
    pub(crate) release: Option<(String, String)>,
    pub(crate) fields: Option<String>,
    pub(crate) version: u64,
    /// The whole object, if its health is more than being there.
    pub(crate) object: Option<Value>,
}

impl Sight {
    pub(crate) fn of(metadata: &ObjectMeta, object: Option<Value>) -> Self {
        let annotation = |name: &str| {
            let annotations = metadata.annotations.as_ref();
            annotations.and_then(|all| all.get(name)).cloned()
        };
        let version = metadata.resource_version.as_deref();
        Self {
            name: (
                metadata.namespace.clone(),
                metadata.name.clone().unwrap_or_default(),
            ),
            release: annotation(RELEASE_NAMESPACE).zip(annotation(RELEASE_NAME)),
            fields: own_fields(metadata),
            version: version_number(version),
            object,
        }
    }
}

/// The number of a version. Versions that are no numbers count as the newest.
pub(crate) fn version_number(version: Option<&str>) -> u64 {
    let number = version.and_then(|version| version.parse().ok());
    number.unwrap_or(u64::MAX)
}

/// The digest of the fields that releases applied, and still own.
pub(crate) fn own_fields(metadata: &ObjectMeta) -> Option<String> {
    let fields = metadata.managed_fields.as_ref()?;
    let own = fields.iter().find(|entry| {
        entry.manager.as_deref() == Some("helm")
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.is_none()
    })?;
    own.fields_v1
        .as_ref()
        .map(|fields| digest::short(&fields.0))
}

/// Maps the object of an event.
pub(crate) fn map<K, T>(event: Event<K>, each: impl FnOnce(K) -> T) -> Event<T> {
    match event {
        Event::Apply(object) => Event::Apply(each(object)),
        Event::Delete(object) => Event::Delete(each(object)),
        Event::InitApply(object) => Event::InitApply(each(object)),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(manager: &str, operation: &str, fields: &Value) -> ObjectMeta {
        serde_json::from_value(json!({"name": "a", "managedFields": [
            {"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields},
        ]}))
        .unwrap()
    }

    #[test]
    fn only_the_fields_that_releases_applied_are_ours() {
        let ours = |fields: Value| own_fields(&metadata("helm", "Apply", &fields));
        assert!(ours(json!({"f:data": {"f:a": {}}})).is_some());
        assert_ne!(
            ours(json!({"f:data": {"f:a": {}}})),
            ours(json!({"f:data": {}}))
        );
        assert_eq!(own_fields(&metadata("helm", "Update", &json!({}))), None);
        assert_eq!(own_fields(&metadata("kubectl", "Apply", &json!({}))), None);
    }
}
