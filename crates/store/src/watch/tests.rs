//! Watchers of a store in memory.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::tests::{TestClock, content, pod, pods, put};
use crate::{Options, Precondition, Resource, Scope, Store, Transaction};

/// An event as text: `+a 1`, `~a 1 2`, `-a 2`.
fn line(event: &Event) -> String {
    let name = event.key().name();
    let now = content(event.object());
    match event {
        Event::Added { .. } => format!("+{name} {now}"),
        Event::Modified { old, .. } => format!("~{name} {} {now}", content(old)),
        Event::Deleted { .. } => format!("-{name} {now}"),
    }
}

async fn remove(store: &Store, name: &str) -> u64 {
    let transaction = Transaction::delete(pod(name), Precondition::exists());
    store.write(transaction).await.unwrap().results[0].revision()
}

async fn lines(watcher: &mut Watcher, count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for _ in 0..count {
        lines.push(line(&watcher.next().await.unwrap()));
    }
    lines
}

fn small_history(events: usize, clock: &Arc<TestClock>) -> Options {
    Options {
        history: HistoryOptions {
            events,
            age: Duration::ZERO,
            ..HistoryOptions::default()
        },
        clock: Arc::clone(clock) as _,
        ..Options::in_memory()
    }
}

#[tokio::test]
async fn a_watch_returns_all_events_after_its_revision() {
    let store = Store::open(Options::in_memory()).unwrap();
    put(&store, "a", "1").await;
    let from = store.revision();
    let mut early = store.watch(Scope::resource(&pods()), from).unwrap();
    put(&store, "b", "1").await;
    put(&store, "a", "2").await;
    let revision = remove(&store, "a").await;
    let mut late = store.watch(Scope::resource(&pods()), from).unwrap();
    let expected = ["+b 1", "~a 1 2", "-a 2"];
    assert_eq!(lines(&mut early, 3).await, expected);
    assert_eq!(lines(&mut late, 3).await, expected);
    assert_eq!(late.progress(), Ok(revision));
    assert_eq!(late.ready().unwrap().map(|event| event.revision()), None);
}

#[tokio::test]
async fn a_narrower_watch_makes_the_same_progress() {
    let store = Store::open(Options::in_memory()).unwrap();
    let from = store.revision();
    let secrets = Resource::new("", "secrets").unwrap();
    let mut none = store.watch(Scope::resource(&secrets), from).unwrap();
    let mut one = store
        .watch(Scope::resource(&pods()).named("b"), from)
        .unwrap();
    let mut other = store
        .watch(Scope::namespace(&pods(), "other").unwrap(), from)
        .unwrap();
    let mut all = store.watch(Scope::everything(), from).unwrap();
    for name in ["a", "b", "c"] {
        put(&store, name, "1").await;
    }
    let last = store.revision();
    assert_eq!((none.progress(), other.progress()), (Ok(last), Ok(last)));
    assert_eq!(
        one.progress(),
        Ok(from + 1),
        "the event of b is not handed out"
    );
    assert_eq!(lines(&mut one, 1).await, ["+b 1"]);
    assert_eq!(one.progress(), Ok(last));
    assert_eq!(lines(&mut all, 3).await, ["+a 1", "+b 1", "+c 1"]);
}

#[tokio::test]
async fn a_watch_waits_for_new_events() {
    let store = Store::open(Options::in_memory()).unwrap();
    let mut watcher = store
        .watch(Scope::resource(&pods()), store.revision())
        .unwrap();
    let wait = tokio::time::timeout(Duration::from_millis(20), watcher.next()).await;
    assert!(wait.is_err(), "nothing happened");
    let task = tokio::spawn(async move { line(&watcher.next().await.unwrap()) });
    tokio::task::yield_now().await;
    put(&store, "a", "1").await;
    assert_eq!(task.await.unwrap(), "+a 1");
}

#[tokio::test]
async fn a_watch_at_a_future_revision_begins_there() {
    let store = Store::open(Options::in_memory()).unwrap();
    let mut watcher = store
        .watch(Scope::resource(&pods()), store.revision() + 2)
        .unwrap();
    for name in ["a", "b", "c"] {
        put(&store, name, "1").await;
    }
    assert_eq!(lines(&mut watcher, 1).await, ["+c 1"]);
}

#[tokio::test]
async fn ends_a_watcher_that_falls_behind() {
    let clock = TestClock::new();
    let store = Store::open(small_history(10, &clock)).unwrap();
    let from = store.revision();
    let mut slow = store.watch(Scope::resource(&pods()), from).unwrap();
    let secrets = Resource::new("", "secrets").unwrap();
    let mut idle = store.watch(Scope::resource(&secrets), from).unwrap();
    for number in 0..100 {
        clock.advance(Duration::from_secs(1));
        put(&store, "a", &number.to_string()).await;
    }
    assert_eq!(slow.next().await.unwrap_err(), WatchEnd::Overflow);
    assert_eq!(slow.next().await.unwrap_err(), WatchEnd::Overflow);
    assert_eq!(
        idle.progress(),
        Ok(store.revision()),
        "nothing of it was missed"
    );
    let expired = store.watch(Scope::resource(&pods()), from).unwrap_err();
    assert_eq!(
        (expired.revision, expired.compacted),
        (from, store.revision() - 10)
    );
    let mut again = store
        .watch(Scope::resource(&pods()), expired.compacted)
        .unwrap();
    assert_eq!(lines(&mut again, 10).await.last().unwrap(), "~a 98 99");
}

#[tokio::test]
async fn close_ends_watches_after_the_last_event() {
    let store = Store::open(Options::in_memory()).unwrap();
    let mut watcher = store
        .watch(Scope::resource(&pods()), store.revision())
        .unwrap();
    let mut waiting = store
        .watch(Scope::everything(), store.revision() + 10)
        .unwrap();
    let waiting = tokio::spawn(async move { waiting.next().await });
    put(&store, "a", "1").await;
    store.close().await;
    assert_eq!(lines(&mut watcher, 1).await, ["+a 1"]);
    assert_eq!(watcher.next().await.unwrap_err(), WatchEnd::Closed);
    assert_eq!(waiting.await.unwrap().unwrap_err(), WatchEnd::Closed);
}

#[tokio::test]
async fn a_watcher_can_read_the_object_of_an_event() {
    let store = Store::open(Options::in_memory()).unwrap();
    let mut watcher = store
        .watch(Scope::resource(&pods()), store.revision())
        .unwrap();
    let reader = store.clone();
    let task = tokio::spawn(async move {
        for _ in 0..200 {
            let event = watcher.next().await.unwrap();
            assert!(reader.revision() >= event.revision());
            assert!(reader.get(event.key()).unwrap().revision() >= event.revision());
        }
    });
    for number in 0..200 {
        put(&store, &format!("p{}", number % 7), "1").await;
    }
    task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_watchers_see_the_same_events_in_the_same_order() {
    let store = Store::open(Options::in_memory()).unwrap();
    let from = store.revision();
    let watchers: Vec<_> = (0..200)
        .map(|_| {
            let mut watcher = store.watch(Scope::resource(&pods()), from).unwrap();
            tokio::spawn(async move {
                let mut revisions = Vec::new();
                for _ in 0..300 {
                    revisions.push(watcher.next().await.unwrap().revision());
                }
                revisions
            })
        })
        .collect();
    let writers: Vec<_> = (0..10)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 0..30 {
                    put(&store, &format!("p{writer}-{number}"), "1").await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    for watcher in watchers {
        assert_eq!(
            watcher.await.unwrap(),
            (from + 1..=from + 300).collect::<Vec<_>>()
        );
    }
}
