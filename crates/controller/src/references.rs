//! Tracks each ConfigMap and Secret that a plugin references, and whether it changed since it was read.

use std::collections::{BTreeSet, HashMap};

use outrigger_api::plugin::{ClusterReference, Plugin, ValuesKind};
use outrigger_api::repository::SecretReference;

use crate::key::Key;

/// The kind of a referenced object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ReferenceKind {
    ConfigMap,
    Secret,
}

impl From<ValuesKind> for ReferenceKind {
    fn from(kind: ValuesKind) -> Self {
        match kind {
            ValuesKind::ConfigMap => Self::ConfigMap,
            ValuesKind::Secret => Self::Secret,
        }
    }
}

/// A ConfigMap or Secret that a plugin references.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Reference {
    pub(crate) kind: ReferenceKind,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Reference {
    pub(crate) fn of_secret(secret: &SecretReference) -> Self {
        Self {
            kind: ReferenceKind::Secret,
            namespace: secret.namespace.clone(),
            name: secret.name.clone(),
        }
    }
}

/// Everything that a plugin names as a reference: sources of values, and the Secret with the kubeconfig of its cluster.
pub(crate) fn of(plugin: &Plugin) -> BTreeSet<Reference> {
    let namespace = plugin.namespace();
    let reference = |kind: ReferenceKind, name: &str| Reference {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let values = plugin.spec.values_from.iter();
    let mut all: BTreeSet<Reference> = values
        .map(|from| reference(from.kind.into(), &from.name))
        .collect();
    let cluster = plugin.spec.cluster.as_ref();
    let secret = cluster.and_then(ClusterReference::secret);
    all.extend(secret.map(|name| reference(ReferenceKind::Secret, name)));
    all
}

/// The resource version of an object when it was read; `None` if it did not exist.
pub(crate) type ReadVersion = Option<String>;

/// The references that were read for a plugin.
pub(crate) type ReadVersions = Vec<(Reference, ReadVersion)>;

/// The references of all plugins, and their latest versions.
#[derive(Debug, Default)]
pub(crate) struct References {
    users: HashMap<Reference, BTreeSet<Key>>,
    /// The versions last read for each plugin.
    read: HashMap<Key, HashMap<Reference, ReadVersion>>,
    /// The latest versions that the watches reported, of references in use.
    latest: HashMap<Reference, ReadVersion>,
}

impl References {
    /// Replaces the references of a plugin, which it has yet to read.
    pub(crate) fn set(&mut self, key: &Key, references: BTreeSet<Reference>) {
        self.forget(key);
        for reference in references {
            self.users.entry(reference).or_default().insert(key.clone());
        }
    }

    fn remove(&mut self, key: &Key) {
        self.users.retain(|_, users| {
            users.remove(key);
            !users.is_empty()
        });
        let users = &self.users;
        self.latest
            .retain(|reference, _| users.contains_key(reference));
    }

    /// Drops a deleted plugin.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.remove(key);
        self.read.remove(key);
    }

    /// Records the versions read for a plugin. Returns whether a watch has reported a different one since.
    pub(crate) fn record_read(&mut self, key: &Key, read: ReadVersions) -> bool {
        let is_stale = read.iter().any(|(reference, version)| {
            let latest = self.latest.get(reference);
            latest.is_some_and(|latest| latest != version)
        });
        self.read.insert(key.clone(), read.into_iter().collect());
        is_stale
    }

    /// Whether no watch has reported versions other than those read for a plugin.
    pub(crate) fn is_current(&self, key: &Key) -> bool {
        let Some(read) = self.read.get(key) else {
            return false;
        };
        read.iter().all(|(reference, version)| {
            let latest = self.latest.get(reference);
            latest.is_none_or(|latest| latest == version)
        })
    }

    /// Handles the latest version of an object. Returns the plugins that have not read this version.
    pub(crate) fn observe(&mut self, reference: &Reference, version: Option<&str>) -> Vec<Key> {
        let Some(users) = self.users.get(reference) else {
            return Vec::new();
        };
        let version = version.map(str::to_owned);
        self.latest.insert(reference.clone(), version.clone());
        let is_unread = |key: &&Key| {
            let read = self.read.get(*key).and_then(|read| read.get(reference));
            read.is_none_or(|read| *read != version)
        };
        users.iter().filter(is_unread).cloned().collect()
    }

    /// Handles the complete list of a namespace: references that are not in it do not exist.
    pub(crate) fn observe_list(
        &mut self,
        kind: ReferenceKind,
        namespace: &str,
        found: &HashMap<String, String>,
    ) -> BTreeSet<Key> {
        let all: Vec<Reference> = self
            .users
            .keys()
            .filter(|reference| reference.kind == kind && reference.namespace == namespace)
            .cloned()
            .collect();
        all.into_iter()
            .flat_map(|reference| {
                let version = found.get(&reference.name).map(String::as_str);
                self.observe(&reference, version)
            })
            .collect()
    }

    /// The kinds and namespaces that need a watch.
    pub(crate) fn watch_scopes(&self) -> BTreeSet<(ReferenceKind, String)> {
        let references = self.users.keys();
        references
            .map(|reference| (reference.kind, reference.namespace.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> Reference {
        Reference {
            kind: ReferenceKind::Secret,
            namespace: "default".to_owned(),
            name: "login".to_owned(),
        }
    }

    fn web() -> Key {
        Key::new("default", "web")
    }

    fn used() -> References {
        let mut references = References::default();
        references.set(&web(), BTreeSet::from([secret()]));
        references
    }

    #[test]
    fn a_plugin_that_read_the_same_version_is_not_enqueued() {
        let mut references = used();
        assert!(!references.record_read(&web(), vec![(secret(), Some("1".to_owned()))]));
        assert!(references.observe(&secret(), Some("1")).is_empty());
        assert_eq!(references.observe(&secret(), Some("2")), [web()]);
        assert_eq!(references.observe(&secret(), None), [web()]);
    }

    #[test]
    fn an_object_created_between_the_read_and_the_watch_is_not_missed() {
        let mut references = used();
        references.observe(&secret(), Some("1"));
        assert!(references.record_read(&web(), vec![(secret(), None)]));
    }

    #[test]
    fn a_list_reports_deleted_objects() {
        let mut references = used();
        references.record_read(&web(), vec![(secret(), Some("1".to_owned()))]);
        let enqueued = references.observe_list(ReferenceKind::Secret, "default", &HashMap::new());
        assert_eq!(enqueued, BTreeSet::from([web()]));
    }

    #[test]
    fn unused_references_are_not_watched() {
        let mut references = used();
        assert_eq!(references.watch_scopes().len(), 1);
        references.forget(&web());
        assert!(references.watch_scopes().is_empty());
        assert!(references.observe(&secret(), None).is_empty());
    }
}
