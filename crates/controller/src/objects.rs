//! The observed state of the objects of all releases: whether they exist, are healthy, and are still as applied.
//!
//! Filled by the object watches. Of each object only its health, its resource version and a digest of the
//! applied fields are kept.

use std::collections::{BTreeMap, HashMap};

use outrigger_api::plugin::{HealthRule, InventoryEntry};

use crate::observed::{ObservedObjects, UnhealthyObject, object_text};
use crate::release_ref::{ClusterRef, ReleaseRef};
use crate::watches::is_metadata_only;

/// A kind of objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Kind {
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

impl Kind {
    /// The kind that a health rule is about.
    pub(crate) fn of_rule(rule: &HealthRule) -> Self {
        Self {
            api_version: rule.api_version.clone(),
            kind: rule.kind.clone(),
        }
    }

    /// The kind of release records. They are Secrets; this name distinguishes them from the Secrets of releases.
    pub(crate) fn release_record() -> Self {
        Self {
            api_version: "helm.sh/release.v1".to_owned(),
            kind: "release record".to_owned(),
        }
    }

    pub(crate) fn of(entry: &InventoryEntry) -> Self {
        Self {
            api_version: entry.api_version.clone(),
            kind: entry.kind.clone(),
        }
    }
}

/// What the metadata of a release record say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordLabels {
    pub(crate) revision: String,
    pub(crate) status: String,
    /// Whether another tool, such as Helm, wrote it last.
    pub(crate) is_foreign: bool,
}

/// The record that the installed revision should have.
#[derive(Debug)]
pub(crate) struct InstalledRecord {
    pub(crate) namespace: String,
    pub(crate) release: String,
    pub(crate) revision: i64,
    /// The resource version that was written or checked last.
    pub(crate) version: Option<u64>,
}

impl InstalledRecord {
    fn entry(&self) -> InventoryEntry {
        release_record(&self.namespace, &self.release, self.revision)
    }
}

/// The record of a revision, which is observed like an object of the release.
pub(crate) fn release_record(namespace: &str, release: &str, revision: i64) -> InventoryEntry {
    let Kind { api_version, kind } = Kind::release_record();
    let revision = u32::try_from(revision).unwrap_or_default();
    InventoryEntry {
        api_version,
        kind,
        namespace: Some(namespace.to_owned()),
        name: outrigger_release::record_name(release, revision),
        keep: false,
        fields: None,
    }
}

/// Namespace, if the kind is namespaced, and name of an object.
pub(crate) type ObjectName = (Option<String>, String);

/// The health of an object, with a message unless it is healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ObjectHealth {
    Healthy,
    Progressing(String),
    Failed(String),
}

/// The observed state of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedObject {
    /// Namespace and name of the release that its annotations name.
    pub(crate) release: Option<(String, String)>,
    pub(crate) health: ObjectHealth,
    /// The digest of the fields that the release applied.
    pub(crate) fields: Option<String>,
    pub(crate) resource_version: u64,
    /// For release records.
    pub(crate) record: Option<RecordLabels>,
}

/// The objects of one kind in one cluster.
#[derive(Debug, Default)]
struct Table {
    /// Whether an initial list has completed.
    has_synced: bool,
    objects: BTreeMap<ObjectName, ObservedObject>,
    /// The objects of a list in progress.
    listing: BTreeMap<ObjectName, ObservedObject>,
}

/// The observed objects of all watched kinds in all clusters.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    tables: HashMap<(ClusterRef, Kind), Table>,
    /// The watches of remote clusters that fail, with the errors.
    failing: BTreeMap<(ClusterRef, Kind), String>,
}

impl Objects {
    /// Handles a created or changed object. Returns the affected releases.
    pub(crate) fn apply(
        &mut self,
        cluster: &ClusterRef,
        kind: &Kind,
        name: ObjectName,
        object: ObservedObject,
    ) -> Vec<ReleaseRef> {
        let table = self.table(cluster, kind);
        let release = object.release.clone();
        if table.objects.get(&name) == Some(&object) {
            return Vec::new();
        }
        let before = table
            .objects
            .insert(name, object)
            .and_then(|before| before.release);
        release_refs(cluster, [before.as_ref(), release.as_ref()])
    }

    /// Handles a deleted object. Returns the affected releases.
    pub(crate) fn delete(
        &mut self,
        cluster: &ClusterRef,
        kind: &Kind,
        name: &ObjectName,
    ) -> Vec<ReleaseRef> {
        let before = self.table(cluster, kind).objects.remove(name);
        let release = before.as_ref().and_then(|before| before.release.as_ref());
        release_refs(cluster, [release])
    }

    pub(crate) fn start_listing(&mut self, cluster: &ClusterRef, kind: &Kind) {
        self.table(cluster, kind).listing.clear();
    }

    pub(crate) fn add_listed(
        &mut self,
        cluster: &ClusterRef,
        kind: &Kind,
        name: ObjectName,
        object: ObservedObject,
    ) {
        self.table(cluster, kind).listing.insert(name, object);
    }

    /// Replaces all objects of the kind by those listed.
    pub(crate) fn finish_listing(&mut self, cluster: &ClusterRef, kind: &Kind) {
        let table = self.table(cluster, kind);
        table.objects = std::mem::take(&mut table.listing);
        table.has_synced = true;
    }

    /// Records that a watch of a remote cluster fails, or no longer does. Returns whether that is new.
    pub(crate) fn set_failing(
        &mut self,
        cluster: &ClusterRef,
        kind: &Kind,
        error: Option<String>,
    ) -> bool {
        let watch = (cluster.clone(), kind.clone());
        match error {
            Some(error) => self.failing.insert(watch, error).is_none(),
            None => self.failing.remove(&watch).is_some(),
        }
    }

    /// Why objects of a cluster cannot be observed, if a watch fails.
    fn unreachable(&self, cluster: &ClusterRef) -> Option<String> {
        let mut failing = self.failing.iter();
        let failing = failing.find(|((failing, _), _)| failing == cluster);
        failing.map(|(_, error)| error.clone())
    }

    /// Drops a kind that is no longer watched.
    pub(crate) fn forget(&mut self, cluster: &ClusterRef, kind: &Kind) {
        self.set_failing(cluster, kind, None);
        self.tables.remove(&(cluster.clone(), kind.clone()));
    }

    fn table(&mut self, cluster: &ClusterRef, kind: &Kind) -> &mut Table {
        self.tables
            .entry((cluster.clone(), kind.clone()))
            .or_default()
    }

    fn find(&self, cluster: &ClusterRef, entry: &InventoryEntry) -> Observation<'_> {
        // Looking up by reference would need a key type of its own; kinds are short.
        let Some(table) = self.tables.get(&(cluster.clone(), Kind::of(entry))) else {
            return Observation::Unknown;
        };
        let name = (entry.namespace.clone(), entry.name.clone());
        match (table.objects.get(&name), table.has_synced) {
            (Some(object), _) => Observation::Found(object),
            (None, true) => Observation::Missing,
            (None, false) => Observation::Unknown,
        }
    }

    /// The digest of the fields of an object that the release applied, if it was observed at this version or later.
    pub(crate) fn fields(
        &self,
        cluster: &ClusterRef,
        entry: &InventoryEntry,
        applied: Option<u64>,
    ) -> Option<String> {
        match self.find(cluster, entry) {
            Observation::Found(object) if Some(object.resource_version) >= applied => {
                object.fields.clone()
            }
            _ => None,
        }
    }

    /// The observed state of the objects of an inventory, and of the release record. `child` provides the state of those
    /// that are plugins themselves. Observations older than the `applied` resource versions are stale and count as unknown.
    pub(crate) fn observe(
        &self,
        cluster: &ClusterRef,
        inventory: &[InventoryEntry],
        release_record: Option<&InstalledRecord>,
        applied: &HashMap<InventoryEntry, u64>,
        just_applied: &HashMap<InventoryEntry, u64>,
        child: impl Fn(&InventoryEntry) -> ChildPlugin,
    ) -> ObservedObjects {
        let mut observed = ObservedObjects {
            total: inventory.len(),
            unreachable: self.unreachable(cluster),
            ..ObservedObjects::default()
        };
        for entry in inventory {
            let child = child(entry);
            let observation = match &child {
                ChildPlugin::Found(object) => Observation::Found(object),
                ChildPlugin::Missing => Observation::Missing,
                ChildPlugin::NotAPlugin => self.find(cluster, entry),
            };
            let observation = observation.unless_stale(applied.get(entry));
            if let (Some(version), Observation::Found(object)) =
                (just_applied.get(entry), &observation)
                && is_metadata_only(&entry.api_version, &entry.kind)
            {
                observed.is_suspect |= object.resource_version > *version;
            }
            let is_child = !matches!(child, ChildPlugin::NotAPlugin);
            record(&mut observed, entry, &observation, is_child);
        }
        if let Some(record) = release_record {
            self.observe_record(&mut observed, cluster, record, applied);
        }
        observed
    }

    /// Observes the record of the installed revision, and later ones of other tools.
    fn observe_record(
        &self,
        observed: &mut ObservedObjects,
        cluster: &ClusterRef,
        installed: &InstalledRecord,
        applied: &HashMap<InventoryEntry, u64>,
    ) {
        let entry = installed.entry();
        let release = (installed.namespace.clone(), installed.release.clone());
        let observation = self.find(cluster, &entry).unless_stale(applied.get(&entry));
        let labels = |object: &ObservedObject| {
            let revision = object.record.as_ref().map(|record| record.revision.clone());
            (object.release.clone(), revision)
        };
        let expected = (Some(release), Some(installed.revision.to_string()));
        let text = object_text(&entry.kind, entry.namespace.as_deref(), &entry.name);
        match observation {
            Observation::Found(object) if labels(object) != expected => {
                push_failed(observed, text.clone(), "has other labels".to_owned());
                observed.drifted.push(format!("{text} has other labels"));
            }
            Observation::Found(object) => {
                let known = installed.version.unwrap_or(object.resource_version);
                if known < object.resource_version {
                    observed.drifted.push(format!("{text} was modified"));
                } else if known == object.resource_version {
                    let labels = object.record.as_ref();
                    observed.record_status = labels.map(|labels| labels.status.clone());
                }
            }
            observation => record(observed, &entry, &observation, false),
        }
        if let Some((revision, labels)) = self.later_revision(cluster, installed) {
            let message = format!("revision {revision} of another tool is {}", labels.status);
            let release = format!("release {}/{}", installed.namespace, installed.release);
            push_failed(observed, release, message.clone());
            observed.drifted.push(message);
        }
    }

    /// The last revision of another tool after the installed one.
    fn later_revision(
        &self,
        cluster: &ClusterRef,
        installed: &InstalledRecord,
    ) -> Option<(u64, &RecordLabels)> {
        let table = self
            .tables
            .get(&(cluster.clone(), Kind::release_record()))?;
        let name = installed.entry().name;
        let prefix = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let first = (Some(installed.namespace.clone()), prefix.to_owned());
        let records = table.objects.range(first..);
        let records = records.map_while(|((namespace, name), object)| {
            let revision = name.strip_prefix(prefix);
            let revision = revision.filter(|_| namespace.as_ref() == Some(&installed.namespace))?;
            Some((revision.parse::<u64>().ok(), object.record.as_ref()))
        });
        let later = records.filter_map(|(revision, labels)| {
            let (revision, labels) = (revision?, labels?);
            let is_later = i128::from(revision) > i128::from(installed.revision);
            (is_later && labels.is_foreign).then_some((revision, labels))
        });
        later.max_by_key(|(revision, _)| *revision)
    }
}

fn push_failed(observed: &mut ObservedObjects, object: String, message: String) {
    observed.unhealthy.push(UnhealthyObject {
        object,
        message,
        has_failed: true,
        is_crashing: false,
    });
}

/// The state of an inventory entry that may be a plugin of the local cluster.
#[derive(Debug)]
pub(crate) enum ChildPlugin {
    NotAPlugin,
    Missing,
    Found(ObservedObject),
}

enum Observation<'a> {
    /// The watch has not reported it yet.
    Unknown,
    Missing,
    Found(&'a ObservedObject),
}

impl Observation<'_> {
    /// The observation, if it is not older than the resource version of the last apply.
    fn unless_stale(self, applied: Option<&u64>) -> Self {
        match (applied, self) {
            (Some(_), Self::Missing) => Self::Unknown,
            (Some(version), Self::Found(object)) if object.resource_version < *version => {
                Self::Unknown
            }
            (_, observation) => observation,
        }
    }
}

fn record(
    observed: &mut ObservedObjects,
    entry: &InventoryEntry,
    observation: &Observation<'_>,
    is_child: bool,
) {
    let text = || object_text(&entry.kind, entry.namespace.as_deref(), &entry.name);
    let object = match observation {
        Observation::Unknown => {
            observed.is_incomplete = true;
            return;
        }
        Observation::Missing => {
            push_failed(observed, text(), "is missing".to_owned());
            observed.drifted.push(format!("{} is missing", text()));
            return;
        }
        Observation::Found(object) => object,
    };
    match &object.health {
        ObjectHealth::Healthy => {}
        ObjectHealth::Progressing(message) | ObjectHealth::Failed(message) => {
            observed.unhealthy.push(UnhealthyObject {
                object: text(),
                message: message.clone(),
                has_failed: matches!(object.health, ObjectHealth::Failed(_)),
                is_crashing: false,
            });
        }
    }
    if entry.fields.is_some() && object.fields != entry.fields {
        if is_child {
            observed.modified_children.push(entry.clone());
        } else {
            observed.drifted.push(format!("{} was modified", text()));
        }
    }
}

fn release_refs<'a>(
    cluster: &ClusterRef,
    releases: impl IntoIterator<Item = Option<&'a (String, String)>>,
) -> Vec<ReleaseRef> {
    let mut releases: Vec<ReleaseRef> = releases
        .into_iter()
        .flatten()
        .map(|(namespace, name)| ReleaseRef {
            cluster: cluster.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
        })
        .collect();
    releases.dedup();
    releases
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: ClusterRef = ClusterRef::Local;

    fn kind() -> Kind {
        Kind {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
        }
    }

    fn entry(name: &str, fields: Option<&str>) -> InventoryEntry {
        InventoryEntry {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: Some("default".to_owned()),
            name: name.to_owned(),
            keep: false,
            fields: fields.map(str::to_owned),
        }
    }

    fn name(name: &str) -> ObjectName {
        (Some("default".to_owned()), name.to_owned())
    }

    fn healthy(fields: &str) -> ObservedObject {
        ObservedObject {
            release: Some(("default".to_owned(), "web".to_owned())),
            health: ObjectHealth::Healthy,
            fields: Some(fields.to_owned()),
            resource_version: 1,
            record: None,
        }
    }

    fn observe(objects: &Objects, inventory: &[InventoryEntry]) -> ObservedObjects {
        let none = HashMap::new();
        objects.observe(&LOCAL, inventory, None, &none, &none, |_| {
            ChildPlugin::NotAPlugin
        })
    }

    #[test]
    fn objects_are_unknown_until_the_initial_list_completes() {
        let mut objects = Objects::default();
        assert!(observe(&objects, &[entry("a", None)]).is_incomplete);
        objects.start_listing(&LOCAL, &kind());
        objects.add_listed(&LOCAL, &kind(), name("a"), healthy("1"));
        assert!(observe(&objects, &[entry("a", None)]).is_incomplete);
        objects.finish_listing(&LOCAL, &kind());
        let observed = observe(&objects, &[entry("a", Some("1")), entry("b", None)]);
        assert!(!observed.is_incomplete);
        assert_eq!(observed.drifted, ["ConfigMap default/b is missing"]);
        assert_eq!(observed.unhealthy.len(), 1);
    }

    #[test]
    fn a_change_affects_the_release_once_and_an_unchanged_object_does_not() {
        let mut objects = Objects::default();
        let affected = objects.apply(&LOCAL, &kind(), name("a"), healthy("1"));
        assert_eq!(affected.len(), 1);
        let affected = objects.apply(&LOCAL, &kind(), name("a"), healthy("1"));
        assert!(affected.is_empty());
        let affected = objects.apply(&LOCAL, &kind(), name("a"), healthy("2"));
        assert_eq!(affected.len(), 1);
        let drifted = observe(&objects, &[entry("a", Some("1"))]).drifted;
        assert_eq!(drifted, ["ConfigMap default/a was modified"]);
        assert_eq!(objects.delete(&LOCAL, &kind(), &name("a")).len(), 1);
    }

    #[test]
    fn observations_older_than_the_apply_are_ignored() {
        let mut objects = Objects::default();
        let entry = entry("a", Some("2"));
        let applied = HashMap::from([(entry.clone(), 7)]);
        let inventory = [entry];
        objects.finish_listing(&LOCAL, &kind());
        let observe = |objects: &Objects| {
            let none = HashMap::new();
            objects.observe(&LOCAL, &inventory, None, &applied, &none, |_| {
                ChildPlugin::NotAPlugin
            })
        };
        assert!(observe(&objects).is_incomplete);
        objects.apply(&LOCAL, &kind(), name("a"), healthy("1"));
        assert!(observe(&objects).is_incomplete);
        let mut current = healthy("2");
        current.resource_version = 7;
        objects.apply(&LOCAL, &kind(), name("a"), current);
        let observed = observe(&objects);
        assert!(!observed.is_incomplete && observed.drifted.is_empty());
    }

    #[test]
    fn an_object_without_a_recorded_digest_has_no_drift() {
        let mut objects = Objects::default();
        objects.apply(&LOCAL, &kind(), name("a"), healthy("2"));
        assert!(observe(&objects, &[entry("a", None)]).drifted.is_empty());
    }
}
