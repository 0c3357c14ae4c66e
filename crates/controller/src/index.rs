//! The index of all plugins. Pure: applies watch events, and returns the plugins to reconcile because of them.

mod clusters;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use kube::ResourceExt as _;
use outrigger_api::plugin::{Conflicts, InventoryEntry, Phase, Plugin, PluginStatus};
use outrigger_api::reason::Reason;

use crate::conditions::{self, READY};
use crate::graph;
use crate::key::Key;
use crate::lifecycle::{has_finalizer, is_deleted, is_removing};
use crate::lineage::Lineage;
use crate::named_cluster::{self, NamedCluster};
use crate::objects::{ChildPlugin, InstalledRecord, Kind, ObjectHealth, Objects, ObservedObject};
use crate::observed::{
    Dependent, Observed, ObservedDependency, ObservedObjects, RetryState, modified_text,
};
use crate::pending_status;
use crate::references::{self, Reference, References};
use crate::release_claims::ReleaseClaims;
use crate::release_ref::{ClusterRef, RELEASE_NAME, RELEASE_NAMESPACE, ReleaseRef};
use crate::status;
use crate::watch_event::parse_resource_version;

#[derive(Debug)]
struct Entry {
    plugin: Arc<Plugin>,
    /// A status that is newer than the written one.
    unwritten: Option<PluginStatus>,
    /// The status that the controller wrote last, if someone else changed it since.
    replaced: Option<PluginStatus>,
    retry: RetryState,
}

#[derive(Debug, Default)]
pub(crate) struct Index {
    plugins: HashMap<Key, Entry>,
    /// The plugins that depend on a plugin, whether that exists or not.
    dependents: HashMap<Key, BTreeSet<Key>>,
    releases: ReleaseClaims,
    /// The plugins that are objects of a release.
    children: HashMap<ReleaseRef, BTreeSet<Key>>,
    /// The Clusters that plugins can target by name.
    clusters: HashMap<String, NamedCluster>,
    pub(crate) references: References,
    pub(crate) objects: Objects,
}

/// The plugins to enqueue because of an event.
pub(crate) type Enqueued = BTreeSet<Key>;

impl Index {
    /// Handles a created or changed plugin. Ignores versions older than the known one.
    pub(crate) fn apply(&mut self, plugin: Plugin) -> Enqueued {
        let key = Key::of(&plugin);
        let before = self.plugin(&key).cloned();
        if before
            .as_ref()
            .is_some_and(|before| !is_newer(before, &plugin))
        {
            return Enqueued::new();
        }
        let plugin = Arc::new(plugin);
        let mut enqueued = Enqueued::new();
        if before
            .as_ref()
            .is_none_or(|before| needs_reconcile(before, &plugin))
        {
            enqueued.insert(key.clone());
        }
        self.add_relations(&key, before.as_deref(), &plugin);
        self.set_parent(&key, before.as_deref(), Some(&plugin));
        let entry = self.plugins.entry(key.clone()).or_insert_with(|| Entry {
            plugin: Arc::clone(&plugin),
            unwritten: None,
            replaced: None,
            retry: RetryState::default(),
        });
        if entry.plugin.metadata.uid != plugin.metadata.uid {
            entry.unwritten = None;
            entry.replaced = None;
            entry.retry = RetryState::default();
        }
        entry.plugin = Arc::clone(&plugin);
        if !needs_release(&plugin) {
            self.releases.withdraw(&ReleaseRef::of(&plugin), &key);
        }
        self.enqueue_related(&key, before.as_deref(), Some(&plugin), &mut enqueued);
        enqueued
    }

    pub(crate) fn delete(&mut self, key: &Key) -> Enqueued {
        let mut enqueued = Enqueued::new();
        let Some(entry) = self.plugins.remove(key) else {
            return enqueued;
        };
        self.remove_relations(key, &entry.plugin);
        self.set_parent(key, Some(&entry.plugin), None);
        self.references.forget(key);
        self.enqueue_related(key, Some(&entry.plugin), None, &mut enqueued);
        enqueued
    }

    /// Deletes all plugins that are not among `keys`.
    pub(crate) fn retain(&mut self, keys: &BTreeSet<Key>) -> Enqueued {
        let deleted: Vec<Key> = self
            .plugins
            .keys()
            .filter(|key| !keys.contains(*key))
            .cloned()
            .collect();
        deleted.iter().flat_map(|key| self.delete(key)).collect()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.plugins.keys()
    }

    pub(crate) fn plugin(&self, key: &Key) -> Option<&Arc<Plugin>> {
        self.plugins.get(key).map(|entry| &entry.plugin)
    }

    /// Whether the last attempt with the current spec of a plugin failed.
    pub(crate) fn is_failing(&self, key: &Key) -> bool {
        self.plugins.get(key).is_some_and(|entry| {
            let status = entry.status();
            status.is_some_and(|status| {
                status.attempts > 0
                    && status.observed_generation == entry.plugin.metadata.generation
            })
        })
    }

    /// The plugins that own these releases.
    pub(crate) fn owners(&self, releases: &[ReleaseRef]) -> Enqueued {
        releases
            .iter()
            .flat_map(|release| self.releases.candidates(release).cloned())
            .collect()
    }

    /// The plugin that owns a release.
    pub(crate) fn owner(&self, release: &ReleaseRef) -> Option<&Arc<Plugin>> {
        self.plugin(self.releases.owner(release)?)
    }

    /// Stores what a reconcile leaves for the next one. Returns false if the plugin with this uid no longer exists: it
    /// was deleted, and maybe created anew, during the reconcile.
    #[must_use]
    pub(crate) fn store(
        &mut self,
        key: &Key,
        uid: Option<&str>,
        written: Option<PluginStatus>,
        unwritten: Option<PluginStatus>,
        retry: RetryState,
    ) -> bool {
        let entry = self.plugins.get_mut(key);
        let Some(entry) = entry.filter(|entry| entry.plugin.metadata.uid.as_deref() == uid) else {
            return false;
        };
        if written.is_some() {
            entry.replaced = written;
        }
        entry.unwritten = unwritten;
        entry.retry = retry;
        true
    }

    /// Keeps the status that the controller wrote last if someone else changed it: what others write is not observed.
    /// Returns whether they did, so that it is to be written again. `known` is the status before the change.
    pub(crate) fn keep_status(&mut self, key: &Key, known: Option<&PluginStatus>) -> bool {
        let Some(entry) = self.plugins.get_mut(key) else {
            return false;
        };
        let found = entry.plugin.status.as_ref();
        let known = entry.replaced.as_ref().or(known);
        if found == known {
            entry.replaced = None;
            return false;
        }
        let known = known.cloned().unwrap_or_default();
        let unwritten = entry.unwritten.get_or_insert_with(|| known.clone());
        if found.is_none_or(|found| found.input_digest.is_none()) {
            // Another controller may have begun to change the release: it is compared with its inputs again.
            unwritten.input_digest = None;
        }
        entry.replaced = Some(known);
        true
    }

    /// Drops the status of a plugin that is observed for the first time if someone else wrote to it, or removed something
    /// from it: it is derived anew.
    pub(crate) fn drop_edited_status(&mut self, key: &Key) {
        let is_edited = |entry: &Entry| {
            let status = entry.plugin.status.as_ref();
            status::is_edited(&entry.plugin)
                || status.is_some_and(|status| !pending_status::is_complete(status))
        };
        let entry = self.plugins.get_mut(key);
        if let Some(entry) = entry.filter(|entry| is_edited(entry)) {
            entry.replaced = Some(PluginStatus::default());
            entry.unwritten = Some(PluginStatus::default());
        }
    }

    /// Handles the end of a list of objects. Enqueues all plugins with objects of the kind: those that are missing are not
    /// in the list.
    pub(crate) fn finish_listing(&mut self, cluster: &ClusterRef, kind: &Kind) -> Enqueued {
        self.objects.finish_listing(cluster, kind);
        let uses_kind = |entry: &Entry| {
            ClusterRef::of(&entry.plugin) == *cluster && entry.kinds().any(|used| used == *kind)
        };
        let users = self.plugins.iter().filter(|(_, entry)| uses_kind(entry));
        users.map(|(key, _)| key.clone()).collect()
    }

    /// The plugins that are installed in a cluster.
    pub(crate) fn plugins_of(&self, cluster: &ClusterRef) -> Enqueued {
        let plugins = self.plugins.iter();
        let plugins = plugins.filter(|(_, entry)| ClusterRef::of(&entry.plugin) == *cluster);
        plugins.map(|(key, _)| key.clone()).collect()
    }

    /// Whether some plugin has a health rule for a kind.
    pub(crate) fn has_health_rule(&self, kind: &Kind) -> bool {
        let plugins = self.plugins.values();
        let mut rules = plugins.flat_map(|entry| &entry.plugin.spec.health);
        rules.any(|rule| rule.kind == kind.kind && rule.api_version == kind.api_version)
    }

    /// Makes the next reconcile of each plugin fetch its chart, because a Repository changed.
    pub(crate) fn drop_cached_digests(&mut self) {
        for entry in self.plugins.values_mut() {
            entry.retry.cached_digest = None;
            entry.retry.failed_inputs = None;
        }
    }

    /// The kinds of the objects of all plugins, and of their release records.
    pub(crate) fn used_kinds(&self) -> BTreeSet<(ClusterRef, Kind)> {
        let entries = self.plugins.values();
        let entries = entries.filter(|entry| self.unavailable(&entry.plugin).is_none());
        entries.flat_map(Entry::watched_kinds).collect()
    }

    /// The kinds of the objects of one plugin, and of its release records.
    pub(crate) fn kinds_of(&self, key: &Key) -> BTreeSet<(ClusterRef, Kind)> {
        let entry = self.plugins.get(key);
        let entry = entry.filter(|entry| self.unavailable(&entry.plugin).is_none());
        entry.into_iter().flat_map(Entry::watched_kinds).collect()
    }

    /// Decides which plugin owns the release that a plugin names, unless one does already: the one that installed it, or
    /// else the oldest.
    pub(crate) fn elect_release_owner(&mut self, key: &Key) {
        let Some(plugin) = self.plugin(key).cloned() else {
            return;
        };
        let (plugins, clusters) = (&self.plugins, &self.clusters);
        self.releases.elect(&ReleaseRef::of(&plugin), |key| {
            let entry = plugins.get(key)?;
            let plugin = &entry.plugin;
            let is_installed = entry.is_installed();
            let created = plugin.metadata.creation_timestamp.as_ref();
            let created = created.map(|time| time.0);
            // A plugin that its cluster refuses does not keep others from the release.
            let may_claim = is_installed || !clusters::is_refused(clusters, plugin);
            (needs_release(plugin) && may_claim)
                .then(|| (!is_installed, !has_finalizer(plugin), created))
        });
    }

    /// The observed state of a plugin.
    pub(crate) fn observe(&self, key: &Key, now: Instant) -> Option<Observed> {
        let entry = self.plugins.get(key)?;
        let plugin = &entry.plugin;
        let cluster = ClusterRef::of(plugin);
        let mut status = entry.status().cloned().unwrap_or_default();
        status.children = self.count_children(&status.inventory);
        let named = match &cluster {
            ClusterRef::Named(name) => self.clusters.get(name),
            _ => None,
        };
        Some(Observed {
            unavailable: self.unavailable(plugin),
            changed_owners: named_cluster::changed_owners(plugin, &status, named),
            key: key.clone(),
            plugin: Arc::clone(plugin),
            dependencies: self.observe_dependencies(key, plugin),
            cycle: graph::cycle(key, |key| self.dependencies(key)),
            dependents: self.observe_dependents(key),
            release_owner: self.releases.owner(&ReleaseRef::of(plugin)).cloned(),
            lineage: self.lineage(key, plugin),
            objects: self.observe_objects(entry, &status, &cluster, now),
            status,
            replaced: entry.replaced.clone(),
            retry: entry.retry.clone(),
            are_references_current: self.references.is_current(key),
            now,
        })
    }

    fn observe_objects(
        &self,
        entry: &Entry,
        status: &PluginStatus,
        cluster: &ClusterRef,
        now: Instant,
    ) -> ObservedObjects {
        let awaited = entry.retry.awaited_versions(now);
        let mut observed = self.objects.observe(
            cluster,
            &status.inventory,
            recorded_revision(status).as_ref(),
            awaited,
            entry.retry.just_applied_versions(now),
            |object| self.child_plugin(cluster, object, awaited.get(object).copied()),
        );
        if entry.plugin.spec.conflicts != Conflicts::Fail {
            // The spec says who owns the fields, as for any other object.
            let children = std::mem::take(&mut observed.modified_children);
            observed.drifted.extend(children.iter().map(modified_text));
        }
        observed
    }

    fn observe_dependencies(&self, key: &Key, plugin: &Plugin) -> Vec<ObservedDependency> {
        let dependencies = plugin.spec.dependencies.iter();
        dependencies
            .map(|dependency| {
                let other = Key::of_dependency(dependency, key);
                ObservedDependency {
                    dependency: dependency.clone(),
                    plugin: self.plugins.get(&other).map(Entry::plugin),
                    key: other,
                }
            })
            .collect()
    }

    fn dependencies(&self, key: &Key) -> Vec<Key> {
        self.plugin(key)
            .map(|plugin| dependencies(key, plugin))
            .unwrap_or_default()
    }

    /// The plugins that depend on a plugin and are installed, or will be.
    fn observe_dependents(&self, key: &Key) -> Vec<Dependent> {
        let dependents = self.dependents.get(key).into_iter().flatten();
        dependents
            .filter(|other| *other != key)
            .filter_map(|other| {
                let plugin = self.plugin(other)?;
                let is_removing = is_removing(plugin);
                needs_release(plugin).then(|| Dependent {
                    key: other.clone(),
                    is_removing,
                })
            })
            .collect()
    }

    /// The number of plugins in an inventory by phase.
    fn count_children(&self, inventory: &[InventoryEntry]) -> BTreeMap<String, u32> {
        let mut children = BTreeMap::new();
        for entry in inventory.iter().filter(|entry| is_plugin(entry)) {
            let phase = child_key(entry)
                .and_then(|key| self.plugin(&key))
                .map_or(Phase::Pending, |plugin| observed_phase(plugin));
            *children.entry(format!("{phase:?}")).or_insert(0) += 1;
        }
        children
    }

    /// The state of an inventory entry that is a plugin, which the index knows better than the object watches.
    fn child_plugin(
        &self,
        cluster: &ClusterRef,
        entry: &InventoryEntry,
        applied: Option<u64>,
    ) -> ChildPlugin {
        if *cluster != ClusterRef::Local || !is_plugin(entry) {
            return ChildPlugin::NotAPlugin;
        }
        let plugin = child_key(entry).and_then(|key| self.plugin(&key).cloned());
        plugin.map_or(ChildPlugin::Missing, |plugin| {
            ChildPlugin::Found(ObservedObject {
                release: None,
                health: plugin_health(&plugin),
                fields: self
                    .objects
                    .fields(cluster, entry, applied)
                    .or_else(|| entry.fields.clone()),
                resource_version: u64::MAX,
                record: None,
            })
        })
    }

    fn add_relations(&mut self, key: &Key, before: Option<&Plugin>, plugin: &Plugin) {
        let has_same_spec = |before: &Plugin| {
            before.metadata.uid == plugin.metadata.uid
                && before.metadata.generation == plugin.metadata.generation
        };
        if before.is_some_and(has_same_spec) {
            return;
        }
        if let Some(before) = before {
            self.remove_relations(key, before);
        }
        for dependency in dependencies(key, plugin) {
            self.dependents
                .entry(dependency)
                .or_default()
                .insert(key.clone());
        }
        self.releases.add(ReleaseRef::of(plugin), key);
        self.set_references(key, plugin);
    }

    fn set_references(&mut self, key: &Key, plugin: &Plugin) {
        let mut references = references::of(plugin);
        let kubeconfig = clusters::kubeconfig(&self.clusters, plugin).and_then(Result::ok);
        references.extend(kubeconfig.map(Reference::of_secret));
        self.references.set(key, references);
    }

    fn remove_relations(&mut self, key: &Key, plugin: &Plugin) {
        for dependency in dependencies(key, plugin) {
            if let Some(dependents) = self.dependents.get_mut(&dependency) {
                dependents.remove(key);
                if dependents.is_empty() {
                    self.dependents.remove(&dependency);
                }
            }
        }
        self.releases.remove(&ReleaseRef::of(plugin), key);
    }

    /// Records of which release a plugin is an object.
    fn set_parent(&mut self, key: &Key, before: Option<&Plugin>, after: Option<&Plugin>) {
        let (before, after) = (
            before.and_then(parent_release),
            after.and_then(parent_release),
        );
        if before == after {
            return;
        }
        if let Some(release) = before
            && let Some(children) = self.children.get_mut(&release)
        {
            children.remove(key);
            if children.is_empty() {
                self.children.remove(&release);
            }
        }
        if let Some(release) = after {
            self.children
                .entry(release)
                .or_default()
                .insert(key.clone());
        }
    }

    fn lineage(&self, key: &Key, plugin: &Plugin) -> Lineage {
        let mut ancestors = Vec::new();
        let mut current = plugin;
        while let Some(parent) = parent_release(current).and_then(|release| self.owner(&release))
            // A plugin may be an object of its own release.
            && Key::of(parent) != *key
            && !ancestors.contains(&Key::of(parent))
        {
            ancestors.push(Key::of(parent));
            current = parent;
        }
        let root = ancestors.last().unwrap_or(key);
        Lineage {
            family: self.count_by_creator(root),
            ancestors,
        }
    }

    /// The plugins that are objects of the release of a plugin.
    fn children_of(&self, plugin: &Plugin) -> impl Iterator<Item = &Key> {
        let children = self.children.get(&ReleaseRef::of(plugin));
        children.into_iter().flatten()
    }

    /// The number of children of each plugin of a family that has some.
    fn count_by_creator(&self, root: &Key) -> HashMap<Key, usize> {
        let mut counts = HashMap::new();
        let mut seen = HashSet::from([root]);
        let mut pending = vec![root];
        while let Some(key) = pending.pop() {
            let Some(plugin) = self.plugin(key) else {
                continue;
            };
            let before = pending.len();
            pending.extend(self.children_of(plugin).filter(|key| seen.insert(key)));
            let children = pending.len() - before;
            if children > 0 {
                counts.insert(key.clone(), children);
            }
        }
        counts
    }

    /// Enqueues the plugins that a change of a plugin affects: dependents, dependencies, its parent, members of cycles,
    /// claimants of its release.
    fn enqueue_related(
        &self,
        key: &Key,
        before: Option<&Plugin>,
        after: Option<&Plugin>,
        enqueued: &mut Enqueued,
    ) {
        if before.map(visible_state) != after.map(visible_state) {
            let dependents = self.dependents.get(key).into_iter().flatten();
            enqueued.extend(dependents.cloned());
            let release = after.or(before).and_then(parent_release);
            let parents = release
                .iter()
                .flat_map(|release| self.releases.candidates(release));
            enqueued.extend(parents.cloned());
            self.enqueue_awaiting(enqueued);
        }
        self.enqueue_claimants(before, after, enqueued);
        let in_use = |plugin: Option<&Plugin>| {
            let plugin = plugin.filter(|plugin| needs_release(plugin));
            plugin
                .map(|plugin| dependencies(key, plugin))
                .unwrap_or_default()
        };
        let (before, after) = (in_use(before), in_use(after));
        if before != after {
            let known = |other: &Key| self.plugins.contains_key(other);
            enqueued.extend(before.into_iter().filter(known));
            self.enqueue_cycles(key, enqueued);
        }
    }

    /// Enqueues the plugins that wait for a kind or a namespace, which the changed plugin may have brought.
    fn enqueue_awaiting(&self, enqueued: &mut Enqueued) {
        let awaits = |entry: &Entry| {
            let conditions = entry.status().map(|status| status.conditions.as_slice());
            let ready = conditions::find(conditions.unwrap_or_default(), READY);
            let awaited = [Reason::KindMissing, Reason::NamespaceMissing];
            ready.is_some_and(|ready| ready.has_reason(&awaited))
        };
        let awaiting = self.plugins.iter().filter(|(_, entry)| awaits(entry));
        enqueued.extend(awaiting.map(|(key, _)| key.clone()));
    }

    /// Enqueues the plugins that name the release that a plugin no longer needs, or now names.
    fn enqueue_claimants(
        &self,
        before: Option<&Plugin>,
        after: Option<&Plugin>,
        enqueued: &mut Enqueued,
    ) {
        let needed = |plugin: Option<&Plugin>| {
            let plugin = plugin.filter(|plugin| needs_release(plugin));
            plugin.map(ReleaseRef::of)
        };
        let (before, after) = (needed(before), needed(after));
        if let Some(release) = before.filter(|before| Some(before) != after.as_ref()) {
            enqueued.extend(self.releases.claimants(&release).cloned());
        }
    }

    /// Enqueues the members of a cycle through `key`, and all plugins that report a cycle, which may be broken now.
    fn enqueue_cycles(&self, key: &Key, enqueued: &mut Enqueued) {
        let cycle = graph::cycle(key, |key| self.dependencies(key));
        enqueued.extend(cycle.into_iter().flatten());
        let reports_cycle = |plugin: &Plugin| {
            let ready = plugin.condition(READY);
            ready.is_some_and(|ready| ready.reason == Reason::DependencyCycle)
        };
        let reporting = self
            .plugins
            .iter()
            .filter(|(_, entry)| reports_cycle(&entry.plugin));
        enqueued.extend(reporting.map(|(key, _)| key.clone()));
    }
}

impl Entry {
    fn status(&self) -> Option<&PluginStatus> {
        self.unwritten.as_ref().or(self.plugin.status.as_ref())
    }

    fn is_installed(&self) -> bool {
        let status = self.status();
        status.is_some_and(|status| status.revision.is_some())
    }

    /// The plugin, with the status that the controller knows if someone else changed it.
    fn plugin(&self) -> Arc<Plugin> {
        let mut plugin = Arc::clone(&self.plugin);
        if self.replaced.is_some() {
            Arc::make_mut(&mut plugin).status = self.status().cloned();
        }
        plugin
    }

    fn kinds(&self) -> impl Iterator<Item = Kind> {
        let status = self.status().into_iter();
        status.flat_map(|status| {
            let record = recorded_revision(status).map(|_| Kind::release_record());
            status.inventory.iter().map(Kind::of).chain(record)
        })
    }

    fn watched_kinds(&self) -> BTreeSet<(ClusterRef, Kind)> {
        let cluster = ClusterRef::of(&self.plugin);
        self.kinds().map(|kind| (cluster.clone(), kind)).collect()
    }
}

/// The record of the installed revision.
fn recorded_revision(status: &PluginStatus) -> Option<InstalledRecord> {
    let version = status.record_version.as_deref();
    Some(InstalledRecord {
        namespace: status.namespace.clone()?,
        release: status.release_name.clone()?,
        revision: status.revision?,
        version: version.map(|version| parse_resource_version(Some(version))),
    })
}

/// The release that a plugin is an object of.
fn parent_release(plugin: &Plugin) -> Option<ReleaseRef> {
    let annotations = plugin.metadata.annotations.as_ref()?;
    Some(ReleaseRef {
        cluster: ClusterRef::Local,
        namespace: annotations.get(RELEASE_NAMESPACE)?.clone(),
        name: annotations.get(RELEASE_NAME)?.clone(),
    })
}

/// Whether the release of a plugin is installed, or will be.
fn needs_release(plugin: &Plugin) -> bool {
    !is_removing(plugin) || has_finalizer(plugin)
}

fn dependencies(key: &Key, plugin: &Plugin) -> Vec<Key> {
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

/// The health of a plugin as an object of another plugin. A disabled one is healthy.
fn plugin_health(plugin: &Plugin) -> ObjectHealth {
    let message = || {
        let message = plugin.condition(READY).map(|ready| ready.message.as_str());
        match message.filter(|message| !message.is_empty()) {
            Some(message) => format!("is {:?}: {message}", observed_phase(plugin)),
            None => format!("is {:?}", observed_phase(plugin)),
        }
    };
    match observed_phase(plugin) {
        Phase::Ready | Phase::Disabled => ObjectHealth::Healthy,
        Phase::Failed | Phase::Degraded => ObjectHealth::Failed(message()),
        _ => ObjectHealth::Progressing(message()),
    }
}

/// Whether a version of a plugin is newer than the known one.
fn is_newer(known: &Plugin, plugin: &Plugin) -> bool {
    if known.metadata.uid != plugin.metadata.uid {
        return true;
    }
    // The write that removes the last finalizer may not get a resource version of its own, and nothing follows it.
    let is_final = |plugin: &Plugin| is_deleted(plugin) && plugin.finalizers().is_empty();
    if is_final(known) || is_final(plugin) {
        return !is_final(known);
    }
    let number = |plugin: &Plugin| plugin.resource_version()?.parse::<u64>().ok();
    match (number(known), number(plugin)) {
        (Some(known), Some(plugin)) => plugin > known,
        _ => known.resource_version() != plugin.resource_version(),
    }
}

/// Whether more than the status changed, so that the plugin itself must be reconciled.
fn needs_reconcile(before: &Plugin, after: &Plugin) -> bool {
    before.metadata.uid != after.metadata.uid
        || before.metadata.generation != after.metadata.generation
        || is_deleted(before) != is_deleted(after)
        || before.metadata.annotations != after.metadata.annotations
        || before.metadata.finalizers != after.metadata.finalizers
}

/// The part of a plugin that affects dependents and parents.
fn visible_state(plugin: &Plugin) -> (Phase, bool, bool, Option<String>, String) {
    let status = plugin.status.as_ref();
    let ready = status.and_then(|status| conditions::find(&status.conditions, READY));
    (
        plugin.phase(),
        plugin.is_ready(),
        is_removing(plugin),
        status.and_then(|status| status.version.clone()),
        ready.map(|ready| ready.message.clone()).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests;
