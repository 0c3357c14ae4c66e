//! The limits of the event history.

use std::time::{Duration, Instant};

use serde_json::json;

use super::*;
use crate::Store;
use crate::{EncodedObject, Options, Transaction};

/// Events of objects of `size` bytes, made by a real store: `names` are created in order.
async fn events(names: &[&str], size: usize) -> Vec<Arc<Event>> {
    let store = Store::open(Options::in_memory()).unwrap();
    let mut watcher = store.watch(Scope::everything(), store.revision()).unwrap();
    for name in names {
        let (resource, name) = name.split_once('/').unwrap();
        let resource = Resource::new("", resource).unwrap();
        let encoded =
            EncodedObject::new(&json!({"metadata": {}, "data": "x".repeat(size)})).unwrap();
        let key = resource.key("default", name).unwrap();
        store
            .write(Transaction::create(key, encoded))
            .await
            .unwrap();
    }
    let mut events = Vec::new();
    for _ in names {
        events.push(watcher.next().await.unwrap());
    }
    events
}

fn history(events: usize, age: u64, bytes: usize) -> History {
    let options = HistoryOptions {
        events,
        age: Duration::from_secs(age),
        bytes,
    };
    History::new(options, 1)
}

fn scope(resource: &str) -> Scope {
    Scope::resource(&Resource::new("", resource).unwrap())
}

#[tokio::test]
async fn drops_old_events_beyond_the_minimum() {
    let events = events(&["pods/a", "pods/b", "pods/c", "pods/d", "pods/e"], 10).await;
    let mut history = history(2, 60, usize::MAX);
    let start = Instant::now();
    let mut append = |number: usize, second: u64| {
        let event = std::slice::from_ref(&events[number]);
        history.append(event, start + Duration::from_secs(second));
        history.compacted()
    };
    assert_eq!((append(0, 0), append(1, 10), append(2, 20)), (1, 1, 1));
    assert_eq!(
        append(3, 71),
        3,
        "two are over a minute old and more than enough"
    );
    assert_eq!(append(4, 1000), 4, "two are kept however old they are");
    assert_eq!(history.all().after(4).count(), 2);
    assert!(!history.all().reaches_back_to(3));
    assert!(history.all().reaches_back_to(4));
}

#[tokio::test]
async fn a_resource_expires_only_with_its_own_events() {
    let events = events(&["pods/a", "secrets/a", "pods/b", "pods/c"], 10).await;
    let mut history = history(1, 0, usize::MAX);
    let start = Instant::now();
    for (second, event) in (0..).zip(&events) {
        let event = std::slice::from_ref(event);
        history.append(event, start + Duration::from_secs(second));
    }
    assert_eq!(history.compacted(), 4);
    let reaches = |resource, revision| {
        let log = history.log(&scope(resource)).unwrap();
        log.reaches_back_to(revision)
    };
    assert!(!reaches("pods", 3) && reaches("pods", 4));
    assert!(!reaches("secrets", 2) && reaches("secrets", 3));
    assert!(history.log(&scope("nodes")).is_none());
}

#[tokio::test]
async fn the_byte_limit_overrides_the_other_limits() {
    let names: Vec<String> = (0..10).map(|number| format!("pods/{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let created = events(&names, 1000).await;
    let modified: Vec<_> = created
        .iter()
        .map(|event| {
            let object = Arc::clone(event.object());
            let old = Arc::clone(&object);
            Arc::new(Event::Modified { old, object })
        })
        .collect();
    let now = Instant::now();
    let mut history = history(1000, 1000, 3500);
    history.append(&created, now);
    assert_eq!(
        history.compacted(),
        1,
        "live versions cost the history nothing"
    );
    for event in &modified {
        history.append(std::slice::from_ref(event), now);
        assert!(history.weight <= 3500);
    }
    assert!(history.compacted() > 1);
    history.append(&modified, now);
    assert_eq!(
        history.all().after(0).count(),
        10,
        "the last commit stays whole"
    );
}
