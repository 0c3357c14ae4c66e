//! What is seen of the objects that plugins added: are they there, healthy, and still as they were applied?
//!
//! Only a few words are kept of each object. Watches tell what happens ([`crate::watches`]); who has to know is told by
//! the release that an object says it belongs to.

use std::collections::{HashMap, HashSet};

use outrigger_api::plugin::InventoryEntry;

use crate::facts::{ObjectFacts, Unhealthy, object_text};

/// A cluster: where the controller runs, or that of a Secret with a kubeconfig.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    Here,
    Remote {
        namespace: String,
        secret: String,
        key: String,
    },
}

/// A kind of objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Kind {
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

/// A release somewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Release {
    pub(crate) place: Place,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// An object of a kind: its namespace, if the kind has them, and its name.
pub(crate) type Name = (Option<String>, String);

/// How an object fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Healthy,
    Progressing(String),
    Failed(String),
}

/// What is kept of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The release it says it belongs to: namespace and name.
    pub(crate) release: Option<(String, String)>,
    pub(crate) verdict: Verdict,
    /// The digest of the fields that are ours.
    pub(crate) fields: Option<String>,
    /// The number of its version.
    pub(crate) version: u64,
}

/// One kind in one cluster.
#[derive(Debug, Default)]
struct Table {
    /// Whether all objects of the kind were seen once.
    is_complete: bool,
    seen: HashMap<Name, Seen>,
    /// Objects of a listing that is under way.
    listing: HashMap<Name, Seen>,
}

/// All that is seen.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    tables: HashMap<(Place, Kind), Table>,
}

impl Objects {
    /// An object is there, or changed. Gives the releases that have to know.
    pub(crate) fn applied(
        &mut self,
        place: &Place,
        kind: &Kind,
        name: Name,
        seen: Seen,
    ) -> Vec<Release> {
        let table = self.table(place, kind);
        let release = seen.release.clone();
        let is_known = table.seen.get(&name) == Some(&seen);
        if is_known {
            return Vec::new();
        }
        let before = table
            .seen
            .insert(name, seen)
            .and_then(|before| before.release);
        owners(place, [before.as_ref(), release.as_ref()])
    }

    pub(crate) fn deleted(&mut self, place: &Place, kind: &Kind, name: &Name) -> Vec<Release> {
        let before = self.table(place, kind).seen.remove(name);
        owners(
            place,
            [before.as_ref().and_then(|before| before.release.as_ref())],
        )
    }

    /// A new listing begins.
    pub(crate) fn begin(&mut self, place: &Place, kind: &Kind) {
        self.table(place, kind).listing.clear();
    }

    pub(crate) fn listed(&mut self, place: &Place, kind: &Kind, name: Name, seen: Seen) {
        self.table(place, kind).listing.insert(name, seen);
    }

    /// The listing is complete. Gives the releases of all objects that there are or were.
    pub(crate) fn end(&mut self, place: &Place, kind: &Kind) -> Vec<Release> {
        let table = self.table(place, kind);
        let listing = std::mem::take(&mut table.listing);
        let before = std::mem::replace(&mut table.seen, listing);
        table.is_complete = true;
        let all = before.values().chain(table.seen.values());
        let releases: HashSet<Release> = owners(place, all.map(|seen| seen.release.as_ref()))
            .into_iter()
            .collect();
        releases.into_iter().collect()
    }

    pub(crate) fn forget(&mut self, place: &Place, kind: &Kind) {
        self.tables.remove(&(place.clone(), kind.clone()));
    }

    fn table(&mut self, place: &Place, kind: &Kind) -> &mut Table {
        self.tables
            .entry((place.clone(), kind.clone()))
            .or_default()
    }

    /// What is known of an object: nothing yet, that it is not there, or what was seen.
    pub(crate) fn find(&self, place: &Place, entry: &InventoryEntry) -> Known<'_> {
        let kind = Kind::of(entry);
        // Looking up by reference would need a key type of its own; kinds are short.
        match self.tables.get(&(place.clone(), kind)) {
            Some(table) => {
                let name = (entry.namespace.clone(), entry.name.clone());
                match (table.seen.get(&name), table.is_complete) {
                    (Some(seen), _) => Known::Seen(seen),
                    (None, true) => Known::Missing,
                    (None, false) => Known::Nothing,
                }
            }
            None => Known::Nothing,
        }
    }

    /// What is known of the objects of an inventory. Plugins among them are judged by `child`, which knows them better.
    /// What was seen of an object before it was applied says nothing.
    pub(crate) fn facts(
        &self,
        place: &Place,
        inventory: &[InventoryEntry],
        applied: &HashMap<InventoryEntry, u64>,
        child: impl Fn(&InventoryEntry) -> Child,
    ) -> ObjectFacts {
        let mut facts = ObjectFacts {
            total: inventory.len(),
            ..ObjectFacts::default()
        };
        for entry in inventory {
            let child = child(entry);
            let known = match &child {
                Child::Seen(seen) => Known::Seen(seen),
                Child::Missing => Known::Missing,
                Child::None => self.find(place, entry),
            };
            let known = match (applied.get(entry), known) {
                (Some(_), Known::Missing) => Known::Nothing,
                (Some(version), Known::Seen(seen)) if seen.version < *version => Known::Nothing,
                (_, known) => known,
            };
            add_fact(&mut facts, entry, &known);
        }
        facts
    }
}

/// What a plugin is that another one made.
#[derive(Debug)]
pub(crate) enum Child {
    /// It is no plugin, or not one of this cluster.
    None,
    Missing,
    Seen(Seen),
}

/// What is known of one object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known<'a> {
    Nothing,
    Missing,
    Seen(&'a Seen),
}

impl Kind {
    pub(crate) fn of(entry: &InventoryEntry) -> Self {
        Self {
            api_version: entry.api_version.clone(),
            kind: entry.kind.clone(),
        }
    }
}

fn add_fact(facts: &mut ObjectFacts, entry: &InventoryEntry, known: &Known<'_>) {
    let object = || object_text(&entry.kind, entry.namespace.as_deref(), &entry.name);
    let seen = match known {
        Known::Nothing => {
            facts.are_unknown = true;
            return;
        }
        Known::Missing => {
            facts.unhealthy.push(Unhealthy {
                object: object(),
                why: "is gone".to_owned(),
                has_failed: true,
            });
            facts.drifted.push(format!("{} is gone", object()));
            return;
        }
        Known::Seen(seen) => seen,
    };
    match &seen.verdict {
        Verdict::Healthy => {}
        Verdict::Progressing(why) | Verdict::Failed(why) => facts.unhealthy.push(Unhealthy {
            object: object(),
            why: why.clone(),
            has_failed: matches!(seen.verdict, Verdict::Failed(_)),
        }),
    }
    if entry.fields.is_some() && seen.fields != entry.fields {
        facts.drifted.push(format!("{} was changed", object()));
    }
}

fn owners<'a>(
    place: &Place,
    releases: impl IntoIterator<Item = Option<&'a (String, String)>>,
) -> Vec<Release> {
    let mut releases: Vec<Release> = releases
        .into_iter()
        .flatten()
        .map(|(namespace, name)| Release {
            place: place.clone(),
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

    fn name(name: &str) -> Name {
        (Some("default".to_owned()), name.to_owned())
    }

    fn seen(verdict: Verdict, fields: &str) -> Seen {
        Seen {
            release: Some(("default".to_owned(), "web".to_owned())),
            verdict,
            fields: Some(fields.to_owned()),
            version: 1,
        }
    }

    fn facts(objects: &Objects, inventory: &[InventoryEntry]) -> ObjectFacts {
        objects.facts(&Place::Here, inventory, &HashMap::new(), |_| Child::None)
    }

    #[test]
    fn nothing_is_known_before_a_listing_ends() {
        let mut objects = Objects::default();
        assert!(facts(&objects, &[entry("a", None)]).are_unknown);
        objects.begin(&Place::Here, &kind());
        objects.listed(
            &Place::Here,
            &kind(),
            name("a"),
            seen(Verdict::Healthy, "1"),
        );
        assert!(facts(&objects, &[entry("a", None)]).are_unknown);
        assert_eq!(objects.end(&Place::Here, &kind()).len(), 1);
        let facts = facts(&objects, &[entry("a", Some("1")), entry("b", None)]);
        assert!(!facts.are_unknown);
        assert_eq!(facts.drifted, ["ConfigMap default/b is gone"]);
        assert_eq!(facts.unhealthy.len(), 1);
    }

    #[test]
    fn changes_wake_the_release_once_and_what_changes_nothing_does_not() {
        let mut objects = Objects::default();
        let here = Place::Here;
        let woken = objects.applied(&here, &kind(), name("a"), seen(Verdict::Healthy, "1"));
        assert_eq!(woken.len(), 1);
        let woken = objects.applied(&here, &kind(), name("a"), seen(Verdict::Healthy, "1"));
        assert!(woken.is_empty());
        let woken = objects.applied(&here, &kind(), name("a"), seen(Verdict::Healthy, "2"));
        assert_eq!(woken.len(), 1);
        let drifted = facts(&objects, &[entry("a", Some("1"))]).drifted;
        assert_eq!(drifted, ["ConfigMap default/a was changed"]);
        assert_eq!(objects.deleted(&here, &kind(), &name("a")).len(), 1);
    }

    #[test]
    fn what_was_seen_before_it_was_applied_says_nothing() {
        let mut objects = Objects::default();
        let entry = entry("a", Some("2"));
        let applied = HashMap::from([(entry.clone(), 7)]);
        let inventory = [entry];
        objects.end(&Place::Here, &kind());
        let look =
            |objects: &Objects| objects.facts(&Place::Here, &inventory, &applied, |_| Child::None);
        assert!(look(&objects).are_unknown);
        let mut old = seen(Verdict::Healthy, "1");
        objects.applied(&Place::Here, &kind(), name("a"), old.clone());
        assert!(look(&objects).are_unknown);
        old.version = 7;
        old.fields = Some("2".to_owned());
        objects.applied(&Place::Here, &kind(), name("a"), old);
        let facts = look(&objects);
        assert!(!facts.are_unknown && facts.drifted.is_empty());
    }

    #[test]
    fn an_object_without_a_recorded_digest_has_no_drift() {
        let mut objects = Objects::default();
        objects.applied(
            &Place::Here,
            &kind(),
            name("a"),
            seen(Verdict::Healthy, "2"),
        );
        assert!(facts(&objects, &[entry("a", None)]).drifted.is_empty());
    }
}
