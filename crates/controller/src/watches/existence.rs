//! Records which objects of a kind exist, and passes on only the events of those that belong to releases.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use outrigger_release::ExistenceCache;

use super::{HELM, MANAGED_BY};
use crate::objects::Kind;

type Object = PartialObjectMeta<DynamicObject>;

/// Part of a watch. When the watch ends, the cache drops the kind.
pub(super) struct ExistenceRecorder {
    cache: Option<Arc<ExistenceCache>>,
    kind: Kind,
}

impl ExistenceRecorder {
    pub(super) fn new(cache: Option<Arc<ExistenceCache>>, kind: Kind) -> Self {
        Self { cache, kind }
    }

    /// Records an event. Returns what it means for releases: an object that does not belong to one may have done so
    /// before, and counts as deleted.
    pub(super) fn record(&self, event: Event<Object>) -> Option<Event<Object>> {
        self.update(&event);
        match event {
            Event::InitApply(object) if !is_managed(&object) => None,
            Event::Apply(object) if !is_managed(&object) => Some(Event::Delete(object)),
            event => Some(event),
        }
    }

    fn update(&self, event: &Event<Object>) {
        let Some(cache) = &self.cache else {
            return;
        };
        let (version, kind) = (self.kind.api_version.as_str(), self.kind.kind.as_str());
        match event {
            Event::Init => cache.init(version, kind),
            Event::InitDone => cache.init_done(version, kind),
            Event::InitApply(object) => {
                let namespace = object.metadata.namespace.as_deref();
                cache.init_apply(version, kind, namespace, &object.name_any());
            }
            Event::Apply(object) => {
                let namespace = object.metadata.namespace.as_deref();
                cache.apply(version, kind, namespace, &object.name_any());
            }
            Event::Delete(object) => {
                let namespace = object.metadata.namespace.as_deref();
                cache.delete(version, kind, namespace, &object.name_any());
            }
        }
    }
}

impl Drop for ExistenceRecorder {
    fn drop(&mut self) {
        if let Some(cache) = &self.cache {
            cache.drop_kind(&self.kind.api_version, &self.kind.kind);
        }
    }
}

fn is_managed(object: &Object) -> bool {
    object
        .labels()
        .get(MANAGED_BY)
        .is_some_and(|manager| manager == HELM)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, manager: Option<&str>) -> Object {
        let labels = manager.map(|manager| json!({MANAGED_BY: manager}));
        let metadata = json!({"namespace": "shop", "name": name, "labels": labels});
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    }

    fn recorder() -> ExistenceRecorder {
        let kind = Kind {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
        };
        ExistenceRecorder::new(Some(Arc::default()), kind)
    }

    /// What is passed on.
    fn recorded(event: Event<Object>) -> &'static str {
        match recorder().record(event) {
            None => "nothing",
            Some(Event::Init | Event::InitApply(_) | Event::InitDone) => "listed",
            Some(Event::Apply(_)) => "applied",
            Some(Event::Delete(_)) => "deleted",
        }
    }

    #[test]
    fn objects_outside_of_releases_count_as_deleted() {
        let (ours, theirs) = (|| object("a", Some(HELM)), || object("a", Some("Me")));
        assert_eq!(recorded(Event::InitApply(ours())), "listed");
        assert_eq!(recorded(Event::InitApply(theirs())), "nothing");
        assert_eq!(recorded(Event::Apply(ours())), "applied");
        assert_eq!(recorded(Event::Apply(theirs())), "deleted");
        assert_eq!(recorded(Event::Apply(object("a", None))), "deleted");
        assert_eq!(recorded(Event::Delete(ours())), "deleted");
    }
}
