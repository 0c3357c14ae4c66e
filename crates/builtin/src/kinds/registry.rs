//! The registry of served kinds, and its snapshots.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde_json::Value;

use super::acceptance::{self, Taken};
use super::builtin;
use super::definition::Definition;
use super::kind::Kind;
use super::version_order;

/// Custom groups are listed after the built-in ones.
const CUSTOM_PRIORITY: u32 = 1000;

/// A snapshot of the served kinds. Groups and versions are in the order of discovery.
#[derive(Debug)]
pub struct Kinds {
    /// Incremented by each change.
    pub revision: u64,
    pub groups: Vec<Group>,
}

/// A group and its served versions, the preferred version first.
#[derive(Debug)]
pub struct Group {
    /// Empty for the core group.
    pub name: String,
    pub versions: Vec<Version>,
    priority: u32,
}

impl Group {
    /// Groups with a higher priority are listed first.
    pub fn priority(&self) -> u32 {
        self.priority
    }
}

/// A version of a group and its kinds, sorted by plural name.
#[derive(Debug)]
pub struct Version {
    pub name: String,
    pub kinds: Vec<Arc<Kind>>,
}

impl Kinds {
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    pub fn version(&self, group: &str, version: &str) -> Option<&Version> {
        self.group(group)?
            .versions
            .iter()
            .find(|candidate| candidate.name == version)
    }

    /// The kind of a resource path.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        let kinds = &self.version(group, version)?.kinds;
        let index = kinds
            .binary_search_by(|kind| kind.plural.as_str().cmp(plural))
            .ok()?;
        kinds.get(index)
    }

    /// The kind of an object.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Kind>> {
        let kinds = &self.version(group, version)?.kinds;
        kinds.iter().find(|candidate| candidate.kind == kind)
    }

    /// The preferred served version of a kind.
    pub fn any_version(&self, group: &str, kind: &str) -> Option<&Arc<Kind>> {
        let mut kinds = self.group(group)?.versions.iter().flat_map(|v| &v.kinds);
        kinds.find(|candidate| candidate.kind == kind)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.groups
            .iter()
            .flat_map(|group| &group.versions)
            .flat_map(|version| &version.kinds)
    }

    /// Each stored kind once, in its preferred version, for namespace deletion and garbage collection.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.groups.iter().flat_map(|group| {
            let mut seen: Vec<&str> = Vec::new();
            let kinds = group.versions.iter().flat_map(|version| &version.kinds);
            kinds
                .filter(move |kind| {
                    let is_new = !seen.contains(&kind.plural.as_str());
                    seen.push(&kind.plural);
                    // Kinds that are stored in another group are listed there.
                    is_new && kind.is_stored() && kind.storage.group == group.name
                })
                .collect::<Vec<_>>()
        })
    }

    fn new(revision: u64, definitions: &BTreeMap<String, Definition>) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for group in builtin::GROUPS {
            for kind in group.kinds() {
                add(&mut groups, group.priority, kind);
            }
        }
        for definition in definitions.values() {
            for kind in &definition.kinds {
                add(&mut groups, CUSTOM_PRIORITY, kind.clone());
            }
        }
        for group in &mut groups {
            group
                .versions
                .sort_by(|a, b| version_order::compare(&a.name, &b.name));
            for version in &mut group.versions {
                version.kinds.sort_by(|a, b| a.plural.cmp(&b.plural));
                version.kinds.dedup_by(|a, b| a.plural == b.plural);
            }
        }
        groups.sort_by(|a, b| {
            let by_priority = b.priority.cmp(&a.priority);
            by_priority.then_with(|| a.name.cmp(&b.name))
        });
        Self { revision, groups }
    }
}

fn add(groups: &mut Vec<Group>, priority: u32, kind: Kind) {
    let index = groups.iter().position(|group| group.name == kind.group);
    let index = index.unwrap_or_else(|| {
        groups.push(Group {
            name: kind.group.clone(),
            versions: Vec::new(),
            priority,
        });
        groups.len().saturating_sub(1)
    });
    let versions = &mut groups[index].versions;
    match versions.iter_mut().find(|v| v.name == kind.version) {
        Some(version) => version.kinds.push(Arc::new(kind)),
        None => versions.push(Version {
            name: kind.version.clone(),
            kinds: vec![Arc::new(kind)],
        }),
    }
}

/// The served kinds, built-in and custom.
///
/// Readers keep a [`Kinds`] for the duration of a request. For a `CustomResourceDefinition`, the caller first sets its
/// status by [`Registry::accept`], then stores it, then serves it by [`Registry::install`].
#[derive(Debug)]
pub struct Registry {
    definitions: Mutex<BTreeMap<String, Definition>>,
    current: RwLock<Arc<Kinds>>,
}

impl Default for Registry {
    fn default() -> Self {
        let definitions = BTreeMap::new();
        Self {
            current: RwLock::new(Arc::new(Kinds::new(1, &definitions))),
            definitions: Mutex::new(definitions),
        }
    }
}

impl Registry {
    pub fn snapshot(&self) -> Arc<Kinds> {
        let current = self.current.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the status of a definition: accepted names, conditions, stored versions. `now` is the time of the conditions.
    pub fn accept(&self, definition: &mut Value, now: &str) {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        let group = definition["spec"]["group"].as_str().unwrap_or_default();
        let mut taken = Taken::by_builtin(group);
        let definitions = self.definitions.lock();
        let definitions = definitions.unwrap_or_else(PoisonError::into_inner);
        for other in definitions.values() {
            if other.group == group && other.name != name {
                taken.add(&other.accepted);
            }
        }
        drop(definitions);
        acceptance::accept(definition, &taken, now);
    }

    /// Serves the kinds of an accepted definition, replacing those of its previous version.
    pub fn install(&self, definition: &Value) {
        let definition = Definition::parse(definition);
        self.change(|definitions| {
            definitions.insert(definition.name.clone(), definition);
        });
    }

    /// Stops serving the kinds of a definition.
    pub fn remove(&self, name: &str) {
        self.change(|definitions| {
            definitions.remove(name);
        });
    }

    /// Definitions of a group with rejected names, which must be accepted again when another definition of the group
    /// changes or is deleted.
    pub fn unsatisfied(&self, group: &str) -> Vec<String> {
        let definitions = self.definitions.lock();
        let definitions = definitions.unwrap_or_else(PoisonError::into_inner);
        definitions
            .values()
            .filter(|definition| definition.group == group)
            .filter(|definition| definition.requested != definition.accepted)
            .map(|definition| definition.name.clone())
            .collect()
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Definition>)) {
        let definitions = self.definitions.lock();
        let mut definitions = definitions.unwrap_or_else(PoisonError::into_inner);
        change(&mut definitions);
        let revision = self.snapshot().revision.saturating_add(1);
        let next = Arc::new(Kinds::new(revision, &definitions));
        let current = self.current.write();
        *current.unwrap_or_else(PoisonError::into_inner) = next;
    }
}
