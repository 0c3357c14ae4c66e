//! Merging of values, as tables.

use serde_json::json;

use super::*;

fn source(kind: ValuesKind, key: Option<&str>, target: Option<&str>, optional: bool) -> ValuesFrom {
    ValuesFrom {
        kind,
        name: "settings".to_owned(),
        key: key.map(str::to_owned),
        target_path: target.map(str::to_owned),
        optional,
    }
}

fn object(data: &[(&str, &str)]) -> Option<Referenced> {
    Some(Referenced {
        uid: "u".to_owned(),
        resource_version: "1".to_owned(),
        data: data
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
            .collect(),
    })
}

#[track_caller]
fn check(sources: &[(ValuesFrom, Option<Referenced>)], own: Value, expected: Value) {
    let Value::Object(own) = own else {
        panic!("values are a map");
    };
    let merged = merge("default", sources, &own).unwrap();
    assert_eq!(Value::Object(merged.0), expected);
}

fn problem(source: ValuesFrom, object: Option<Referenced>) -> String {
    let error = merge("default", &[(source, object)], &Map::new()).unwrap_err();
    error.to_string()
}

#[test]
fn sources_are_merged_in_order_and_own_values_win() {
    let map = source(ValuesKind::ConfigMap, Some("values.yaml"), None, false);
    check(
        &[
            (
                map.clone(),
                object(&[("values.yaml", "a: 1\nb: {x: 1, y: 1}\nlist: [1, 2]")]),
            ),
            (map, object(&[("values.yaml", "b: {y: 2}\nlist: [3]")])),
        ],
        json!({"b": {"z": 3}, "a": null}),
        json!({"a": null, "b": {"x": 1, "y": 2, "z": 3}, "list": [3]}),
    );
}

#[test]
fn without_a_key_every_key_counts_in_the_order_of_names() {
    check(
        &[(
            source(ValuesKind::ConfigMap, None, None, false),
            object(&[("b.yaml", "x: second"), ("a.yaml", "x: first\ny: true")]),
        )],
        json!({}),
        json!({"x": "second", "y": true}),
    );
}

#[test]
fn a_target_takes_text_as_it_is() {
    check(
        &[(
            source(
                ValuesKind::Secret,
                Some("password"),
                Some(r"auth.my\.key"),
                false,
            ),
            object(&[("password", "a,b={1}: true")]),
        )],
        json!({"auth": {"user": "me"}}),
        json!({"auth": {"user": "me", "my.key": "a,b={1}: true"}}),
    );
}

#[test]
fn what_is_optional_may_be_missing() {
    check(
        &[
            (source(ValuesKind::Secret, None, None, true), None),
            (source(ValuesKind::Secret, Some("k"), None, true), object(&[])),
            (
                source(ValuesKind::Secret, Some("k"), Some("a"), true),
                object(&[]),
            ),
        ],
        json!({}),
        json!({}),
    );
}

#[test]
fn problems_name_the_object_and_the_key() {
    let secret = |key, target| source(ValuesKind::Secret, key, target, false);
    assert_eq!(
        problem(secret(None, None), None),
        "Secret default/settings, which values come from, does not exist"
    );
    assert_eq!(
        problem(secret(Some("k"), None), object(&[])),
        "Secret default/settings, which values come from, has no key \"k\""
    );
    assert_eq!(
        problem(secret(None, Some("a")), object(&[("x", ""), ("y", "")])),
        "spec.valuesFrom[0].targetPath \"a\" needs a key: the object has not just one"
    );
    assert_eq!(
        problem(secret(None, Some("a..b")), object(&[("x", "")])),
        "spec.valuesFrom[0].targetPath \"a..b\" has an empty part"
    );
}

#[test]
fn a_secret_that_is_no_yaml_is_not_quoted() {
    let text = problem(
        source(ValuesKind::Secret, None, None, false),
        object(&[("k", "hunter2: [")]),
    );
    assert_eq!(text, "key \"k\" of Secret default/settings is no YAML map");
    let text = problem(
        source(ValuesKind::ConfigMap, None, None, false),
        object(&[("k", "a: [")]),
    );
    assert!(text.starts_with("key \"k\" of ConfigMap default/settings is no YAML map: "), "{text}");
}

#[test]
fn values_show_nothing() {
    let values = Values(json!({"password": "hunter2"}).as_object().unwrap().clone());
    assert!(!format!("{values:?}").contains("hunter2"));
    assert!(!format!("{:?}", object(&[("k", "hunter2")])).contains("hunter2"));
}
