//! Answers of machines, and names of files.

use super::*;

fn answer(text: &[u8]) -> Result<AttemptOutcome, RunError> {
    let mut answer = Answer::default();
    for byte in text {
        let pushed = answer.push(&[*byte], 100);
        pushed.map_err(|_| answer.line.unexpected("m"))?;
    }
    answer.outcome("m")
}

#[test]
fn reads_outcome_and_output() -> Result<(), RunError> {
    let AttemptOutcome::Exited { code, output } = answer(b"exited 3 7\nhi\nthere")? else {
        panic!("did not exit");
    };
    assert_eq!((code, output.dropped), (3, 7));
    assert_eq!(output.head, b"hi\nthere");
    assert!(matches!(
        answer(b"lost 0 0\n")?,
        AttemptOutcome::Lost { .. }
    ));
    Ok(())
}

#[test]
fn other_answers_are_errors() {
    let mut state = Answer::default();
    state.push(b"state cannot write\n", 100).unwrap();
    state.errors.push(b"no rights\n", 100);
    assert!(
        matches!(state.outcome("m"), Err(RunError::State { message, .. }) if message == "cannot write: no rights")
    );
    assert!(matches!(
        answer(b"garbage"),
        Err(RunError::UnexpectedAnswer { .. })
    ));
    assert!(matches!(
        answer(&[b'9'; 2000]),
        Err(RunError::UnexpectedAnswer { answer, .. }) if answer.len() == 200
    ));
    assert!(matches!(
        answer(b""),
        Err(RunError::UnexpectedAnswer { .. })
    ));
}

#[test]
fn keys_are_names_of_files() {
    let hostile = key("../../etc\n");
    assert_eq!(hostile.len(), 32);
    assert!(hostile.chars().all(|c| c.is_ascii_hexdigit()));
}
