//! The graph of owners, fed by a store.

use outrigger_builtin::kinds::Registry;
use outrigger_store::{EncodedObject, Options, Precondition, Resource, Transaction};
use serde_json::{Value, json};

use super::decide::{Facts, Owner};
use super::*;

/// Objects in a store in memory and the graph of their owners.
struct Fixture {
    store: Store,
    graph: Graph,
    watcher: Watcher,
    observer: Observer,
}

fn key(plural: &str, name: &str) -> Key {
    Resource::new("", plural).unwrap().key("n", name).unwrap()
}

fn owner(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": format!("u-{name}"), "blockOwnerDeletion": true})
}

impl Fixture {
    fn new() -> Self {
        let store = Store::open(Options::in_memory()).unwrap();
        let registry = Registry::default().snapshot();
        let kinds: ServedKinds = Arc::new(move || Arc::clone(&registry));
        Self {
            watcher: store.watch(Scope::everything(), store.revision()).unwrap(),
            observer: Observer::new(store.clone(), kinds),
            graph: Graph::default(),
            store,
        }
    }

    /// Writes an object; returns the names of what is affected.
    async fn put(&mut self, plural: &str, name: &str, metadata: Value) -> Vec<String> {
        let mut object =
            json!({"metadata": {"name": name, "namespace": "n", "uid": format!("u-{name}")}});
        for (field, value) in metadata.as_object().unwrap() {
            object["metadata"][field] = value.clone();
        }
        let encoded = EncodedObject::new(&object).unwrap();
        let key = key(plural, name);
        let transaction = match self.store.get(&key) {
            Some(_) => Transaction::replace(key, encoded, Precondition::exists()),
            None => Transaction::create(key, encoded),
        };
        self.store.write(transaction).await.unwrap();
        self.affected().await
    }

    async fn remove(&mut self, plural: &str, name: &str) -> Vec<String> {
        let transaction = Transaction::delete(key(plural, name), Precondition::exists());
        self.store.write(transaction).await.unwrap();
        self.affected().await
    }

    async fn affected(&mut self) -> Vec<String> {
        let event = self.watcher.next().await.unwrap();
        let affected = self.graph.apply(&event);
        let owners = affected
            .owners
            .iter()
            .filter_map(|(owner, namespace)| self.observer.owner_key(owner, namespace));
        let mut names: Vec<String> = affected
            .objects
            .iter()
            .cloned()
            .chain(owners)
            .map(|key| key.name().to_owned())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn facts(&self, plural: &str, name: &str) -> Facts {
        match self.observer.look(&key(plural, name), &self.graph) {
            Seen::Facts(facts) => facts,
            other => panic!("{other:?}"),
        }
    }

    fn owners(&self, plural: &str, name: &str) -> Vec<Owner> {
        self.facts(plural, name)
            .owners
            .into_iter()
            .map(|(_, owner)| owner)
            .collect()
    }
}

#[tokio::test]
async fn an_owner_that_goes_affects_its_dependents() {
    let mut fixture = Fixture::new();
    assert!(fixture.put("configmaps", "a", json!({})).await.is_empty());
    let references = json!({"ownerReferences": [owner("ConfigMap", "a")]});
    assert_eq!(fixture.put("secrets", "b", references).await, ["b"]);
    assert_eq!(fixture.owners("secrets", "b"), [Owner::Solid]);
    assert_eq!(fixture.facts("configmaps", "a").dependents.len(), 1);
    assert_eq!(fixture.remove("configmaps", "a").await, ["b"]);
    assert_eq!(fixture.owners("secrets", "b"), [Owner::Absent]);
}

#[tokio::test]
async fn a_later_object_of_the_same_name_is_no_owner() {
    let mut fixture = Fixture::new();
    fixture
        .put("configmaps", "a", json!({"uid": "another"}))
        .await;
    fixture
        .put(
            "secrets",
            "b",
            json!({"ownerReferences": [owner("ConfigMap", "a")]}),
        )
        .await;
    assert_eq!(fixture.owners("secrets", "b"), [Owner::Absent]);
}

#[tokio::test]
async fn an_owner_in_another_namespace_counts_as_absent() {
    let mut fixture = Fixture::new();
    let elsewhere = Resource::new("", "configmaps")
        .unwrap()
        .key("other", "a")
        .unwrap();
    let object = json!({"metadata": {"name": "a", "namespace": "other", "uid": "u-a"}});
    fixture
        .store
        .write(Transaction::create(
            elsewhere,
            EncodedObject::new(&object).unwrap(),
        ))
        .await
        .unwrap();
    fixture.affected().await;
    fixture
        .put(
            "secrets",
            "b",
            json!({"ownerReferences": [owner("ConfigMap", "a")]}),
        )
        .await;
    assert_eq!(fixture.owners("secrets", "b"), [Owner::Absent]);
}

#[tokio::test]
async fn an_owner_that_waits_is_looked_at_when_a_dependent_goes() {
    let mut fixture = Fixture::new();
    fixture.put("configmaps", "a", json!({})).await;
    fixture
        .put(
            "secrets",
            "b",
            json!({"ownerReferences": [owner("ConfigMap", "a")]}),
        )
        .await;
    let waiting =
        json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]});
    assert_eq!(fixture.put("configmaps", "a", waiting).await, ["a", "b"]);
    assert_eq!(fixture.owners("secrets", "b"), [Owner::Waiting]);
    assert_eq!(fixture.remove("secrets", "b").await, ["a"]);
    assert!(fixture.facts("configmaps", "a").dependents.is_empty());
}

#[tokio::test]
async fn an_owner_of_an_unknown_kind_keeps_its_dependents() {
    let mut fixture = Fixture::new();
    fixture
        .put(
            "secrets",
            "b",
            json!({"ownerReferences": [owner("Unheard", "a")]}),
        )
        .await;
    assert_eq!(
        fixture.observer.look(&key("secrets", "b"), &fixture.graph),
        Seen::Unresolved
    );
    fixture
        .put(
            "events",
            "e",
            json!({"ownerReferences": [owner("ConfigMap", "a")]}),
        )
        .await;
    assert_eq!(
        fixture.observer.look(&key("events", "e"), &fixture.graph),
        Seen::Nothing
    );
}
