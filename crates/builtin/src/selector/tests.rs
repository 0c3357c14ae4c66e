//! Compares selectors with recorded responses.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::kinds::Registry;

const RECORDED: &str = include_str!("../../tests/data/selectors.json");
const DEFINITIONS: &str = include_str!("../../tests/data/definitions.jsonl");

/// The recorded names, or the recorded error message.
fn recorded_outcome(case: &Value) -> Result<Vec<&str>, &str> {
    match case["error"].as_str() {
        Some(error) => Err(error),
        None => Ok(case["names"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect()),
    }
}

fn check(case: &Value, ours: &Result<Vec<&str>, String>) {
    let ours = match ours {
        Ok(names) => Ok(names.clone()),
        Err(error) => Err(error.as_str()),
    };
    assert_eq!(ours, recorded_outcome(case), "{case}");
}

#[test]
fn label_selectors_match_the_recording() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let objects = recorded["objects"].as_array().unwrap();
    for case in recorded["labels"].as_array().unwrap() {
        let selector = LabelSelector::parse(case["label"].as_str().unwrap());
        let ours = selector.map_err(|error| error.to_string()).map(|selector| {
            let selected = objects
                .iter()
                .filter(|object| selector.matches(object["labels"].as_object()));
            selected
                .map(|object| object["name"].as_str().unwrap())
                .collect()
        });
        check(case, &ours);
    }
}

#[test]
fn field_selectors_match_the_recording() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let registry = Registry::default();
    for line in DEFINITIONS.lines() {
        registry.install(&serde_json::from_str(line).unwrap());
    }
    let kinds = registry.snapshot();
    for case in recorded["fields"].as_array().unwrap() {
        let listed = &recorded["kinds"][case["path"].as_str().unwrap()];
        let text = |key: &str| listed[key].as_str().unwrap();
        let kind = kinds.kind(text("group"), text("version"), text("kind"));
        let selector = FieldSelector::parse(case["field"].as_str().unwrap(), kind.unwrap());
        let ours = selector.map_err(|error| error.to_string()).map(|selector| {
            let items = listed["items"].as_array().unwrap().iter();
            let mut names: Vec<_> = items
                .filter(|item| selector.matches(item))
                .map(|item| item["metadata"]["name"].as_str().unwrap())
                .collect();
            names.sort_unstable();
            names
        });
        check(case, &ours);
    }
}

#[test]
fn an_absent_selector_matches_nothing_and_an_empty_one_everything() {
    let labels = serde_json::json!({"a": "1"});
    let labels = labels.as_object();
    assert!(LabelSelector::of_object(&Value::Null).is_none());
    let of = |selector: Value| LabelSelector::of_object(&selector).unwrap().matches(labels);
    assert!(of(serde_json::json!({})));
    assert!(of(serde_json::json!({"matchLabels": {"a": "1"}})));
    assert!(of(
        serde_json::json!({"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]})
    ));
    assert!(!of(
        serde_json::json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["2"]}]})
    ));
}

#[test]
fn recognizes_a_list_by_name() {
    let kinds = Registry::default().snapshot();
    let kind = kinds.kind("", "v1", "Pod").unwrap();
    let selector = FieldSelector::parse("metadata.name=a,spec.nodeName!=b", kind).unwrap();
    assert_eq!(selector.exact("metadata.name"), Some("a"));
    assert_eq!(selector.exact("spec.nodeName"), None);
}

proptest! {
    #[test]
    fn selectors_round_trip(text in "[a-c!=,<>() 1in]{0,24}") {
        if let Ok(selector) = LabelSelector::parse(&text) {
            let again = LabelSelector::parse(&selector.to_string());
            prop_assert_eq!(again, Ok(selector));
        }
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,40}") {
        let kinds = Registry::default().snapshot();
        let kind = kinds.kind("", "v1", "Pod").unwrap();
        let _ = LabelSelector::parse(&text);
        let _ = FieldSelector::parse(&text, kind);
    }
}
