//! What the objects of a namespace use of one quota: measured once, then kept up to date with each change of an object.

use outrigger_apimachinery::quantity::Quantity;
use serde_json::Value;

use super::{Evaluator, scopes};
use crate::resource_list::{self, ResourceList};

/// The objects of a namespace.
pub trait Objects {
    /// The namespaced resources of the server whose objects can be counted, as group and plural.
    fn resources(&self) -> Vec<(String, String)>;
    fn count(&self, group: &str, plural: &str) -> usize;
    fn list(&self, group: &str, plural: &str) -> Vec<Value>;
}

/// A change of an object. Objects that are only counted may be null.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    Added(&'a Value),
    Modified { old: &'a Value, new: &'a Value },
    Deleted(&'a Value),
}

impl Change<'_> {
    /// Whether the contents of the objects of a resource matter, and not only their number.
    pub fn needs_objects(group: &str, plural: &str) -> bool {
        !matches!(Evaluator::of(group, plural), Evaluator::Count { .. })
    }

    fn before(&self) -> Option<&Value> {
        match self {
            Self::Added(_) => None,
            Self::Modified { old, .. } | Self::Deleted(old) => Some(old),
        }
    }

    fn after(&self) -> Option<&Value> {
        match self {
            Self::Added(new) | Self::Modified { new, .. } => Some(new),
            Self::Deleted(_) => None,
        }
    }
}

/// What objects use of a quota.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    /// The quota as it was when it was measured.
    quota: Value,
    hard: ResourceList,
    /// What nothing measures is absent.
    used: ResourceList,
}

impl Usage {
    /// Measures all objects of the namespace of a quota.
    pub fn measure(quota: &Value, objects: &dyn Objects) -> Self {
        let mut usage = Self {
            hard: resource_list::parse(&quota["spec"]["hard"]),
            used: ResourceList::new(),
            quota: quota.clone(),
        };
        for (group, plural) in objects.resources() {
            let evaluator = Evaluator::of(&group, &plural);
            usage.measure_resource(evaluator, objects);
        }
        usage
    }

    fn measure_resource(&mut self, evaluator: Evaluator<'_>, objects: &dyn Objects) {
        if !self.start_measuring(evaluator) {
            return;
        }
        let (group, plural) = evaluator.resource();
        if let Evaluator::Count { .. } = evaluator {
            let count = Quantity::from_count(objects.count(group, plural));
            self.add_count(evaluator, count);
            return;
        }
        for object in objects.list(group, plural) {
            self.add(evaluator, &object, Quantity::plus);
        }
    }

    /// Whether the quota still limits the same, so that its usage need not be measured again.
    pub fn is_of(&self, quota: &Value) -> bool {
        self.quota["metadata"]["uid"] == quota["metadata"]["uid"]
            && self.quota["spec"] == quota["spec"]
    }

    /// Updates the usage after the change of an object of a resource.
    pub fn update(&mut self, group: &str, plural: &str, change: Change<'_>) {
        let evaluator = Evaluator::of(group, plural);
        if !self.start_measuring(evaluator) {
            return;
        }
        if let Evaluator::Count { .. } = evaluator {
            match change {
                Change::Added(_) => self.add_count(evaluator, Quantity::ONE),
                Change::Deleted(_) => self.add_count(evaluator, Quantity::ONE.negated()),
                Change::Modified { .. } => {}
            }
            return;
        }
        if let Some(new) = change.after() {
            self.add(evaluator, new, Quantity::plus);
        }
        if let Some(old) = change.before() {
            self.add(evaluator, old, Quantity::minus);
        }
    }

    /// Begins with zero for each name that an evaluator measures. Returns whether there is one.
    fn start_measuring(&mut self, evaluator: Evaluator<'_>) -> bool {
        let mut is_measured = false;
        for name in self.hard.keys().filter(|name| evaluator.measures(name)) {
            is_measured = true;
            if !self.used.contains_key(name) {
                self.used.insert(name.clone(), Quantity::ZERO);
            }
        }
        is_measured
    }

    /// Quotas with scopes count nothing else than Pods and claims.
    fn add_count(&mut self, evaluator: Evaluator<'_>, count: Quantity) {
        if scopes(&self.quota["spec"]).next().is_some() {
            return;
        }
        for (name, amount) in &mut self.used {
            if evaluator.measures(name) {
                *amount = amount.plus(count);
            }
        }
    }

    fn add(
        &mut self,
        evaluator: Evaluator<'_>,
        object: &Value,
        combine: fn(Quantity, Quantity) -> Quantity,
    ) {
        if !evaluator.is_in_scope(&self.quota, object) {
            return;
        }
        for (name, amount) in evaluator.usage(object) {
            if let Some(used) = self.used.get_mut(&name) {
                *used = combine(*used, amount);
            }
        }
    }

    /// The status of the quota; `None` if it has that status already.
    pub fn status(&self, quota: &Value) -> Option<Value> {
        let status = &quota["status"];
        // What nothing measures any more keeps its last value.
        let mut used = resource_list::parse(&status["used"]);
        used.retain(|name, _| self.hard.contains_key(name));
        used.extend(self.used.clone());
        let is_current = resource_list::parse(&status["hard"]) == self.hard
            && resource_list::parse(&status["used"]) == used;
        (!is_current).then(|| {
            serde_json::json!({
                "hard": resource_list::to_json(&self.hard),
                "used": resource_list::to_json(&used),
            })
        })
    }
}
