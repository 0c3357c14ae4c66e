//! Disk failures at runtime: writes fail with a typed error, everything else still works.

use super::simulated::{Faults, SimulatedDisk, random};
use super::*;

const FULL: Faults = Faults {
    full: true,
    broken: false,
    lying_sync: false,
};

const BROKEN: Faults = Faults {
    full: false,
    broken: true,
    lying_sync: false,
};

const LYING: Faults = Faults {
    full: false,
    broken: false,
    lying_sync: true,
};

/// A store with `kept` and `doomed` on a disk.
async fn filled() -> (SimulatedDisk, Store) {
    let disk = SimulatedDisk::with_store();
    let store = disk.open().unwrap();
    put(&store, "doomed", "1").await;
    put(&store, "kept", "1").await;
    (disk, store)
}

/// A create, a replacement and a deletion, one after the other; how each failed.
async fn failures(store: &Store) -> Vec<Arc<StorageError>> {
    let transactions = [
        Transaction::create(pod("new"), encoded(&"x".repeat(20_000))),
        Transaction::replace(
            pod("kept"),
            encoded(&"x".repeat(20_000)),
            Precondition::exists(),
        ),
        Transaction::delete(pod("doomed"), Precondition::exists()),
    ];
    let mut failures = Vec::new();
    for transaction in transactions {
        match store.write(transaction).await {
            Err(WriteError::Storage(error)) => failures.push(error),
            other => panic!("{other:?}"),
        }
    }
    failures
}

fn untouched() -> Vec<(String, String)> {
    pairs(&[("doomed", "1"), ("kept", "1")])
}

#[tokio::test]
async fn rejects_writes_while_the_disk_is_full() {
    let (disk, store) = filled().await;
    let before = store.revision();
    let mut watcher = store.watch(Scope::everything(), before).unwrap();
    disk.set(FULL);
    let create = || Transaction::create(pod("new"), encoded(&"x".repeat(3_000_000)));
    for _ in 0..3 {
        let error = store.write(create()).await.unwrap_err();
        assert!(
            matches!(&error, WriteError::Storage(error) if matches!(**error, StorageError::Full { .. })),
            "{error:?}"
        );
    }
    assert_eq!(contents(&store.snapshot()), untouched());
    assert_eq!(store.revision(), before);

    disk.set(Faults::default());
    let revision = store.write(create()).await.unwrap().results[0].revision();
    assert!(revision > before);
    let event = watcher.next().await.unwrap();
    assert_eq!(event.revision(), revision, "the failed ones are not seen");
    store.close().await;
    let reopened = disk.open().unwrap();
    assert_eq!(contents(&reopened.snapshot()), contents(&store.snapshot()));
    assert_eq!(reopened.revision(), revision);
}

/// A full disk with 200 objects on it.
async fn full() -> (SimulatedDisk, Store) {
    let disk = SimulatedDisk::with_store();
    let store = disk.open().unwrap();
    for number in 0..200 {
        put(&store, &format!("pod{number}"), &"x".repeat(5_000)).await;
    }
    disk.set(FULL);
    (disk, store)
}

fn is_full(result: &Result<Committed, WriteError>) -> bool {
    matches!(result, Err(WriteError::Storage(error)) if matches!(**error, StorageError::Full { .. }))
}

/// Replaces an object by one that is being deleted.
fn mark(name: &str, content: &str) -> Transaction {
    let object = json!({
        "kind": "Pod", "spec": {"content": content},
        "metadata": {"uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]},
    });
    let encoded = EncodedObject::new(&object).unwrap();
    Transaction::replace(pod(name), encoded, Precondition::exists())
}

#[tokio::test]
async fn objects_can_be_deleted_while_the_disk_is_full() {
    let (disk, store) = full().await;
    let create = || Transaction::create(pod("new"), encoded(&"x".repeat(3_000_000)));
    assert!(is_full(&store.write(create()).await));
    for number in 0..200 {
        let name = format!("pod{number}");
        store.write(mark(&name, &"x".repeat(5_000))).await.unwrap();
        let delete = Transaction::delete(pod(&name), Precondition::exists());
        store.write(delete).await.unwrap();
    }
    assert!(contents(&store.snapshot()).is_empty());
    assert!(is_full(&store.write(create()).await));
    disk.set(Faults::default());
    store.write(create()).await.unwrap();
    store.close().await;
    assert_eq!(contents(&disk.open().unwrap().snapshot()).len(), 1);
}

#[tokio::test]
async fn space_of_deleted_objects_is_returned_to_a_full_disk() {
    let disk = SimulatedDisk::with_store();
    let store = disk.open().unwrap();
    for number in 0..30 {
        put(&store, &format!("pod{number}"), &"x".repeat(600_000)).await;
    }
    store.close().await;
    // The disk has no room for the reserve, and most of the file will be free.
    disk.fill(1 << 20);
    let store = disk.open().unwrap();
    let create = || Transaction::create(pod("new"), encoded("1"));
    assert!(is_full(&store.write(create()).await));
    for number in 0..30 {
        let delete = Transaction::delete(pod(&format!("pod{number}")), Precondition::exists());
        store.write(delete).await.unwrap();
    }
    store.write(create()).await.unwrap();
    store.close().await;
    assert_eq!(contents(&disk.open().unwrap().snapshot()).len(), 1);
}

#[tokio::test]
async fn what_the_reserve_left_is_not_for_new_objects() {
    let (disk, store) = full().await;
    let large = Transaction::create(pod("large"), encoded(&"x".repeat(3_000_000)));
    assert!(is_full(&store.write(large).await));
    let delete = Transaction::delete(pod("pod1"), Precondition::exists());
    store.write(delete).await.unwrap();
    let small = || Transaction::create(pod("small"), encoded("1"));
    assert!(is_full(&store.write(small()).await));
    let replace =
        |content: &str| Transaction::replace(pod("pod2"), encoded(content), Precondition::exists());
    assert!(is_full(&store.write(replace(&"y".repeat(5_000))).await));
    store.write(replace(&"y".repeat(4_900))).await.unwrap();
    let grown = "x".repeat(20_000);
    assert!(is_full(&store.write(mark("pod2", &grown)).await));
    disk.set(Faults::default());
    store.write(small()).await.unwrap();
    store.write(mark("pod2", &grown)).await.unwrap();
}

#[tokio::test]
async fn deletions_succeed_although_the_other_writes_of_their_batch_do_not_fit() {
    let (_disk, store) = full().await;
    let mut writes = Vec::new();
    for number in 0..50 {
        let create = Transaction::create(
            pod(&format!("new{number}")),
            encoded(&"x".repeat(1_000_000)),
        );
        let delete = Transaction::delete(pod(&format!("pod{number}")), Precondition::exists());
        writes.extend([(true, create), (false, delete)]);
    }
    let writes = writes.into_iter().map(|(fails, transaction)| {
        let store = store.clone();
        tokio::spawn(async move { (fails, store.write(transaction).await) })
    });
    for write in writes.collect::<Vec<_>>() {
        let (fails, result) = write.await.unwrap();
        assert_eq!(result.is_err(), fails, "{result:?}");
    }
    assert_eq!(contents(&store.snapshot()).len(), 150);
}

#[tokio::test]
async fn a_store_on_a_full_disk_opens_and_deletes() {
    let (disk, store) = full().await;
    let expected = contents(&store.snapshot());
    store.close().await;
    for (number, expected) in expected.iter().enumerate().take(3) {
        let store = disk.open().unwrap();
        assert_eq!(contents(&store.snapshot()).len(), 200 - number);
        let delete = Transaction::delete(pod(&expected.0), Precondition::exists());
        store.write(delete).await.unwrap();
        store.close().await;
    }
}

#[tokio::test]
async fn accepts_small_writes_when_a_large_one_does_not_fit() {
    let (disk, store) = filled().await;
    disk.set(FULL);
    let large = Transaction::create(pod("new"), encoded(&"x".repeat(3_000_000)));
    assert!(store.write(large).await.is_err());
    let mut written = 0;
    for number in 0..20 {
        let small = Transaction::create(pod(&format!("small{number}")), encoded("1"));
        written += usize::from(store.write(small).await.is_ok());
    }
    assert_eq!(contents(&store.snapshot()).len(), 2 + written);
    disk.set(Faults::default());
    store.close().await;
    let reopened = disk.open().unwrap();
    assert_eq!(contents(&reopened.snapshot()), contents(&store.snapshot()));
}

#[tokio::test]
async fn survives_disk_errors() {
    let (disk, store) = filled().await;
    disk.set(BROKEN);
    for error in failures(&store).await {
        assert!(matches!(*error, StorageError::Failed { .. }));
    }
    assert_eq!(contents(&store.snapshot()), untouched());
    disk.set(Faults::default());
    put(&store, "after", "1").await;
    store.close().await;
    let expected = pairs(&[("after", "1"), ("doomed", "1"), ("kept", "1")]);
    assert_eq!(contents(&disk.open().unwrap().snapshot()), expected);
}

#[tokio::test]
async fn the_next_commit_overwrites_what_a_failed_one_wrote() {
    let (disk, store) = filled().await;
    let before = store.revision();
    disk.set(LYING);
    failures(&store).await;
    assert_eq!(contents(&store.snapshot()), untouched());
    disk.set(Faults::default());
    let revision = put(&store, "after", "1").await;
    assert!(
        revision > before + 1,
        "revisions of failed writes are not used again"
    );
    store.close().await;
    let reopened = disk.open().unwrap();
    let expected = pairs(&[("after", "1"), ("doomed", "1"), ("kept", "1")]);
    assert_eq!(contents(&reopened.snapshot()), expected);
    assert_eq!(reopened.revision(), revision);
}

#[tokio::test]
async fn a_failed_write_can_reappear_only_after_a_crash_at_a_later_revision() {
    let (disk, store) = filled().await;
    let before = store.revision();
    disk.set(LYING);
    let failed = Transaction::create(pod("new"), encoded("1"));
    assert!(store.write(failed).await.is_err());
    disk.cut_power(random(1));
    disk.set(Faults::default());
    let reopened = disk.open().unwrap();
    assert!(
        reopened
            .get(&pod("new"))
            .is_none_or(|object| object.revision() > before)
    );
    assert!(put(&reopened, "after", "1").await > reopened.compacted_revision());
    store.close().await;
}

#[tokio::test]
async fn a_conflict_with_a_failed_write_is_reported_as_a_storage_error() {
    let (disk, store) = filled().await;
    disk.set(BROKEN);
    let write = |name: &'static str| {
        let store = store.clone();
        tokio::spawn(async move {
            store
                .write(Transaction::create(pod(name), encoded("1")))
                .await
        })
    };
    let results = [write("same"), write("same"), write("same")];
    for result in results {
        assert!(matches!(result.await.unwrap(), Err(WriteError::Storage(_))));
    }
}
