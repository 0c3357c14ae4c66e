//! Strict versions, and the reasons why a version misses a range, against both releases of the library.
//!
//! Lenient versions and whether a range matches are among the cases of the functions.

use super::{Constraint, Edition, Version};
use crate::json;
use crate::value::Value;

fn text(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_text().into_owned(),
        other => panic!("no text: {other:?}"),
    }
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::List(list) => list.items(),
        other => panic!("no list: {other:?}"),
    }
}

#[track_caller]
fn check(file: &str, edition: Edition) {
    for line in file.lines() {
        let case = json::decode(line.as_bytes()).expect("JSON");
        let case = items(&case);
        let (input, expected) = (text(&case[1]), text(&case[2]));
        match text(&case[0]).as_str() {
            "version" => {
                let version = Version::parse_strict_in(&input, edition).expect(&input);
                assert_eq!(version.to_string(), expected);
            }
            "error" => {
                let error = Version::parse_strict_in(&input, edition).expect_err(&input);
                assert_eq!(error.message(edition), expected, "{input}");
            }
            _ => {
                let range = Constraint::parse_in(&input, edition).expect(&input);
                let version = Version::parse_in(&expected, edition).expect("a version");
                let reasons: Vec<String> = items(&case[4]).iter().map(text).collect();
                assert_eq!(range.to_string(), text(&case[3]));
                let is_inside = reasons.is_empty();
                let expected = if is_inside { Ok(()) } else { Err(reasons) };
                assert_eq!(range.validate(&version), expected, "{input} {version}");
                assert_eq!(range.check(&version), is_inside);
            }
        }
    }
}

#[test]
fn version_3_3_agrees_with_the_library() {
    check(include_str!("tests/v3.3.jsonl"), Edition::V3_3);
}

#[test]
fn version_3_5_agrees_with_the_library() {
    check(include_str!("tests/v3.5.jsonl"), Edition::V3_5);
}

#[test]
fn a_version_keeps_its_text() {
    let version = Version::parse("v1.2").expect("a lenient version");
    assert_eq!(
        (version.original(), version.to_string().as_str()),
        ("v1.2", "1.2.0")
    );
    let next = version.next_minor().expect("room for one more");
    assert_eq!(next.original(), "v1.3.0");
}
