//! Lists at an exact revision, retained snapshots, backups.

use std::path::Path;

use super::*;

fn options(events: usize, clock: &Arc<TestClock>) -> Options {
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
async fn rebuilds_past_snapshots_from_the_history() {
    let store = Store::open(Options::in_memory()).unwrap();
    let mut past = vec![(store.revision(), contents(&store.snapshot()))];
    for (name, text) in [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("a", "3")] {
        let revision = put(&store, name, text).await;
        past.push((revision, contents(&store.snapshot())));
    }
    for name in ["a", "c"] {
        let delete = Transaction::delete(pod(name), Precondition::exists());
        let written = store.write(delete).await.unwrap();
        past.push((written.results[0].revision(), contents(&store.snapshot())));
    }
    for (revision, expected) in past {
        let snapshot = store.snapshot_at(revision).unwrap();
        assert_eq!(snapshot.revision(), revision);
        assert_eq!(contents(&snapshot), expected);
    }
}

#[tokio::test]
async fn expires_compacted_revisions_unless_retained() {
    let clock = TestClock::new();
    let store = Store::open(options(2, &clock)).unwrap();
    let old = put(&store, "a", "1").await;
    let kept = put(&store, "a", "2").await;
    store.retain(&store.snapshot());
    for number in 0..5 {
        clock.advance(Duration::from_secs(1));
        put(&store, "a", &number.to_string()).await;
    }
    let compacted = store.compacted_revision();
    assert_eq!(compacted, store.revision() - 2);
    let error = store.snapshot_at(old).unwrap_err();
    assert_eq!((error.revision, error.compacted), (old, compacted));
    let snapshot = store.snapshot_at(kept).unwrap();
    assert_eq!(contents(&snapshot), pairs(&[("a", "2")]));
    clock.advance(Duration::from_secs(1000));
    assert!(store.snapshot_at(kept).is_err());
}

#[tokio::test]
async fn the_history_begins_when_the_store_opens() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Options::in_folder(folder.path())).unwrap();
    put(&store, "a", "1").await;
    let revision = put(&store, "a", "2").await;
    store.close().await;
    let store = Store::open(Options::in_folder(folder.path())).unwrap();
    assert_eq!(store.compacted_revision(), revision);
    assert!(store.snapshot_at(revision).is_ok());
    assert!(store.snapshot_at(revision - 1).is_err());
    assert!(store.watch(Scope::resource(&pods()), revision).is_ok());
    assert!(store.watch(Scope::resource(&pods()), revision - 1).is_err());
}

#[tokio::test]
async fn a_backup_is_restored_to_an_empty_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Options::in_folder(folder.path().join("data"))).unwrap();
    for number in 0..100 {
        put(&store, &format!("p{number}"), "1").await;
    }
    let file = folder.path().join("backup.redb");
    let before = store.snapshot();
    assert_eq!(store.backup(&file).unwrap().revision, before.revision());
    put(&store, "later", "1").await;
    assert!(matches!(
        store.backup(&file),
        Err(BackupError::Exists { .. })
    ));

    let copy = folder.path().join("copy");
    let described = restore(&file, &copy).unwrap();
    assert_eq!(
        (described.objects, described.revision),
        (100, before.revision())
    );
    assert!(matches!(
        restore(&file, &copy),
        Err(RestoreError::NotEmpty { .. })
    ));
    let restored = Store::open(Options::in_existing_folder(&copy)).unwrap();
    assert_eq!(restored.revision(), before.revision());
    assert_eq!(contents(&restored.snapshot()), contents(&before));
    store.close().await;
    restored.close().await;
}

#[test]
fn a_file_that_is_no_backup_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (file, copy) = (folder.path().join("letter"), folder.path().join("copy"));
    for text in ["", "Dear reader, this is not a database. Yours sincerely"] {
        fs_err::write(&file, text).unwrap();
        let restored = restore(&file, &copy);
        assert!(matches!(restored, Err(RestoreError::NotBackup { .. })));
        assert!(!copy.exists());
    }
    fs_err::write(&file, b"redb\x1a\x0a\xa9\x0d\x0a and nothing else").unwrap();
    assert!(matches!(restore(&file, &copy), Err(RestoreError::Open(_))));
    assert_eq!(fs_err::read_dir(&copy).unwrap().count(), 0);
}

#[test]
fn a_source_without_end_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    let restored = restore(Path::new("/dev/zero"), &copy);
    assert!(matches!(restored, Err(RestoreError::NotBackup { .. })));
    assert!(!copy.exists());
}

#[test]
fn a_folder_that_must_have_a_store_is_left_empty() {
    let folder = tempfile::tempdir().unwrap();
    let opened = Store::open(Options::in_existing_folder(folder.path()));
    assert!(matches!(opened, Err(OpenError::NoStore { .. })));
    assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 0);
}
