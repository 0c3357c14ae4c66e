//! Batches of transactions over a small state.

use super::super::tests::{content, encoded, pod};
use super::*;

const START: u64 = 10;

/// A state with `a` at revision 5.
fn state() -> State {
    let mut state = State::new(START);
    state.insert(Arc::new(Object::from_encoded(
        pod("a"),
        &encoded("old"),
        3,
        5,
    )));
    state
}

fn replace(name: &str, text: &str, revision: u64) -> Operation {
    Operation::Replace {
        key: pod(name),
        encoded: encoded(text),
        precondition: Precondition::revision(revision),
    }
}

fn delete(name: &str) -> Operation {
    Operation::Delete {
        key: pod(name),
        precondition: Precondition::exists(),
    }
}

fn create(name: &str, text: &str) -> Operation {
    Operation::Create {
        key: pod(name),
        encoded: encoded(text),
    }
}

#[test]
fn a_transaction_sees_earlier_ones_of_the_batch() {
    let state = state();
    let mut batch = Batch::new(&state, START);
    batch.add(&create("b", "1").into()).unwrap();
    assert!(matches!(
        batch.add(&create("b", "2").into()),
        Err(WriteError::AlreadyExists { .. })
    ));
    batch.add(&replace("b", "2", 11).into()).unwrap();
    batch.add(&delete("a").into()).unwrap();
    batch.add(&create("a", "new").into()).unwrap();
    assert_eq!(batch.revision(), 14);
    let revisions: Vec<_> = batch.events.iter().map(|event| event.revision()).collect();
    assert_eq!(revisions, [11, 12, 13, 14]);
    let last = |name| content(batch.writes[&pod(name)].as_ref().unwrap());
    assert_eq!((last("a"), last("b")), ("new".to_owned(), "2".to_owned()));
}

#[test]
fn a_failed_transaction_has_no_effect() {
    let state = state();
    let mut batch = Batch::new(&state, START);
    batch.add(&create("b", "1").into()).unwrap();
    let refused = Transaction::new(vec![
        delete("b"),
        create("b", "2"),
        create("c", "1"),
        delete("missing"),
    ]);
    assert!(
        matches!(batch.add(&refused), Err(WriteError::NotFound { key }) if key == pod("missing"))
    );
    assert_eq!(
        (batch.revision(), batch.events.len(), batch.writes.len()),
        (11, 1, 1)
    );
    let written = batch.add(&replace("b", "3", 11).into()).unwrap();
    assert_eq!(written.results[0].revision(), 12);
}

#[test]
fn only_one_of_two_replacements_of_a_version_succeeds() {
    let state = state();
    let mut batch = Batch::new(&state, START);
    let written = batch.add(&replace("a", "mine", 5).into()).unwrap();
    assert_eq!(written.results[0].created_revision(), 3);
    assert!(matches!(
        batch.add(&replace("a", "yours", 5).into()),
        Err(WriteError::Conflict { current, .. }) if current.revision() == 11
    ));
}

#[test]
fn a_deletion_returns_the_last_version_at_its_own_revision() {
    let state = state();
    let mut batch = Batch::new(&state, START);
    let written = batch.add(&delete("a").into()).unwrap();
    assert_eq!(written.results[0].revision(), 11);
    assert_eq!(content(&written.results[0]), "old");
    assert_eq!(batch.events[0].old().unwrap().revision(), 5);
    assert_eq!(
        batch.writes[&pod("a")]
            .as_ref()
            .map(|object| object.revision()),
        None
    );
}

#[test]
fn a_uid_precondition_fails_for_a_recreated_object() {
    let state = state();
    let mut batch = Batch::new(&state, START);
    let with_uid = |uid: &str| {
        Transaction::delete(
            pod("a"),
            Precondition {
                uid: Some(uid.into()),
                revision: None,
            },
        )
    };
    assert!(matches!(
        batch.add(&with_uid("other")),
        Err(WriteError::Conflict { .. })
    ));
    assert!(batch.add(&with_uid("u")).is_ok());
}

#[test]
fn rejects_too_many_operations() {
    let state = state();
    let mut batch = Batch::new(&state, START);
    let operations = (0..=crate::MAX_OPERATIONS)
        .map(|number| create(&format!("p{number}"), "1"))
        .collect();
    assert!(matches!(
        batch.add(&Transaction::new(operations)),
        Err(WriteError::TooManyOperations { count }) if count == crate::MAX_OPERATIONS + 1
    ));
    assert!(batch.events.is_empty());
}
