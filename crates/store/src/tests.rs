//! Tests of the store through its public API, and their shared helpers.

mod basics;
mod damage;
mod exact;
mod full_disk;
mod model;
mod power_loss;
mod simulated;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

pub(crate) fn pods() -> Resource {
    Resource::new("", "pods").unwrap()
}

pub(crate) fn pod(name: &str) -> Key {
    pods().key("default", name).unwrap()
}

/// An object with `content` in it.
pub(crate) fn encoded(content: &str) -> EncodedObject {
    EncodedObject::new(
        &json!({"kind": "Pod", "metadata": {"uid": "u"}, "spec": {"content": content}}),
    )
    .unwrap()
}

pub(crate) fn content(object: &Object) -> String {
    let value: serde_json::Value = serde_json::from_slice(object.bytes()).unwrap();
    assert_eq!(
        value["metadata"]["resourceVersion"],
        json!(object.revision().to_string())
    );
    value["spec"]["content"].as_str().unwrap().to_owned()
}

/// Creates or replaces an object.
pub(crate) async fn put(store: &Store, name: &str, text: &str) -> u64 {
    let transaction = match store.get(&pod(name)) {
        None => Transaction::create(pod(name), encoded(text)),
        Some(_) => Transaction::replace(pod(name), encoded(text), Precondition::exists()),
    };
    store.write(transaction).await.unwrap().results[0].revision()
}

/// Name and content of all pods.
pub(crate) fn contents(snapshot: &Snapshot) -> Vec<(String, String)> {
    snapshot
        .list(&Scope::resource(&pods()))
        .map(|object| (object.key().name().to_owned(), content(object)))
        .collect()
}

pub(crate) fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

/// A clock that tests advance.
#[derive(Debug)]
pub(crate) struct TestClock(Mutex<Instant>);

impl TestClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Instant::now())))
    }

    pub(crate) fn advance(&self, time: Duration) {
        *self.0.lock().unwrap() += time;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }
}
