//! Checks of the built-in schemas against what is known of them.

use serde_json::json;

use super::*;
use crate::schema::ListType;

#[test]
fn every_kind_has_a_schema() {
    for (api_version, kind) in kinds() {
        assert!(schema(api_version, kind).is_some(), "{api_version} {kind}");
    }
}

#[test]
fn ports_of_containers_are_keyed_by_number_and_protocol() {
    let schema = schema("v1", "Pod").unwrap();
    let containers = schema
        .root()
        .property("spec")
        .unwrap()
        .property("containers")
        .unwrap();
    let ports = containers.items().unwrap().property("ports").unwrap();
    let ListType::Map(keys) = &ports.list_type else {
        panic!("not a keyed list");
    };
    let keys: Vec<_> = keys
        .iter()
        .map(|key| (key.name.as_str(), key.default.clone()))
        .collect();
    assert_eq!(
        keys,
        [
            ("containerPort", Some(json!(0))),
            ("protocol", Some(json!("TCP")))
        ]
    );
    assert_eq!(ports.patch.merge_key.as_deref(), Some("containerPort"));
}
