//! The graph and the observer over a store.

use outrigger_builtin::kinds::Registry;
use outrigger_store::{EncodedObject, Options, Precondition, Resource, Transaction};
use serde_json::{Value, json};

use super::decide::{ObservedObject, Owner};
use super::*;

/// A store in memory and the graph of its owner references.
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

    /// Writes an object; returns the names of the affected objects.
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

    /// Writes the Secret `b` with an owner.
    async fn put_dependent(&mut self, owner: Value) -> Vec<String> {
        let metadata = json!({"ownerReferences": [owner]});
        self.put("secrets", "b", metadata).await
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

    fn observed(&self, plural: &str, name: &str) -> ObservedObject {
        match self.observer.observe(&key(plural, name), &self.graph) {
            Observation::Object(observed) => observed,
            other => panic!("{other:?}"),
        }
    }

    fn owners(&self, plural: &str, name: &str) -> Vec<Owner> {
        self.observed(plural, name)
            .owners
            .into_iter()
            .map(|(_, owner)| owner)
            .collect()
    }
}

#[tokio::test]
async fn a_deleted_owner_affects_its_dependents() {
    let mut fixture = Fixture::new();
    assert!(fixture.put("configmaps", "a", json!({})).await.is_empty());
    let references = json!({"ownerReferences": [owner("ConfigMap", "a")]});
    assert_eq!(fixture.put("secrets", "b", references).await, ["b"]);
    assert_eq!(fixture.owners("secrets", "b"), [Owner::Solid]);
    assert_eq!(fixture.observed("configmaps", "a").dependents.len(), 1);
    assert_eq!(fixture.remove("configmaps", "a").await, ["b"]);
    assert_eq!(fixture.owners("secrets", "b"), [Owner::Dangling]);
}

#[tokio::test]
async fn a_recreated_owner_is_dangling() {
    let mut fixture = Fixture::new();
    fixture
        .put("configmaps", "a", json!({"uid": "another"}))
        .await;
    fixture.put_dependent(owner("ConfigMap", "a")).await;
    assert_eq!(fixture.owners("secrets", "b"), [Owner::Dangling]);
}

#[tokio::test]
async fn an_owner_in_another_namespace_is_dangling() {
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
    fixture.put_dependent(owner("ConfigMap", "a")).await;
    assert_eq!(fixture.owners("secrets", "b"), [Owner::Dangling]);
}

#[tokio::test]
async fn a_waiting_owner_is_processed_when_a_dependent_is_deleted() {
    let mut fixture = Fixture::new();
    fixture.put("configmaps", "a", json!({})).await;
    fixture.put_dependent(owner("ConfigMap", "a")).await;
    let waiting =
        json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]});
    assert_eq!(fixture.put("configmaps", "a", waiting).await, ["a", "b"]);
    assert_eq!(
        fixture.owners("secrets", "b"),
        [Owner::WaitingForDependents]
    );
    assert_eq!(fixture.remove("secrets", "b").await, ["a"]);
    assert!(fixture.observed("configmaps", "a").dependents.is_empty());
}

#[tokio::test]
async fn an_owner_of_an_unknown_kind_is_unresolved() {
    let mut fixture = Fixture::new();
    fixture.put_dependent(owner("Unknown", "a")).await;
    assert_eq!(
        fixture
            .observer
            .observe(&key("secrets", "b"), &fixture.graph),
        Observation::Unresolved
    );
    fixture
        .put(
            "events",
            "e",
            json!({"ownerReferences": [owner("ConfigMap", "a")]}),
        )
        .await;
    assert_eq!(
        fixture
            .observer
            .observe(&key("events", "e"), &fixture.graph),
        Observation::Skip
    );
}
