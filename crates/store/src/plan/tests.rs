//! Groups of mutations over a small state.

use super::super::tests::{content, draft, pod};
use super::*;

const START: u64 = 10;

/// A state with `a` at revision 5.
fn state() -> State {
    let mut state = State::new(START);
    state.insert(Arc::new(Object::from_draft(pod("a"), &draft("old"), 3, 5)));
    state
}

fn replace(name: &str, text: &str, revision: u64) -> Operation {
    Operation::Replace {
        key: pod(name),
        draft: draft(text),
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
        draft: draft(text),
    }
}

#[test]
fn later_mutations_see_earlier_ones_of_the_group() {
    let state = state();
    let mut plan = Plan::new(&state, START);
    plan.add(&create("b", "1").into()).unwrap();
    assert!(matches!(
        plan.add(&create("b", "2").into()),
        Err(WriteError::AlreadyExists { .. })
    ));
    plan.add(&replace("b", "2", 11).into()).unwrap();
    plan.add(&delete("a").into()).unwrap();
    plan.add(&create("a", "new").into()).unwrap();
    assert_eq!(plan.revision(), 14);
    let revisions: Vec<_> = plan.events.iter().map(|event| event.revision()).collect();
    assert_eq!(revisions, [11, 12, 13, 14]);
    let last = |name| content(plan.writes[&pod(name)].as_ref().unwrap());
    assert_eq!((last("a"), last("b")), ("new".to_owned(), "2".to_owned()));
}

#[test]
fn a_refused_mutation_leaves_no_trace() {
    let state = state();
    let mut plan = Plan::new(&state, START);
    plan.add(&create("b", "1").into()).unwrap();
    let refused = Mutation::new(vec![
        delete("b"),
        create("b", "2"),
        create("c", "1"),
        delete("missing"),
    ]);
    assert!(
        matches!(plan.add(&refused), Err(WriteError::NotFound { key }) if key == pod("missing"))
    );
    assert_eq!(
        (plan.revision(), plan.events.len(), plan.writes.len()),
        (11, 1, 1)
    );
    let written = plan.add(&replace("b", "3", 11).into()).unwrap();
    assert_eq!(written.results[0].revision(), 12);
}

#[test]
fn two_who_saw_the_same_version_cannot_both_replace_it() {
    let state = state();
    let mut plan = Plan::new(&state, START);
    let written = plan.add(&replace("a", "mine", 5).into()).unwrap();
    assert_eq!(written.results[0].created_revision(), 3);
    assert!(matches!(
        plan.add(&replace("a", "yours", 5).into()),
        Err(WriteError::Conflict { current, .. }) if current.revision() == 11
    ));
}

#[test]
fn a_deletion_reports_the_last_state_at_its_own_revision() {
    let state = state();
    let mut plan = Plan::new(&state, START);
    let written = plan.add(&delete("a").into()).unwrap();
    assert_eq!(written.results[0].revision(), 11);
    assert_eq!(content(&written.results[0]), "old");
    assert_eq!(plan.events[0].old().unwrap().revision(), 5);
    assert_eq!(
        plan.writes[&pod("a")]
            .as_ref()
            .map(|object| object.revision()),
        None
    );
}

#[test]
fn a_uid_tells_an_object_from_its_namesake() {
    let state = state();
    let mut plan = Plan::new(&state, START);
    let with_uid = |uid: &str| {
        Mutation::delete(
            pod("a"),
            Precondition {
                uid: Some(uid.into()),
                revision: None,
            },
        )
    };
    assert!(matches!(
        plan.add(&with_uid("other")),
        Err(WriteError::Conflict { .. })
    ));
    assert!(plan.add(&with_uid("u")).is_ok());
}

#[test]
fn too_many_operations_are_refused() {
    let state = state();
    let mut plan = Plan::new(&state, START);
    let operations = (0..257)
        .map(|number| create(&format!("p{number}"), "1"))
        .collect();
    assert!(matches!(
        plan.add(&Mutation::new(operations)),
        Err(WriteError::TooManyOperations { count: 257 })
    ));
    assert!(plan.events.is_empty());
}
