//! Tells the names of all objects of a kind, and lets only those pass on that belong to releases.

use std::collections::HashSet;
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use outrigger_release::Presence;

use super::{HELM, MANAGED};
use crate::objects::{Kind, Name};

type Object = PartialObjectMeta<DynamicObject>;

/// What a watch tells, on its way. When it ends, nothing is known of the kind any more.
pub(super) struct Names {
    presence: Option<Arc<Presence>>,
    kind: Kind,
    /// Objects that were passed on as parts of releases.
    passed: HashSet<Name>,
}

impl Names {
    pub(super) fn new(presence: Option<Arc<Presence>>, kind: Kind) -> Self {
        Self {
            presence,
            kind,
            passed: HashSet::new(),
        }
    }

    /// Notes the names of an event. Gives what it means for releases, if it means something.
    pub(super) fn managed(&mut self, event: Event<Object>) -> Option<Event<Object>> {
        self.note(&event);
        match event {
            Event::Init => {
                self.passed.clear();
                Some(Event::Init)
            }
            Event::InitDone => Some(Event::InitDone),
            Event::InitApply(object) => self.take(&object).then_some(Event::InitApply(object)),
            Event::Apply(object) if is_managed(&object) => {
                self.passed.insert(name(&object));
                Some(Event::Apply(object))
            }
            // It may have been one before.
            Event::Apply(object) | Event::Delete(object) => {
                let was_passed = self.passed.remove(&name(&object));
                was_passed.then_some(Event::Delete(object))
            }
        }
    }

    fn take(&mut self, object: &Object) -> bool {
        is_managed(object) && self.passed.insert(name(object))
    }

    fn note(&self, event: &Event<Object>) {
        let Some(presence) = &self.presence else {
            return;
        };
        let (version, kind) = (self.kind.api_version.as_str(), self.kind.kind.as_str());
        match event {
            Event::Init => presence.begin(version, kind),
            Event::InitDone => presence.end(version, kind),
            Event::InitApply(object) => {
                let namespace = object.metadata.namespace.as_deref();
                presence.list(version, kind, namespace, &object.name_any());
            }
            Event::Apply(object) => {
                let namespace = object.metadata.namespace.as_deref();
                presence.add(version, kind, namespace, &object.name_any());
            }
            Event::Delete(object) => {
                let namespace = object.metadata.namespace.as_deref();
                presence.remove(version, kind, namespace, &object.name_any());
            }
        }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        if let Some(presence) = &self.presence {
            presence.forget(&self.kind.api_version, &self.kind.kind);
        }
    }
}

fn name(object: &Object) -> Name {
    (object.metadata.namespace.clone(), object.name_any())
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
    fn told(names: &mut Names, event: Event<Object>) -> &'static str {
        match names.managed(event) {
            None => "nothing",
            Some(Event::Init | Event::InitApply(_) | Event::InitDone) => "listed",
            Some(Event::Apply(_)) => "applied",
            Some(Event::Delete(_)) => "deleted",
        }
    }

    #[test]
    fn objects_of_others_are_not_passed_on() {
        let mut names = names();
        assert_eq!(
            told(&mut names, Event::InitApply(object("a", None))),
            "nothing"
        );
        assert_eq!(
            told(&mut names, Event::Apply(object("b", Some("Me")))),
            "nothing"
        );
        assert_eq!(
            told(&mut names, Event::Delete(object("b", None))),
            "nothing"
        );
    }

    #[test]
    fn an_object_that_loses_its_label_is_gone_for_releases() {
        let mut names = names();
        assert_eq!(
            told(&mut names, Event::InitApply(object("a", Some(HELM)))),
            "listed"
        );
        assert_eq!(
            told(&mut names, Event::Apply(object("a", Some(HELM)))),
            "applied"
        );
        assert_eq!(told(&mut names, Event::Apply(object("a", None))), "deleted");
        assert_eq!(told(&mut names, Event::Apply(object("a", None))), "nothing");
        assert_eq!(
            told(&mut names, Event::Apply(object("a", Some(HELM)))),
            "applied"
        );
        assert_eq!(
            told(&mut names, Event::Delete(object("a", Some(HELM)))),
            "deleted"
        );
    }
}
