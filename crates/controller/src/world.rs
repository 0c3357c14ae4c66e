//! What is known of all plugins, and who has to be looked at when something changes. Pure: events in, names out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use kube::ResourceExt as _;
use outrigger_api::plugin::{InventoryEntry, Phase, Plugin, PluginStatus};

use crate::conditions::{self, READY};
use crate::decide::{has_finalizer, is_deleted, is_going};
use crate::facts::{Dependant, DependencyFact, Facts, Tries};
use crate::graph;
use crate::key::Key;
use crate::objects::{Child, Kind, Objects, Place, Release, Seen, Verdict};
use crate::references::{self, References};

/// One plugin and what is remembered of it.
#[derive(Debug)]
struct Entry {
    plugin: Arc<Plugin>,
    /// A status that is newer than the saved one.
    unsaved: Option<PluginStatus>,
    tries: Tries,
}

/// Everything.
#[derive(Debug, Default)]
pub(crate) struct World {
    plugins: HashMap<Key, Entry>,
    /// Those who name a plugin as their dependency, whether it exists or not.
    dependants: HashMap<Key, BTreeSet<Key>>,
    /// Which plugin a release belongs to.
    releases: HashMap<Release, Key>,
    pub(crate) references: References,
    pub(crate) objects: Objects,
}

/// Those who have to be looked at.
pub(crate) type Woken = BTreeSet<Key>;

impl World {
    /// A plugin is there or changed. Older states than the known one are ignored.
    pub(crate) fn apply(&mut self, plugin: Plugin) -> Woken {
        let key = Key::of(&plugin);
        let before = self
            .plugins
            .get(&key)
            .map(|entry| Arc::clone(&entry.plugin));
        if before
            .as_ref()
            .is_some_and(|before| !is_newer(before, &plugin))
        {
            return Woken::new();
        }
        let plugin = Arc::new(plugin);
        let mut woken = Woken::new();
        if before
            .as_ref()
            .is_none_or(|before| concerns_itself(before, &plugin))
        {
            woken.insert(key.clone());
        }
        self.index(&key, before.as_deref(), &plugin);
        let entry = self.plugins.entry(key.clone()).or_insert_with(|| Entry {
            plugin: Arc::clone(&plugin),
            unsaved: None,
            tries: Tries::default(),
        });
        if entry.plugin.metadata.uid != plugin.metadata.uid {
            entry.unsaved = None;
            entry.tries = Tries::default();
        }
        entry.plugin = Arc::clone(&plugin);
        self.wake_others(&key, before.as_deref(), Some(&plugin), &mut woken);
        woken
    }

    pub(crate) fn delete(&mut self, key: &Key) -> Woken {
        let mut woken = Woken::new();
        let Some(entry) = self.plugins.remove(key) else {
            return woken;
        };
        self.forget_index(key, &entry.plugin);
        self.references.forget(key);
        self.wake_others(key, Some(&entry.plugin), None, &mut woken);
        woken
    }

    /// All plugins are these; others are gone.
    pub(crate) fn keep_only(&mut self, keys: &BTreeSet<Key>) -> Woken {
        let gone: Vec<Key> = self
            .plugins
            .keys()
            .filter(|key| !keys.contains(*key))
            .cloned()
            .collect();
        gone.iter().flat_map(|key| self.delete(key)).collect()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.plugins.keys()
    }

    pub(crate) fn plugin(&self, key: &Key) -> Option<&Arc<Plugin>> {
        self.plugins.get(key).map(|entry| &entry.plugin)
    }

    /// The plugins of releases.
    pub(crate) fn owners(&self, releases: &[Release]) -> Woken {
        releases
            .iter()
            .filter_map(|release| self.releases.get(release).cloned())
            .collect()
    }

    /// The plugin that a release belongs to.
    pub(crate) fn owner(&self, release: &Release) -> Option<&Arc<Plugin>> {
        self.plugin(self.releases.get(release)?)
    }

    /// What the last look at a plugin found out and did not save.
    pub(crate) fn remember(&mut self, key: &Key, unsaved: Option<PluginStatus>, tries: Tries) {
        if let Some(entry) = self.plugins.get_mut(key) {
            entry.unsaved = unsaved;
            entry.tries = tries;
        }
    }

    /// Whether a plugin has rules of its own for the health of a kind.
    pub(crate) fn has_rules_for(&self, kind: &Kind) -> bool {
        let plugins = self.plugins.values();
        let mut rules = plugins.flat_map(|entry| &entry.plugin.spec.health);
        rules.any(|rule| rule.kind == kind.kind && rule.api_version == kind.api_version)
    }

    /// Charts may come from elsewhere now: the next look is a close one.
    pub(crate) fn forget_memos(&mut self) {
        for entry in self.plugins.values_mut() {
            entry.tries.memo = None;
            entry.tries.failed_inputs = None;
        }
    }

    /// Where each plugin's objects are, and what they are.
    pub(crate) fn inventories(&self) -> impl Iterator<Item = (Place, &[InventoryEntry])> {
        self.plugins
            .values()
            .map(|entry| (place(&entry.plugin), entry.inventory()))
    }

    /// The place and the objects of one plugin.
    pub(crate) fn inventory(&self, key: &Key) -> Option<(Place, &[InventoryEntry])> {
        let entry = self.plugins.get(key)?;
        Some((place(&entry.plugin), entry.inventory()))
    }

    /// Everything that a decision about a plugin rests on.
    pub(crate) fn facts(&self, key: &Key, now: Instant) -> Option<Facts> {
        let entry = self.plugins.get(key)?;
        let plugin = &entry.plugin;
        let mut status = entry.status().cloned().unwrap_or_default();
        status.children = self.children(&status.inventory);
        Some(Facts {
            key: key.clone(),
            plugin: Arc::clone(plugin),
            dependencies: self.dependencies(key, plugin),
            cycle: graph::cycle(key, |at| self.edges(at)),
            dependants: self.dependants(key),
            objects: self.objects.facts(
                &place(plugin),
                &status.inventory,
                entry.tries.awaited(now),
                |entry| self.judge_plugin(&place(plugin), entry),
            ),
            status,
            tries: entry.tries.clone(),
            is_read_current: self.references.is_current(key),
            now,
        })
    }

    fn dependencies(&self, key: &Key, plugin: &Plugin) -> Vec<DependencyFact> {
        let dependencies = plugin.spec.dependencies.iter();
        dependencies
            .map(|dependency| {
                let other = Key::of_dependency(dependency, key);
                DependencyFact {
                    dependency: dependency.clone(),
                    plugin: self.plugin(&other).cloned(),
                    key: other,
                }
            })
            .collect()
    }

    fn edges(&self, key: &Key) -> Vec<Key> {
        self.plugin(key)
            .map(|plugin| edges(key, plugin))
            .unwrap_or_default()
    }

    /// Those who depend on a plugin and are installed, or are to be.
    fn dependants(&self, key: &Key) -> Vec<Dependant> {
        let names = self.dependants.get(key).into_iter().flatten();
        names
            .filter(|other| *other != key)
            .filter_map(|other| {
                let plugin = self.plugin(other)?;
                let is_going = is_going(plugin);
                (!is_going || has_finalizer(plugin)).then(|| Dependant {
                    key: other.clone(),
                    is_going,
                })
            })
            .collect()
    }

    /// How many plugins of an inventory are in which phase.
    fn children(&self, inventory: &[InventoryEntry]) -> BTreeMap<String, u32> {
        let mut children = BTreeMap::new();
        for entry in inventory.iter().filter(|entry| is_plugin(entry)) {
            let phase = child_key(entry)
                .and_then(|key| self.plugin(&key))
                .map_or(Phase::Pending, |plugin| observed_phase(plugin));
            *children.entry(format!("{phase:?}")).or_insert(0) += 1;
        }
        children
    }

    /// A plugin of an inventory here, which is known better than by its object.
    fn judge_plugin(&self, place: &Place, entry: &InventoryEntry) -> Child {
        if *place != Place::Here || !is_plugin(entry) {
            return Child::None;
        }
        let plugin = child_key(entry).and_then(|key| self.plugin(&key).cloned());
        plugin.map_or(Child::Missing, |plugin| {
            Child::Seen(Seen {
                release: None,
                verdict: judge(&plugin),
                fields: entry.fields.clone(),
                version: u64::MAX,
            })
        })
    }

    fn index(&mut self, key: &Key, before: Option<&Plugin>, plugin: &Plugin) {
        if before.is_some_and(|before| before.metadata.generation == plugin.metadata.generation) {
            return;
        }
        if let Some(before) = before {
            self.forget_index(key, before);
        }
        for other in edges(key, plugin) {
            self.dependants
                .entry(other)
                .or_default()
                .insert(key.clone());
        }
        self.releases.insert(release(plugin), key.clone());
        self.references.set(key, references::of(plugin));
    }

    fn forget_index(&mut self, key: &Key, plugin: &Plugin) {
        for other in edges(key, plugin) {
            if let Some(dependants) = self.dependants.get_mut(&other) {
                dependants.remove(key);
                if dependants.is_empty() {
                    self.dependants.remove(&other);
                }
            }
        }
        let release = release(plugin);
        if self.releases.get(&release) == Some(key) {
            self.releases.remove(&release);
        }
    }

    /// Wakes those whom a change of a plugin concerns.
    fn wake_others(
        &self,
        key: &Key,
        before: Option<&Plugin>,
        after: Option<&Plugin>,
        woken: &mut Woken,
    ) {
        if before.map(outlook) != after.map(outlook) {
            let dependants = self.dependants.get(key).into_iter().flatten();
            woken.extend(dependants.cloned());
            if let Some(parent) = after.or(before).and_then(|plugin| self.parent(plugin)) {
                woken.insert(parent);
            }
        }
        let needs = |plugin: Option<&Plugin>| {
            let plugin = plugin.filter(|plugin| !is_going(plugin) || has_finalizer(plugin));
            plugin.map(|plugin| edges(key, plugin)).unwrap_or_default()
        };
        let (needed, needs) = (needs(before), needs(after));
        if needed != needs {
            woken.extend(
                needed
                    .into_iter()
                    .filter(|other| self.plugins.contains_key(other)),
            );
            self.wake_cycles(key, woken);
        }
    }

    /// Those who were in a cycle may be free, and others may be caught in a new one.
    fn wake_cycles(&self, key: &Key, woken: &mut Woken) {
        woken.extend(graph::cycle(key, |at| self.edges(at)).into_iter().flatten());
        let in_cycle = |plugin: &Plugin| {
            let ready = plugin.condition(READY);
            ready.is_some_and(|ready| ready.reason == "DependencyCycle")
        };
        let caught = self
            .plugins
            .iter()
            .filter(|(_, entry)| in_cycle(&entry.plugin));
        woken.extend(caught.map(|(key, _)| key.clone()));
    }

    /// The plugin whose release a plugin belongs to.
    fn parent(&self, plugin: &Plugin) -> Option<Key> {
        let annotations = plugin.metadata.annotations.as_ref()?;
        let release = Release {
            place: Place::Here,
            namespace: annotations.get(RELEASE_NAMESPACE)?.clone(),
            name: annotations.get(RELEASE_NAME)?.clone(),
        };
        self.releases.get(&release).cloned()
    }
}

pub(crate) const RELEASE_NAME: &str = "meta.helm.sh/release-name";
pub(crate) const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

impl Entry {
    fn status(&self) -> Option<&PluginStatus> {
        self.unsaved.as_ref().or(self.plugin.status.as_ref())
    }

    fn inventory(&self) -> &[InventoryEntry] {
        self.status().map_or(&[], |status| &status.inventory)
    }
}

/// Where a plugin's objects go.
pub(crate) fn place(plugin: &Plugin) -> Place {
    match &plugin.spec.cluster {
        None => Place::Here,
        Some(cluster) => Place::Remote {
            namespace: plugin.namespace().to_owned(),
            secret: cluster.secret_name.clone(),
            key: plugin.kubeconfig_key().to_owned(),
        },
    }
}

fn release(plugin: &Plugin) -> Release {
    Release {
        place: place(plugin),
        namespace: plugin.release_namespace().to_owned(),
        name: plugin.release_name().to_owned(),
    }
}

fn edges(key: &Key, plugin: &Plugin) -> Vec<Key> {
    let dependencies = plugin.spec.dependencies.iter();
    dependencies
        .map(|dependency| Key::of_dependency(dependency, key))
        .collect()
}

fn is_plugin(entry: &InventoryEntry) -> bool {
    entry.kind == "Plugin" && entry.api_version.starts_with("outrigger.dev/")
}

fn child_key(entry: &InventoryEntry) -> Option<Key> {
    let namespace = entry.namespace.as_ref()?;
    Some(Key::new(namespace.clone(), entry.name.clone()))
}

fn observed_phase(plugin: &Plugin) -> Phase {
    if plugin.is_observed() {
        plugin.phase()
    } else {
        Phase::Pending
    }
}

/// How a plugin fares that another plugin made. One that is switched off is as it should be.
fn judge(plugin: &Plugin) -> Verdict {
    let message = || {
        let message = plugin.condition(READY).map(|ready| ready.message.as_str());
        match message.filter(|message| !message.is_empty()) {
            Some(message) => format!("is {:?}: {message}", observed_phase(plugin)),
            None => format!("is {:?}", observed_phase(plugin)),
        }
    };
    match observed_phase(plugin) {
        Phase::Ready | Phase::Disabled => Verdict::Healthy,
        Phase::Failed | Phase::Degraded => Verdict::Failed(message()),
        _ => Verdict::Progressing(message()),
    }
}

/// Whether a state of a plugin is newer than the known one.
fn is_newer(known: &Plugin, plugin: &Plugin) -> bool {
    if known.metadata.uid != plugin.metadata.uid {
        return true;
    }
    // Nothing comes after this; the write that leads to it need not get a version of its own.
    let is_over = |plugin: &Plugin| is_deleted(plugin) && plugin.finalizers().is_empty();
    if is_over(known) || is_over(plugin) {
        return !is_over(known);
    }
    let number = |plugin: &Plugin| plugin.resource_version()?.parse::<u64>().ok();
    match (number(known), number(plugin)) {
        (Some(known), Some(plugin)) => plugin > known,
        _ => known.resource_version() != plugin.resource_version(),
    }
}

/// Whether a plugin has to be looked at itself: all but its status.
fn concerns_itself(before: &Plugin, after: &Plugin) -> bool {
    before.metadata.uid != after.metadata.uid
        || before.metadata.generation != after.metadata.generation
        || is_deleted(before) != is_deleted(after)
        || before.metadata.annotations != after.metadata.annotations
        || before.metadata.finalizers != after.metadata.finalizers
        || after.status.is_none() && before.status.is_some()
}

/// What others see of a plugin.
fn outlook(plugin: &Plugin) -> (Phase, bool, bool, Option<String>, String) {
    let status = plugin.status.as_ref();
    let ready = status.and_then(|status| conditions::find(&status.conditions, READY));
    (
        plugin.phase(),
        plugin.is_ready(),
        is_going(plugin),
        status.and_then(|status| status.version.clone()),
        ready.map(|ready| ready.message.clone()).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests;
