//! Reads, writes, conflicts, close and reopen.

use super::*;

#[tokio::test]
async fn a_write_is_visible_once_it_is_acknowledged() {
    let store = Store::open(Options::in_memory()).unwrap();
    let start = store.revision();
    let written = store
        .write(Transaction::create(pod("a"), encoded("1")))
        .await
        .unwrap();
    let object = written.first().unwrap();
    assert_eq!(object.revision(), start + 1);
    assert_eq!(store.revision(), start + 1);
    let found = store.get(&pod("a")).unwrap();
    assert!(Arc::ptr_eq(&found, object));
    assert_eq!(content(&found), "1");
}

#[tokio::test]
async fn a_snapshot_is_immutable() {
    let store = Store::open(Options::in_memory()).unwrap();
    put(&store, "a", "1").await;
    let snapshot = store.snapshot();
    put(&store, "a", "2").await;
    put(&store, "b", "1").await;
    assert_eq!(contents(&snapshot), pairs(&[("a", "1")]));
    assert_eq!(snapshot.revision() + 2, store.revision());
    assert_eq!(
        contents(&store.snapshot()),
        pairs(&[("a", "2"), ("b", "1")])
    );
}

#[tokio::test]
async fn errors_carry_the_current_object() {
    let store = Store::open(Options::in_memory()).unwrap();
    let revision = put(&store, "a", "1").await;
    let error = store
        .write(Transaction::create(pod("a"), encoded("2")))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, WriteError::AlreadyExists { existing, .. } if existing.revision() == revision)
    );
    let stale = Transaction::replace(pod("a"), encoded("2"), Precondition::revision(revision + 1));
    let error = store.write(stale).await.unwrap_err();
    assert!(
        matches!(&error, WriteError::Conflict { current, .. } if current.revision() == revision)
    );
    assert_eq!(
        error.to_string(),
        "//pods/default/a is at revision 2 and fails the precondition"
    );
    let error = store
        .write(Transaction::delete(pod("b"), Precondition::exists()))
        .await
        .unwrap_err();
    assert!(matches!(error, WriteError::NotFound { .. }));
    assert_eq!(store.revision(), revision);
}

#[tokio::test]
async fn lists_pages_in_key_order() {
    let store = Store::open(Options::in_memory()).unwrap();
    for name in ["c", "a", "d", "b"] {
        put(&store, name, name).await;
    }
    let snapshot = store.snapshot();
    let scope = Scope::namespace(&pods(), "default").unwrap();
    let first: Vec<_> = snapshot
        .list(&scope)
        .take(2)
        .map(|object| object.key().clone())
        .collect();
    assert_eq!(first, [pod("a"), pod("b")]);
    let rest: Vec<_> = snapshot
        .list_after(&scope, first.last())
        .map(|object| object.key().clone())
        .collect();
    assert_eq!(rest, [pod("c"), pod("d")]);
    assert_eq!(snapshot.resources().collect::<Vec<_>>(), [&pods()]);
    assert_eq!(snapshot.list(&Scope::everything()).count(), 4);
}

#[tokio::test]
async fn keeps_all_objects_across_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Options::in_folder(folder.path())).unwrap();
    for number in 0..200 {
        put(&store, &format!("p{number}"), "1").await;
    }
    put(&store, "p7", "changed").await;
    store
        .write(Transaction::delete(pod("p8"), Precondition::exists()))
        .await
        .unwrap();
    let before = store.snapshot();
    let created = store.get(&pod("p7")).unwrap().created_revision();
    store.close().await;

    let store = Store::open(Options::in_folder(folder.path())).unwrap();
    assert_eq!(store.revision(), before.revision());
    assert_eq!(contents(&store.snapshot()), contents(&before));
    let object = store.get(&pod("p7")).unwrap();
    assert_eq!(object.created_revision(), created);
    assert_eq!(object.metadata().uid(), "u");
    assert_eq!(put(&store, "new", "1").await, before.revision() + 1);
    store.close().await;
}

#[tokio::test]
async fn assigns_each_concurrent_writer_its_own_revision() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Options::in_folder(folder.path())).unwrap();
    let tasks: Vec<_> = (0..32)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut revisions = Vec::new();
                for number in 0..20 {
                    revisions.push(put(&store, &format!("p{task}-{number}"), "1").await);
                }
                revisions
            })
        })
        .collect();
    let mut revisions = Vec::new();
    for task in tasks {
        let of_task = task.await.unwrap();
        assert!(of_task.is_sorted());
        revisions.extend(of_task);
    }
    revisions.sort_unstable();
    assert_eq!(revisions, (2..642).collect::<Vec<_>>());
    store.close().await;
}

#[tokio::test]
async fn a_closed_store_serves_reads_and_rejects_writes() {
    let store = Store::open(Options::in_memory()).unwrap();
    put(&store, "a", "1").await;
    store.close().await;
    store.close().await;
    let error = store
        .write(Transaction::create(pod("b"), encoded("1")))
        .await
        .unwrap_err();
    assert!(matches!(error, WriteError::Closed));
    assert!(store.get(&pod("a")).is_some());
}

#[tokio::test]
async fn close_commits_queued_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Options::in_folder(folder.path())).unwrap();
    let writes: Vec<_> = (0..50)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { put(&store, &format!("p{number}"), "1").await })
        })
        .collect();
    tokio::task::yield_now().await;
    store.close().await;
    for write in writes {
        write.await.unwrap();
    }
    drop(store);
    let store = Store::open(Options::in_folder(folder.path())).unwrap();
    assert_eq!(contents(&store.snapshot()).len(), 50);
}

#[tokio::test]
async fn a_transaction_is_atomic() {
    let store = Store::open(Options::in_memory()).unwrap();
    let revision = put(&store, "a", "1").await;
    let operations = vec![
        Operation::Create {
            key: pod("b"),
            encoded: encoded("1"),
        },
        Operation::Delete {
            key: pod("missing"),
            precondition: Precondition::exists(),
        },
    ];
    assert!(store.write(Transaction::new(operations)).await.is_err());
    assert_eq!(contents(&store.snapshot()), pairs(&[("a", "1")]));
    let operations = vec![
        Operation::Require {
            key: pod("a"),
            precondition: Precondition::revision(revision),
        },
        Operation::Create {
            key: pod("b"),
            encoded: encoded("1"),
        },
        Operation::Delete {
            key: pod("a"),
            precondition: Precondition::exists(),
        },
    ];
    let written = store.write(Transaction::new(operations)).await.unwrap();
    let revisions: Vec<_> = written
        .results
        .iter()
        .map(|object| object.revision())
        .collect();
    assert_eq!(revisions, [revision, revision + 1, revision + 2]);
    assert_eq!(contents(&store.snapshot()), pairs(&[("b", "1")]));
}
