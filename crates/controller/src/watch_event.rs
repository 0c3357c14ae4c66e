//! The events that watches send to the controller.

use kube::api::ObjectMeta;
use kube::runtime::watcher::Event;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use outrigger_api::plugin::Plugin;
use serde_json::{Value, json};

use crate::digest;
use crate::key::Key;
use crate::objects::{Kind, ObjectName, RecordLabels};
use crate::references::ReferenceKind;
use crate::release_ref::{ClusterRef, RELEASE_NAME, RELEASE_NAMESPACE};

#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// A plugin of the watched namespace, or of any namespace.
    Plugin(Option<String>, Event<Box<Plugin>>),
    /// Name and resource version of a ConfigMap or Secret in a namespace.
    Reference(ReferenceKind, String, Event<(String, String)>),
    /// An object of a watched kind.
    Object(ClusterRef, Kind, Box<Event<WatchedObject>>),
    /// The watch of a kind in a remote cluster fails, or no longer does.
    WatchFailing(ClusterRef, Kind, Option<String>),
    /// The image registry in the cluster-wide defaults.
    Defaults(Option<String>),
    /// Some Repository changed.
    Repositories,
    /// From a reconcile task, not from a watch: it only waits from now on and frees its slot.
    TaskWaiting(Key),
    /// From a task that resolves the inputs of a plugin in the background: it has ended, or waits for something else.
    ResolutionChanged(Key),
    Cluster(Event<Box<Cluster>>),
    Machine(Event<Box<Machine>>),
    /// From an attempt at a step of a cluster.
    AttemptEnded(String),
}

/// An object as a watch reports it.
#[derive(Debug)]
pub(crate) struct WatchedObject {
    pub(crate) name: ObjectName,
    pub(crate) release: Option<(String, String)>,
    pub(crate) fields: Option<String>,
    pub(crate) resource_version: u64,
    /// The full object, unless its mere existence makes it healthy.
    pub(crate) object: Option<Value>,
    /// For release records.
    pub(crate) record: Option<RecordLabels>,
}

impl WatchedObject {
    pub(crate) fn new(metadata: &ObjectMeta, object: Option<Value>) -> Self {
        let annotation = |name: &str| {
            let annotations = metadata.annotations.as_ref();
            annotations.and_then(|all| all.get(name)).cloned()
        };
        Self {
            name: (
                metadata.namespace.clone(),
                metadata.name.clone().unwrap_or_default(),
            ),
            release: annotation(RELEASE_NAMESPACE).zip(annotation(RELEASE_NAME)),
            fields: applied_fields(metadata),
            resource_version: parse_resource_version(metadata.resource_version.as_deref()),
            object,
            record: None,
        }
    }
}

impl WatchedObject {
    /// A release record.
    pub(crate) fn release_record(metadata: &ObjectMeta) -> Self {
        let label = |name: &str| {
            let labels = metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(name)).cloned()
        };
        let release = label("name");
        Self {
            name: (
                metadata.namespace.clone(),
                metadata.name.clone().unwrap_or_default(),
            ),
            release: metadata.namespace.clone().zip(release),
            fields: None,
            resource_version: parse_resource_version(metadata.resource_version.as_deref()),
            object: None,
            record: Some(RecordLabels {
                revision: label("version").unwrap_or_default(),
                status: label("status").unwrap_or_default(),
                is_foreign: !outrigger_release::is_own_record(metadata.annotations.as_ref()),
            }),
        }
    }
}

/// A resource version as a number. One that is not a number counts as the newest.
pub(crate) fn parse_resource_version(version: Option<&str>) -> u64 {
    let number = version.and_then(|version| version.parse().ok());
    number.unwrap_or(u64::MAX)
}

/// The digest of the fields that a release applied and still owns, and of the time when they were applied: Helm 4 applies
/// as the same field manager.
fn applied_fields(metadata: &ObjectMeta) -> Option<String> {
    let fields = metadata.managed_fields.as_ref()?;
    let applied = fields.iter().find(|entry| {
        entry.manager.as_deref() == Some("helm")
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.is_none()
    })?;
    let fields = applied.fields_v1.as_ref()?;
    let applied = json!({"fieldsV1": fields.0, "time": applied.time});
    Some(digest::short(&applied))
}

/// Maps the object of an event.
pub(crate) fn map<K, T>(event: Event<K>, convert: impl FnOnce(K) -> T) -> Event<T> {
    match event {
        Event::Apply(object) => Event::Apply(convert(object)),
        Event::Delete(object) => Event::Delete(convert(object)),
        Event::InitApply(object) => Event::InitApply(convert(object)),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(manager: &str, operation: &str, fields: &Value) -> ObjectMeta {
        serde_json::from_value(json!({"name": "a", "managedFields": [
            {"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields},
        ]}))
        .unwrap()
    }

    #[test]
    fn only_fields_applied_by_helm_count() {
        let helm = |fields: Value| applied_fields(&metadata("helm", "Apply", &fields));
        assert!(helm(json!({"f:data": {"f:a": {}}})).is_some());
        assert_ne!(
            helm(json!({"f:data": {"f:a": {}}})),
            helm(json!({"f:data": {}}))
        );
        let others = [("helm", "Update"), ("kubectl", "Apply")];
        for (manager, operation) in others {
            let metadata = metadata(manager, operation, &json!({}));
            assert_eq!(applied_fields(&metadata), None);
        }
    }
}
