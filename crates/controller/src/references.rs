//! Which objects do plugins take values from, who uses them, and did one change since it was read?

use std::collections::{BTreeSet, HashMap};

use outrigger_api::plugin::{Plugin, ValuesKind};

use crate::key::Key;

/// A ConfigMap or Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Source {
    ConfigMap,
    Secret,
}

impl From<ValuesKind> for Source {
    fn from(kind: ValuesKind) -> Self {
        match kind {
            ValuesKind::ConfigMap => Self::ConfigMap,
            ValuesKind::Secret => Self::Secret,
        }
    }
}

/// A ConfigMap or Secret that a plugin refers to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Reference {
    pub(crate) source: Source,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Everything that a plugin refers to.
pub(crate) fn of(plugin: &Plugin) -> BTreeSet<Reference> {
    let namespace = plugin.namespace();
    let reference = |source: Source, name: &str| Reference {
        source,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let values = plugin.spec.values_from.iter();
    let mut all: BTreeSet<Reference> = values
        .map(|from| reference(from.kind.into(), &from.name))
        .collect();
    if let Some(cluster) = &plugin.spec.cluster {
        all.insert(reference(Source::Secret, &cluster.secret_name));
    }
    all
}

/// The version of an object that was read; none if it was not there.
pub(crate) type Version = Option<String>;

/// What was read for a plugin.
pub(crate) type Read = Vec<(Reference, Version)>;

/// Who uses what, and what the watches told.
#[derive(Debug, Default)]
pub(crate) struct References {
    users: HashMap<Reference, BTreeSet<Key>>,
    /// What was read for each plugin last.
    read: HashMap<Key, HashMap<Reference, Version>>,
    /// The latest version of what is in use. Nothing is known of those that are not in it.
    latest: HashMap<Reference, Version>,
}

impl References {
    /// A plugin refers to these now.
    pub(crate) fn set(&mut self, key: &Key, references: BTreeSet<Reference>) {
        self.remove(key);
        for reference in references {
            self.users.entry(reference).or_default().insert(key.clone());
        }
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.users.retain(|_, users| {
            users.remove(key);
            !users.is_empty()
        });
        let users = &self.users;
        self.latest
            .retain(|reference, _| users.contains_key(reference));
    }

    pub(crate) fn forget(&mut self, key: &Key) {
        self.remove(key);
        self.read.remove(key);
    }

    /// What was read for a plugin. True if a watch told of something newer meanwhile.
    pub(crate) fn was_read(&mut self, key: &Key, read: Read) -> bool {
        let is_old = read.iter().any(|(reference, version)| {
            let latest = self.latest.get(reference);
            latest.is_some_and(|latest| latest != version)
        });
        self.read.insert(key.clone(), read.into_iter().collect());
        is_old
    }

    /// Whether nothing newer was told of what was read for a plugin.
    pub(crate) fn is_current(&self, key: &Key) -> bool {
        let Some(read) = self.read.get(key) else {
            return false;
        };
        read.iter().all(|(reference, version)| {
            let latest = self.latest.get(reference);
            latest.is_none_or(|latest| latest == version)
        })
    }

    /// A watch told of an object. Gives those who read something else of it, or nothing yet.
    pub(crate) fn told(&mut self, reference: &Reference, version: Option<&str>) -> Vec<Key> {
        let Some(users) = self.users.get(reference) else {
            return Vec::new();
        };
        let version = version.map(str::to_owned);
        self.latest.insert(reference.clone(), version.clone());
        let is_new = |key: &&Key| {
            let read = self.read.get(*key).and_then(|read| read.get(reference));
            read.is_none_or(|read| *read != version)
        };
        users.iter().filter(is_new).cloned().collect()
    }

    /// A listing of a namespace ended: whatever is in use and was not listed is not there.
    pub(crate) fn listed(
        &mut self,
        source: Source,
        namespace: &str,
        found: &HashMap<String, String>,
    ) -> BTreeSet<Key> {
        let all: Vec<Reference> = self
            .users
            .keys()
            .filter(|reference| reference.source == source && reference.namespace == namespace)
            .cloned()
            .collect();
        all.into_iter()
            .flat_map(|reference| {
                let version = found.get(&reference.name).map(String::as_str);
                self.told(&reference, version)
            })
            .collect()
    }

    /// The kinds and namespaces that are to be watched.
    pub(crate) fn places(&self) -> BTreeSet<(Source, String)> {
        let places = self.users.keys();
        places
            .map(|reference| (reference.source, reference.namespace.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> Reference {
        Reference {
            source: Source::Secret,
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
    fn who_read_the_same_version_is_not_woken() {
        let mut references = used();
        assert!(!references.was_read(&web(), vec![(secret(), Some("1".to_owned()))]));
        assert!(references.told(&secret(), Some("1")).is_empty());
        assert_eq!(references.told(&secret(), Some("2")), [web()]);
        assert_eq!(references.told(&secret(), None), [web()]);
    }

    #[test]
    fn an_object_that_is_created_between_the_reading_and_the_watch_is_not_missed() {
        let mut references = used();
        references.told(&secret(), Some("1"));
        assert!(references.was_read(&web(), vec![(secret(), None)]));
    }

    #[test]
    fn a_listing_tells_of_what_is_not_there() {
        let mut references = used();
        references.was_read(&web(), vec![(secret(), Some("1".to_owned()))]);
        let woken = references.listed(Source::Secret, "default", &HashMap::new());
        assert_eq!(woken, BTreeSet::from([web()]));
    }

    #[test]
    fn what_nobody_uses_is_not_watched() {
        let mut references = used();
        assert_eq!(references.places().len(), 1);
        references.forget(&web());
        assert!(references.places().is_empty());
        assert!(references.told(&secret(), None).is_empty());
    }
}
