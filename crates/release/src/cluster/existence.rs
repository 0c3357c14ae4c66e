//! The names of all objects of the watched kinds, so that absence is known without a request.
//!
//! The cache may lag behind the cluster. It only saves the read before the creation of an object: if the object exists
//! nevertheless, the creation fails and the action is retried with a read.

use std::collections::{BTreeSet, HashMap};
use std::sync::{PoisonError, RwLock};

use crate::id::ObjectId;

/// Namespace and name of an object; the namespace is empty for cluster-scoped objects.
type Name = (String, String);

/// A cache of object names, fed by the watcher events of the same names.
#[derive(Debug, Default)]
pub struct ExistenceCache {
    /// By API version and kind.
    kinds: RwLock<HashMap<(String, String), KnownNames>>,
}

#[derive(Debug, Default)]
struct KnownNames {
    /// Whether the initial list is complete.
    has_synced: bool,
    names: BTreeSet<Name>,
    /// The names of the list in progress.
    listing: Option<BTreeSet<Name>>,
}

impl ExistenceCache {
    /// A list of a kind starts.
    pub fn init(&self, api_version: &str, kind: &str) {
        self.change(api_version, kind, |known| {
            known.listing = Some(BTreeSet::new());
        });
    }

    /// An object is in the list.
    pub fn init_apply(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) {
        let name = full_name(namespace, name);
        self.change(api_version, kind, |known| {
            known.listing.get_or_insert_default().insert(name);
        });
    }

    /// The list is complete.
    pub fn init_done(&self, api_version: &str, kind: &str) {
        self.change(api_version, kind, |known| {
            known.names = known.listing.take().unwrap_or_default();
            known.has_synced = true;
        });
    }

    /// An object exists.
    pub fn apply(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) {
        let name = full_name(namespace, name);
        self.change(api_version, kind, |known| {
            // A list in progress may be older than this event.
            if let Some(listing) = &mut known.listing {
                listing.insert(name.clone());
            }
            known.names.insert(name);
        });
    }

    /// An object was deleted.
    pub fn delete(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) {
        let name = full_name(namespace, name);
        self.change(api_version, kind, |known| {
            known.names.remove(&name);
        });
    }

    /// A kind is no longer watched.
    pub fn drop_kind(&self, api_version: &str, kind: &str) {
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        kinds.remove(&(api_version.to_owned(), kind.to_owned()));
    }

    /// Whether the object is known not to exist.
    pub(crate) fn is_absent(&self, id: &ObjectId) -> bool {
        let name = full_name(id.namespace.as_deref(), &id.name);
        self.is_known(&id.api_version, &id.kind, |known| {
            !known.names.contains(&name)
        })
    }

    /// Whether it is known that no object has a name with this prefix.
    pub(crate) fn is_prefix_absent(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        prefix: &str,
    ) -> bool {
        let first = full_name(Some(namespace), prefix);
        self.is_known(api_version, kind, |known| {
            let next = known.names.range(first..).next();
            !next.is_some_and(|(ns, name)| ns == namespace && name.starts_with(prefix))
        })
    }

    /// Whether the predicate holds; false for kinds that have not synced.
    fn is_known(
        &self,
        api_version: &str,
        kind: &str,
        predicate: impl FnOnce(&KnownNames) -> bool,
    ) -> bool {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        let known = kinds.get(&(api_version.to_owned(), kind.to_owned()));
        known.is_some_and(|known| known.has_synced && predicate(known))
    }

    fn change(&self, api_version: &str, kind: &str, change: impl FnOnce(&mut KnownNames)) {
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        let key = (api_version.to_owned(), kind.to_owned());
        change(kinds.entry(key).or_default());
    }
}

fn full_name(namespace: Option<&str>, name: &str) -> Name {
    (namespace.unwrap_or_default().to_owned(), name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(name: &str) -> ObjectId {
        ObjectId {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: Some("shop".to_owned()),
            name: name.to_owned(),
        }
    }

    #[test]
    fn absence_is_known_only_while_the_kind_is_watched_and_synced() {
        let cache = ExistenceCache::default();
        assert!(!cache.is_absent(&map("a")));
        cache.init("v1", "ConfigMap");
        cache.init_apply("v1", "ConfigMap", Some("shop"), "a");
        assert!(!cache.is_absent(&map("b")));
        cache.init_done("v1", "ConfigMap");
        assert!(!cache.is_absent(&map("a")) && cache.is_absent(&map("b")));
        cache.apply("v1", "ConfigMap", Some("shop"), "b");
        cache.delete("v1", "ConfigMap", Some("shop"), "a");
        assert!(cache.is_absent(&map("a")) && !cache.is_absent(&map("b")));
        cache.drop_kind("v1", "ConfigMap");
        assert!(!cache.is_absent(&map("a")));
    }

    #[test]
    fn an_object_that_is_created_during_a_list_is_not_lost() {
        let cache = ExistenceCache::default();
        cache.init("v1", "ConfigMap");
        cache.apply("v1", "ConfigMap", Some("shop"), "a");
        cache.init_done("v1", "ConfigMap");
        assert!(!cache.is_absent(&map("a")) && cache.is_absent(&map("b")));
    }

    #[test]
    fn absence_by_prefix_is_per_namespace() {
        let cache = ExistenceCache::default();
        cache.init("v1", "Secret");
        cache.init_apply("v1", "Secret", Some("shop"), "record.web.v3");
        cache.init_done("v1", "Secret");
        let absent = |namespace: &str, prefix: &str| {
            cache.is_prefix_absent("v1", "Secret", namespace, prefix)
        };
        assert!(!absent("shop", "record.web.v"));
        assert!(absent("shop", "record.we.v"));
        assert!(absent("shop", "record.webs.v"));
        assert!(absent("other", "record.web.v"));
    }
}
