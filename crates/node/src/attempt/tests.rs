//! Answers of machines, and names of files.

use super::*;

/// The outcome of an answer in which `@` stands for the marker.
fn answer(text: &[u8]) -> Result<AttemptOutcome, RunError> {
    let marker = request().marker;
    let mut answer = Answer::new(&marker);
    let text = String::from_utf8_lossy(text).replace('@', marker.text());
    for byte in [text.as_bytes(), marker.bytes()].concat() {
        assert!(!answer.is_complete);
        let pushed = answer.push(&[byte], &marker, 100);
        pushed.map_err(|_| answer::unexpected("m", &answer.text()))?;
    }
    assert!(answer.is_complete);
    if answer.line.bytes().is_empty() {
        return Err(answer.nothing("m"));
    }
    answer.outcome("m")
}

fn request() -> Request {
    Request::new("true").unwrap()
}

#[test]
fn reads_outcome_and_output() -> Result<(), RunError> {
    let AttemptOutcome::Exited { code, output } =
        answer(b"Welcome!\n\nno newline: @=exited 3 7 60\nhi\nthere")?
    else {
        panic!("did not exit");
    };
    assert_eq!((code, output.dropped), (3, 7));
    assert_eq!(output.head, b"hi\nthere");
    // The command has ended, and its output was drained.
    let AttemptOutcome::Exited { code, output } =
        answer(b"noise\n@=\nmore noise\n@=exited 0 0 60\n\n")?
    else {
        panic!("did not exit");
    };
    assert_eq!((code, output.text().as_str()), (0, "\n"));
    assert!(matches!(
        answer(b"@=lost 0 0 60\n")?,
        AttemptOutcome::Lost { .. }
    ));
    let after = Duration::from_secs(90);
    assert!(matches!(
        answer(b"@=timeout 143 0 90\n")?,
        AttemptOutcome::TimedOut { after: limit, .. } if limit == after
    ));
    Ok(())
}

#[test]
fn other_answers_are_errors() {
    assert!(
        matches!(answer(b"@=state cannot write: no rights\n"), Err(RunError::State { message, .. }) if message == "cannot write: no rights")
    );
    for text in [&b"garbage"[..], b"@=garbage\n", b"@garbage\n"] {
        assert!(matches!(
            answer(text),
            Err(RunError::UnexpectedAnswer { .. })
        ));
    }
    assert!(matches!(
        answer(&[b'9'; 2000]),
        Err(RunError::UnexpectedAnswer { answer, .. }) if answer.len() == 200
    ));
    for text in [&b""[..], b"\n", b"\n@=\n"] {
        let answer = answer(text);
        assert!(
            matches!(answer, Err(RunError::NoAnswer { .. })),
            "{answer:?}"
        );
    }
}

#[test]
fn output_that_looks_like_a_marker_is_output() {
    let (marker, other) = (request().marker, request().marker);
    assert_ne!(marker.bytes(), other.bytes());
    let mut answer = Answer::new(&marker);
    let line = format!("{}=exited 0 0 60\n", marker.text());
    let text = [line.as_bytes(), other.bytes(), b"\n\n", marker.bytes()];
    let text = text.concat();
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
