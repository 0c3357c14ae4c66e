//! `StrictNewVersion` and the messages of `Validate`, recorded from both releases of the library.
//!
//! `NewVersion` and `Check` are covered by the recorded cases of the template functions in `gotmpl`.

use serde_json::Value;

use super::{Constraint, Edition, Version};

#[track_caller]
fn check(file: &str, edition: Edition) {
    for line in file.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let text = |at: usize| case[at].as_str().expect("a string");
        let (input, expected) = (text(1), text(2));
        match text(0) {
            "version" => {
                let version = Version::parse_strict_in(input, edition).expect(input);
                assert_eq!(version.to_string(), expected);
            }
            "error" => {
                let error = Version::parse_strict_in(input, edition).expect_err(input);
                assert_eq!(error.message(edition), expected, "{input}");
            }
            _ => {
                let range = Constraint::parse_in(input, edition).expect(input);
                let version = Version::parse_in(expected, edition).expect("a version");
                let reasons: Vec<String> =
                    serde_json::from_value(case[4].clone()).expect("strings");
                assert_eq!(range.to_string(), text(3));
                let is_inside = reasons.is_empty();
                let expected = if is_inside { Ok(()) } else { Err(reasons) };
                assert_eq!(range.validate(&version), expected, "{input} {version}");
                assert_eq!(range.check(&version), is_inside);
            }
        }
    }
}

#[test]
fn agrees_with_version_3_3_of_the_library() {
    check(include_str!("tests/v3.3.jsonl"), Edition::V3_3);
}

#[test]
fn agrees_with_version_3_5_of_the_library() {
    check(include_str!("tests/v3.5.jsonl"), Edition::V3_5);
}

#[test]
fn keeps_the_original_text() {
    let version = Version::parse("v1.2").expect("a lenient version");
    assert_eq!(
        (version.original(), version.to_string().as_str()),
        ("v1.2", "1.2.0")
    );
    let next = version.inc_minor().expect("no overflow");
    assert_eq!(next.original(), "v1.3.0");
}
