//! Tests of the built-in schemas.

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
fn container_ports_have_the_keys_port_and_protocol() {
    let schema = schema("v1", "Pod").unwrap();
    let containers = schema
        .root()
        .property("spec")
        .unwrap()
        .property("containers")
        .unwrap();
    let ports = containers.items().unwrap().property("ports").unwrap();
    let ListType::Map(keys) = &ports.list_type else {
        panic!("not a list of type map");
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
