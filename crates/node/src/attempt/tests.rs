//! Answers of machines, and names of files.

use super::*;

fn answer(text: &[u8]) -> Result<AttemptOutcome, RunError> {
    let marker = request().marker;
    let mut answer = Answer::default();
    for byte in [text, marker.bytes()].concat() {
        assert!(!answer.is_complete);
        let pushed = answer.push(&[byte], &marker, 100);
        pushed.map_err(|_| answer.line.unexpected("m"))?;
    }
    assert!(answer.is_complete);
    answer.outcome("m")
}

fn request() -> Request {
    Request::new("true").unwrap()
}

#[test]
fn reads_outcome_and_output() -> Result<(), RunError> {
    let AttemptOutcome::Exited { code, output } = answer(b"exited 3 7\nhi\nthere")? else {
        panic!("did not exit");
    };
    assert_eq!((code, output.dropped), (3, 7));
    assert_eq!(output.head, b"hi\nthere");
    // The command has ended, and its output was drained.
    let AttemptOutcome::Exited { code, output } = answer(b"\nexited 0 0\n\n")? else {
        panic!("did not exit");
    };
    assert_eq!((code, output.text().as_str()), (0, "\n"));
    assert!(matches!(
        answer(b"lost 0 0\n")?,
        AttemptOutcome::Lost { .. }
    ));
    Ok(())
}

#[test]
fn other_answers_are_errors() {
    let mut state = Answer::default();
    let pushed = state.push(b"state cannot write\n", &request().marker, 100);
    assert!(pushed.is_ok() && !state.is_outcome());
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
    // The shell that was to answer was killed.
    for text in [&b""[..], b"\n"] {
        let answer = answer(text);
        assert!(
            matches!(answer, Err(RunError::UnexpectedAnswer { .. })),
            "{answer:?}"
        );
    }
}

#[test]
fn output_that_looks_like_a_marker_is_output() {
    let (marker, other) = (request().marker, request().marker);
    assert_ne!(marker.bytes(), other.bytes());
    let mut answer = Answer::default();
    let text = [b"exited 0 0\n", other.bytes(), b"\n\n", marker.bytes()].concat();
    answer.push(&text, &marker, 100).unwrap();
    assert!(answer.is_complete);
    let output = answer.outcome("m").unwrap().output().head.clone();
    assert_eq!(output, [other.bytes(), b"\n\n"].concat());
}

#[test]
fn keys_are_names_of_files() {
    let hostile = key("../../etc\n");
    assert_eq!(hostile.len(), 32);
    assert!(hostile.chars().all(|c| c.is_ascii_hexdigit()));
}
