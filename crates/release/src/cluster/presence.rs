//! What is known to be there without asking, because somebody watches.
//!
//! The knowledge may be a moment old. It is only used to do without a question whether something new is there already:
//! if it is after all, making it fails, and it is looked at anew.

use std::collections::{BTreeSet, HashMap};
use std::sync::{PoisonError, RwLock};

use crate::id::ObjectId;

/// The namespace, empty if there is none, and the name of an object.
type Name = (String, String);

/// The names of all objects of some kinds.
#[derive(Debug, Default)]
pub struct Presence {
    /// By version of the API and kind.
    tables: RwLock<HashMap<(String, String), Table>>,
}

#[derive(Debug, Default)]
struct Table {
    /// Whether all names were told once.
    is_complete: bool,
    names: BTreeSet<Name>,
    /// Names of a listing that is under way.
    listing: Option<BTreeSet<Name>>,
}

impl Presence {
    /// A listing of a kind begins.
    pub fn begin(&self, api_version: &str, kind: &str) {
        self.change(api_version, kind, |table| {
            table.listing = Some(BTreeSet::new());
        });
    }

    /// An object is part of the listing.
    pub fn list(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) {
        let name = full(namespace, name);
        self.change(api_version, kind, |table| {
            table.listing.get_or_insert_default().insert(name);
        });
    }

    /// The listing is complete.
    pub fn end(&self, api_version: &str, kind: &str) {
        self.change(api_version, kind, |table| {
            table.names = table.listing.take().unwrap_or_default();
            table.is_complete = true;
        });
    }

    /// An object is there.
    pub fn add(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) {
        let name = full(namespace, name);
        self.change(api_version, kind, |table| {
            // A listing that is under way may be older.
            if let Some(listing) = &mut table.listing {
                listing.insert(name.clone());
            }
            table.names.insert(name);
        });
    }

    /// An object is gone.
    pub fn remove(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) {
        let name = full(namespace, name);
        self.change(api_version, kind, |table| {
            table.names.remove(&name);
        });
    }

    /// Nobody watches a kind any more.
    pub fn forget(&self, api_version: &str, kind: &str) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.remove(&(api_version.to_owned(), kind.to_owned()));
    }

    /// Whether an object is known not to be there.
    pub(crate) fn lacks(&self, id: &ObjectId) -> bool {
        let name = full(id.namespace.as_deref(), &id.name);
        self.ask(&id.api_version, &id.kind, |table| {
            !table.names.contains(&name)
        })
    }

    /// Whether no object is known whose name begins like this.
    pub(crate) fn lacks_all(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        prefix: &str,
    ) -> bool {
        let first = full(Some(namespace), prefix);
        self.ask(api_version, kind, |table| {
            let next = table.names.range(first..).next();
            !next.is_some_and(|(place, name)| place == namespace && name.starts_with(prefix))
        })
    }

    /// Of a kind that is not known in full, nothing is known.
    fn ask(&self, api_version: &str, kind: &str, question: impl FnOnce(&Table) -> bool) -> bool {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let table = tables.get(&(api_version.to_owned(), kind.to_owned()));
        table.is_some_and(|table| table.is_complete && question(table))
    }

    fn change(&self, api_version: &str, kind: &str, change: impl FnOnce(&mut Table)) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let slot = (api_version.to_owned(), kind.to_owned());
        change(tables.entry(slot).or_default());
    }
}

fn full(namespace: Option<&str>, name: &str) -> Name {
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
    fn nothing_is_lacking_before_a_listing_ends_and_after_nobody_watches() {
        let presence = Presence::default();
        assert!(!presence.lacks(&map("a")));
        presence.begin("v1", "ConfigMap");
        presence.list("v1", "ConfigMap", Some("shop"), "a");
        assert!(!presence.lacks(&map("b")));
        presence.end("v1", "ConfigMap");
        assert!(!presence.lacks(&map("a")) && presence.lacks(&map("b")));
        presence.add("v1", "ConfigMap", Some("shop"), "b");
        presence.remove("v1", "ConfigMap", Some("shop"), "a");
        assert!(presence.lacks(&map("a")) && !presence.lacks(&map("b")));
        presence.forget("v1", "ConfigMap");
        assert!(!presence.lacks(&map("a")));
    }

    #[test]
    fn what_comes_during_a_listing_is_not_forgotten_by_it() {
        let presence = Presence::default();
        presence.begin("v1", "ConfigMap");
        presence.add("v1", "ConfigMap", Some("shop"), "a");
        presence.end("v1", "ConfigMap");
        assert!(!presence.lacks(&map("a")) && presence.lacks(&map("b")));
    }

    #[test]
    fn names_are_found_by_their_beginning_in_their_namespace() {
        let presence = Presence::default();
        presence.begin("v1", "Secret");
        presence.list("v1", "Secret", Some("shop"), "record.web.v3");
        presence.end("v1", "Secret");
        let lacks =
            |namespace: &str, prefix: &str| presence.lacks_all("v1", "Secret", namespace, prefix);
        assert!(!lacks("shop", "record.web.v"));
        assert!(lacks("shop", "record.we.v"));
        assert!(lacks("shop", "record.webs.v"));
        assert!(lacks("other", "record.web.v"));
    }
}
