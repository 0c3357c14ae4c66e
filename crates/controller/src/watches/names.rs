//! Tells the names of all objects of a kind, and lets only those pass on that belong to releases.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use outrigger_release::ExistenceCache;

use super::{HELM, MANAGED};
use crate::objects::Kind;

type Object = PartialObjectMeta<DynamicObject>;

/// What a watch tells, on its way. When it ends, nothing is known of the kind any more.
pub(super) struct Names {
    presence: Option<Arc<ExistenceCache>>,
    kind: Kind,
}

impl Names {
    pub(super) fn new(presence: Option<Arc<ExistenceCache>>, kind: Kind) -> Self {
        Self { presence, kind }
    }

    /// Notes the names of an event. Gives what it means for releases, if it may mean something: an object that is no
    /// part of one may have been one before.
    pub(super) fn managed(&self, event: Event<Object>) -> Option<Event<Object>> {
        self.note(&event);
        match event {
            Event::InitApply(object) if !is_managed(&object) => None,
            Event::Apply(object) if !is_managed(&object) => Some(Event::Delete(object)),
            event => Some(event),
        }
    }

    fn note(&self, event: &Event<Object>) {
        let Some(presence) = &self.presence else {
            return;
        };
        let (version, kind) = (self.kind.api_version.as_str(), self.kind.kind.as_str());
        match event {
            Event::Init => presence.init(version, kind),
            Event::InitDone => presence.init_done(version, kind),
            Event::InitApply(object) => {
                let namespace = object.metadata.namespace.as_deref();
                presence.init_apply(version, kind, namespace, &object.name_any());
            }
            Event::Apply(object) => {
                let namespace = object.metadata.namespace.as_deref();
                presence.apply(version, kind, namespace, &object.name_any());
            }
            Event::Delete(object) => {
                let namespace = object.metadata.namespace.as_deref();
                presence.delete(version, kind, namespace, &object.name_any());
            }
        }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        if let Some(presence) = &self.presence {
            presence.drop_kind(&self.kind.api_version, &self.kind.kind);
        }
    }
}

fn is_managed(object: &Object) -> bool {
    object.labels().get(MANAGED).is_some_and(|by| by == HELM)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, by: Option<&str>) -> Object {
        let labels = by.map(|by| json!({MANAGED: by}));
        let metadata = json!({"namespace": "shop", "name": name, "labels": labels});
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    }

    fn names() -> Names {
        let kind = Kind {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
        };
        Names::new(Some(Arc::default()), kind)
    }

    /// What is passed on, in short.
    fn told(event: Event<Object>) -> &'static str {
        match names().managed(event) {
            None => "nothing",
            Some(Event::Init | Event::InitApply(_) | Event::InitDone) => "listed",
            Some(Event::Apply(_)) => "applied",
            Some(Event::Delete(_)) => "deleted",
        }
    }

    #[test]
    fn what_is_no_part_of_a_release_is_gone_for_releases() {
        let (ours, theirs) = (|| object("a", Some(HELM)), || object("a", Some("Me")));
        assert_eq!(told(Event::InitApply(ours())), "listed");
        assert_eq!(told(Event::InitApply(theirs())), "nothing");
        assert_eq!(told(Event::Apply(ours())), "applied");
        assert_eq!(told(Event::Apply(theirs())), "deleted");
        assert_eq!(told(Event::Apply(object("a", None))), "deleted");
        assert_eq!(told(Event::Delete(ours())), "deleted");
    }
}
