//! The informer cache: the last observed version of each watched object, indexed by controller.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use outrigger_apiserver::loopback::ResourcePath;
use serde_json::Value;

use super::node;
use super::object::{controller_uid, is_complete, is_terminated, text};
use super::requests::Requests;

/// The kinds that are watched: plural name, API version.
pub(super) const WATCHED: &[(&str, &str)] = &[
    ("controllerrevisions", "apps/v1"),
    ("daemonsets", "apps/v1"),
    ("deployments", "apps/v1"),
    ("replicasets", "apps/v1"),
    ("statefulsets", "apps/v1"),
    ("horizontalpodautoscalers", "autoscaling/v2"),
    ("cronjobs", "batch/v1"),
    ("jobs", "batch/v1"),
    ("endpointslices", "discovery.k8s.io/v1"),
    ("poddisruptionbudgets", "policy/v1"),
    ("storageclasses", "storage.k8s.io/v1"),
    ("configmaps", "v1"),
    ("endpoints", "v1"),
    ("nodes", "v1"),
    ("persistentvolumeclaims", "v1"),
    ("persistentvolumes", "v1"),
    ("pods", "v1"),
    ("replicationcontrollers", "v1"),
    ("secrets", "v1"),
    ("services", "v1"),
];

/// A reference to an object: plural name, namespace, name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ObjectRef {
    pub(super) plural: &'static str,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl ObjectRef {
    pub(super) fn new(plural: &'static str, namespace: &str, name: &str) -> Self {
        Self {
            plural,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(super) fn of(plural: &'static str, object: &Value) -> Self {
        let metadata = &object["metadata"];
        Self::new(
            plural,
            text(&metadata["namespace"]),
            text(&metadata["name"]),
        )
    }

    pub(super) fn path(&self) -> ResourcePath {
        collection(self.plural)
            .in_namespace(&self.namespace)
            .named(&self.name)
    }
}

/// The collection of a watched kind in all namespaces.
pub(super) fn collection(plural: &str) -> ResourcePath {
    let found = WATCHED.iter().find(|(candidate, _)| *candidate == plural);
    ResourcePath::all(found.map_or("v1", |(_, version)| version), plural)
}

#[derive(Debug, Default)]
pub(super) struct Cache {
    /// By plural name, then by namespace and name.
    objects: HashMap<&'static str, BTreeMap<(String, String), Arc<Value>>>,
    /// By uid of the controller.
    controlled: HashMap<String, BTreeSet<ObjectRef>>,
    /// What the pods on the simulated node request, and those that are being bound to it.
    requested: Requests,
    binding: HashMap<ObjectRef, Requests>,
    /// Pods that are not bound to a node.
    unscheduled: BTreeSet<ObjectRef>,
    /// Namespaces in which a Job has completed since the start, although it may be deleted by now.
    with_completed_job: HashSet<String>,
    /// Uids of objects that the simulation has deleted and whose DELETED event is still to come.
    tombstones: HashSet<String>,
    /// The highest resource version that the watch of a kind has delivered.
    observed: HashMap<&'static str, u64>,
}

impl Cache {
    pub(super) fn get(&self, id: &ObjectRef) -> Option<&Arc<Value>> {
        let objects = self.objects.get(id.plural)?;
        objects.get(&(id.namespace.clone(), id.name.clone()))
    }

    /// How many objects of a kind there are.
    pub(super) fn count(&self, plural: &str) -> usize {
        self.objects.get(plural).map_or(0, BTreeMap::len)
    }

    /// The objects of a kind in a namespace, sorted by name; those of all namespaces if `namespace` is empty.
    pub(super) fn list<'a>(
        &'a self,
        plural: &str,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Value>> {
        let objects = self.objects.get(plural).into_iter();
        let objects =
            objects.flat_map(move |objects| objects.range((namespace.to_owned(), String::new())..));
        objects
            .take_while(move |((found, _), _)| namespace.is_empty() || found == namespace)
            .map(|(_, object)| object)
    }

    /// The objects of a kind whose controller has this uid, sorted by name.
    pub(super) fn controlled(&self, plural: &str, uid: &str) -> Vec<&Arc<Value>> {
        let ids = self.controlled.get(uid).into_iter().flatten();
        let ids = ids.filter(|id| id.plural == plural);
        ids.filter_map(|id| self.get(id)).collect()
    }

    /// Whether a Job has completed in a namespace.
    pub(super) fn has_completed_job(&self, namespace: &str) -> bool {
        self.with_completed_job.contains(namespace)
    }

    /// What the pods on the simulated node request.
    pub(super) fn requested(&self) -> &Requests {
        &self.requested
    }

    /// Pods that are not bound to a node.
    pub(super) fn unscheduled(&self) -> impl Iterator<Item = &ObjectRef> {
        self.unscheduled.iter()
    }

    /// Counts the requests of a pod while it is being bound to the node.
    pub(super) fn begin_binding(&mut self, id: &ObjectRef) {
        let Some(pod) = self.get(id) else {
            return;
        };
        let requests = Requests::of(pod);
        self.end_binding(id);
        self.requested = self.requested.plus(&requests);
        self.binding.insert(id.clone(), requests);
    }

    pub(super) fn end_binding(&mut self, id: &ObjectRef) {
        if let Some(requests) = self.binding.remove(id) {
            self.requested = self.requested.minus(&requests);
        }
    }

    /// Stores the result of a request of the simulation. Stale if the watch has delivered its deletion already.
    pub(super) fn apply_ahead(&mut self, plural: &'static str, object: Value) -> bool {
        let observed = self.observed.get(plural).copied().unwrap_or_default();
        let is_known = self.get(&ObjectRef::of(plural, &object)).is_some();
        if !is_known && version(&object) <= observed {
            return false;
        }
        self.insert(plural, object)
    }

    /// Stores a version of an object that the watch has delivered. False if it is stale.
    pub(super) fn apply(&mut self, plural: &'static str, object: Value) -> bool {
        self.observe(plural, &object);
        self.insert(plural, object)
    }

    fn observe(&mut self, plural: &'static str, object: &Value) {
        let observed = self.observed.entry(plural).or_default();
        *observed = version(object).max(*observed);
    }

    fn insert(&mut self, plural: &'static str, object: Value) -> bool {
        let id = ObjectRef::of(plural, &object);
        let old = self.get(&id);
        if old.is_some_and(|old| version(old) >= version(&object) && uid(old) == uid(&object)) {
            return false;
        }
        if self.tombstones.contains(uid(&object)) {
            return false;
        }
        self.remove(&id);
        if let Some(controller) = controller_uid(&object) {
            let controlled = self.controlled.entry(controller.to_owned()).or_default();
            controlled.insert(id.clone());
        }
        if uses_node(plural, &object) {
            self.requested = self.requested.plus(&Requests::of(&object));
        }
        if plural == "pods" && text(&object["spec"]["nodeName"]).is_empty() {
            self.unscheduled.insert(id.clone());
        }
        if plural == "jobs" && is_complete(&object) {
            self.with_completed_job.insert(id.namespace.clone());
        }
        let objects = self.objects.entry(plural).or_default();
        objects.insert((id.namespace, id.name), Arc::new(object));
        true
    }

    /// Handles a DELETED event.
    pub(super) fn delete(&mut self, plural: &'static str, object: &Value) {
        self.observe(plural, object);
        self.tombstones.remove(uid(object));
        let id = ObjectRef::of(plural, object);
        if self.get(&id).is_some_and(|known| uid(known) == uid(object)) {
            self.remove(&id);
        }
    }

    /// Removes an object that the simulation has deleted, before its DELETED event.
    pub(super) fn delete_ahead(&mut self, id: &ObjectRef) {
        if let Some(object) = self.get(id) {
            let uid = uid(object).to_owned();
            self.tombstones.insert(uid);
            self.remove(id);
        }
    }

    /// Removes and returns the objects that a new list does not contain.
    pub(super) fn retain(&mut self, plural: &'static str, listed: &[Value]) -> Vec<Arc<Value>> {
        let uids: HashSet<&str> = listed.iter().map(uid).collect();
        let known = self.list(plural, "");
        let stale = known.filter(|object| !uids.contains(uid(object)));
        let stale: Vec<Arc<Value>> = stale.cloned().collect();
        for object in &stale {
            self.delete(plural, object);
        }
        stale
    }

    fn remove(&mut self, id: &ObjectRef) {
        let Some(objects) = self.objects.get_mut(id.plural) else {
            return;
        };
        let Some(old) = objects.remove(&(id.namespace.clone(), id.name.clone())) else {
            return;
        };
        if uses_node(id.plural, &old) {
            self.requested = self.requested.minus(&Requests::of(&old));
        }
        self.unscheduled.remove(id);
        if let Some(controller) = controller_uid(&old)
            && let Some(controlled) = self.controlled.get_mut(controller)
        {
            controlled.remove(id);
            if controlled.is_empty() {
                self.controlled.remove(controller);
            }
        }
    }
}

/// Whether an object is a pod that uses resources of the simulated node.
fn uses_node(plural: &str, object: &Value) -> bool {
    plural == "pods" && object["spec"]["nodeName"] == node::NAME && !is_terminated(object)
}

fn uid(object: &Value) -> &str {
    text(&object["metadata"]["uid"])
}

fn version(object: &Value) -> u64 {
    text(&object["metadata"]["resourceVersion"])
        .parse()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, uid: &str, version: &str) -> Value {
        let owner = json!([{"uid": "owner", "controller": true}]);
        json!({"metadata": {"namespace": "n", "name": name, "uid": uid, "resourceVersion": version, "ownerReferences": owner}})
    }

    #[test]
    fn ignores_stale_versions_and_deleted_objects() {
        let mut cache = Cache::default();
        assert!(cache.apply("pods", pod("a", "1", "7")));
        assert!(!cache.apply("pods", pod("a", "1", "6")));
        cache.delete_ahead(&ObjectRef::new("pods", "n", "a"));
        assert!(!cache.apply("pods", pod("a", "1", "8")));
        assert!(cache.controlled("pods", "owner").is_empty());
        cache.delete("pods", &pod("a", "1", "9"));
        assert!(cache.apply("pods", pod("a", "2", "10")));
        assert_eq!(cache.controlled("pods", "owner").len(), 1);
    }

    #[test]
    fn a_late_response_does_not_bring_back_a_deleted_object() {
        let mut cache = Cache::default();
        assert!(cache.apply("pods", pod("a", "1", "7")));
        cache.delete("pods", &pod("a", "1", "9"));
        assert!(!cache.apply_ahead("pods", pod("a", "1", "8")));
        assert!(cache.apply_ahead("pods", pod("b", "2", "10")));
    }

    #[test]
    fn a_list_removes_objects_that_it_does_not_contain() {
        let mut cache = Cache::default();
        cache.apply("pods", pod("a", "1", "7"));
        cache.apply("pods", pod("b", "2", "7"));
        let stale = cache.retain("pods", &[pod("b", "2", "9")]);
        assert_eq!(stale.len(), 1);
        assert_eq!(cache.list("pods", "n").count(), 1);
        assert_eq!(cache.list("pods", "other").count(), 0);
    }
}
