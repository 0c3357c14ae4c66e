//! Folders in use, files of other programs, corrupt files.

use std::path::Path;

use super::*;

async fn filled(folder: &Path) -> Vec<(String, String)> {
    let store = Store::open(Options::in_folder(folder)).unwrap();
    for number in 0..300 {
        put(&store, &format!("p{number}"), &"x".repeat(1000)).await;
    }
    store.close().await;
    contents(&store.snapshot())
}

#[tokio::test]
async fn rejects_a_folder_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Options::in_folder(folder.path())).unwrap();
    let error = Store::open(Options::in_folder(folder.path())).unwrap_err();
    assert!(matches!(&error, OpenError::InUse { folder: named } if named == folder.path()));
    assert_eq!(
        error.to_string(),
        format!(
            "the data folder {} is in use by another process",
            folder.path().display()
        )
    );
    put(&store, "a", "1").await;
    store.close().await;
    Store::open(Options::in_folder(folder.path()))
        .unwrap()
        .close()
        .await;
}

#[tokio::test]
async fn unlocks_the_folder_after_the_last_handle_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Options::in_folder(folder.path())).unwrap();
    put(&store, "a", "1").await;
    drop(store);
    let mut opened = Err(());
    for _ in 0..500 {
        match Store::open(Options::in_folder(folder.path())) {
            Ok(store) => {
                opened = Ok(store);
                break;
            }
            Err(OpenError::InUse { .. }) => tokio::time::sleep(Duration::from_millis(10)).await,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(contents(&opened.unwrap().snapshot()), pairs(&[("a", "1")]));
}

#[test]
fn rejects_a_file_that_is_not_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    fs_err::write(&path, "SQLite format 3\0 and so on, and so on").unwrap();
    let error = Store::open(Options::in_folder(folder.path())).unwrap_err();
    assert!(matches!(error, OpenError::NotAStore { path: named } if named == path));
}

#[test]
fn rejects_a_redb_file_of_another_program() {
    const TABLE: redb::TableDefinition<'_, u64, u64> = redb::TableDefinition::new("theirs");
    let folder = tempfile::tempdir().unwrap();
    let database = redb::Database::create(folder.path().join("store.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(TABLE).unwrap().insert(1, 1).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = Store::open(Options::in_folder(folder.path())).unwrap_err();
    assert!(matches!(error, OpenError::NotAStore { .. }));
}

#[test]
fn rejects_a_later_format() {
    const ABOUT: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("about");
    let folder = tempfile::tempdir().unwrap();
    let database = redb::Database::create(folder.path().join("store.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction
        .open_table(ABOUT)
        .unwrap()
        .insert("outrigger-format", 99)
        .unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = Store::open(Options::in_folder(folder.path())).unwrap_err();
    assert!(matches!(error, OpenError::Format { found: 99, .. }));
}

#[tokio::test]
async fn reports_an_empty_or_truncated_file_as_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let path = folder.path().join("store.redb");
    let whole = fs_err::read(&path).unwrap();
    for length in [0, 5, 100, 4096, whole.len() / 2] {
        fs_err::write(&path, &whole[..length]).unwrap();
        let error = Store::open(Options::in_folder(folder.path())).unwrap_err();
        assert!(
            matches!(
                error,
                OpenError::Corrupt { .. } | OpenError::NotAStore { .. }
            ),
            "{length}: {error:?}"
        );
    }
}

#[tokio::test]
async fn recreates_a_file_whose_creation_was_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("store.redb.new"), "half").unwrap();
    let store = Store::open(Options::in_folder(folder.path())).unwrap();
    put(&store, "a", "1").await;
    store.close().await;
}

/// Overwrites one page after another: the store opens with all objects, or reports corruption.
#[tokio::test]
async fn detects_corruption_when_the_file_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let expected = filled(folder.path()).await;
    let path = folder.path().join("store.redb");
    let whole = fs_err::read(&path).unwrap();
    let mut refused = 0;
    for page in (1..whole.len() / 4096).step_by(7) {
        let mut damaged = whole.clone();
        damaged[page * 4096 + 100..page * 4096 + 200].fill(0x5a);
        fs_err::write(&path, &damaged).unwrap();
        match Store::open(Options::in_folder(folder.path())) {
            Ok(store) => {
                assert_eq!(contents(&store.snapshot()), expected, "page {page}");
                store.close().await;
            }
            Err(OpenError::Corrupt { .. }) => refused += 1,
            Err(error) => panic!("page {page}: {error:?}"),
        }
    }
    assert!(refused > 5, "{refused}");
}

/// A file that is mostly free space shrinks when it is opened.
#[tokio::test]
async fn compacts_a_sparse_file_at_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let store = Store::open(Options::in_folder(folder.path())).unwrap();
    for batch in 0..12 {
        let create = |number| Operation::Create {
            key: pod(&format!("p{batch}-{number}")),
            encoded: encoded(&"x".repeat(20_000)),
        };
        let operations = (0..100).map(create).collect();
        store.write(Transaction::new(operations)).await.unwrap();
    }
    for batch in 0..11 {
        let delete = |number| Operation::Delete {
            key: pod(&format!("p{batch}-{number}")),
            precondition: Precondition::exists(),
        };
        let operations = (0..100).map(delete).collect();
        store.write(Transaction::new(operations)).await.unwrap();
    }
    store.close().await;
    let before = fs_err::metadata(&path).unwrap().len();
    let reopened = Store::open(Options::in_folder(folder.path())).unwrap();
    assert_eq!(contents(&reopened.snapshot()), contents(&store.snapshot()));
    put(&reopened, "after", "1").await;
    reopened.close().await;
    let after = fs_err::metadata(&path).unwrap().len();
    assert!(
        before > 20_000_000 && after < before / 2,
        "{before} {after}"
    );
}

#[test]
fn a_panic_of_redb_while_opening_is_an_error() {
    let path = Path::new("store.redb").to_owned();
    let open = Box::new(|_: &redb::Builder| panic!("page 7 is gone"));
    let error = File::with(
        path,
        open,
        || 0,
        Box::new(simulated::SimulatedDisk::default()),
    )
    .err()
    .unwrap();
    let OpenError::Corrupt { source, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(
        source.to_string(),
        "DB corrupted: redb panicked: page 7 is gone"
    );
}
