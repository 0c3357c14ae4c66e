//! Compares paths and schemas with the documents of a real server.

use outrigger_builtin::kinds::Registry;
use serde_json::{Map, Value, json};
use sha2::Digest as _;

use super::*;

const RECORDED: &str = include_str!("../tests/data/openapi.json");
const DEFINITIONS: &str = include_str!("../../builtin/tests/data/definitions.jsonl");

fn registry() -> Registry {
    let registry = Registry::default();
    for line in DEFINITIONS.lines() {
        let definition: Value = serde_json::from_str(line).unwrap();
        if definition["spec"]["group"] == "stable.example.com" {
            registry.install(&definition);
        }
    }
    registry
}

/// The definitions of a single kind.
fn one_definition(_: &str, kind: &str) -> Option<Map<String, Value>> {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let mut definitions = Map::new();
    definitions.insert(
        "io.k8s.api.core.v1.ConfigMap".to_owned(),
        recorded["configMap"].clone(),
    );
    (kind == "ConfigMap").then_some(definitions)
}

/// Removes descriptions, which not all schemas have.
fn stripped(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            map.remove("description");
            for value in map.values_mut() {
                *value = stripped(value.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = stripped(item.take());
            }
        }
        _ => {}
    }
    value
}

fn digest(item: &Value) -> String {
    let digest = sha2::Sha256::digest(item.to_string());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    digest[..12].to_owned()
}

#[test]
fn all_paths_match_the_real_server() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let kinds = registry().snapshot();
    let mut count = 0;
    for (path, digests) in recorded["paths"].as_object().unwrap() {
        let version = path
            .strip_prefix("apis/")
            .or_else(|| path.strip_prefix("api/"));
        let version = GroupVersion::parse(version.unwrap());
        let document = document(&kinds, version, &one_definition).unwrap();
        let ours: Map<_, _> = document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(path, item)| (path.clone(), digest(&stripped(item.clone())).into()))
            .collect();
        assert_eq!(Value::Object(ours), *digests, "{path}");
        count += digests.as_object().unwrap().len();
    }
    assert_eq!(count, 210);
}

#[test]
fn a_path_item_matches_the_real_server() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let kinds = registry().snapshot();
    let document = document(&kinds, GroupVersion::new("apps", "v1"), &one_definition).unwrap();
    let path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    assert_eq!(
        stripped(document["paths"][path].clone()),
        recorded["sample"]
    );
}

#[test]
fn schemas_of_custom_resources_match_the_real_server() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let kinds = registry().snapshot();
    let version = GroupVersion::new("stable.example.com", "v1");
    let document = document(&kinds, version, &one_definition).unwrap();
    for (name, real) in recorded["custom"].as_object().unwrap() {
        let ours = &document["components"]["schemas"][name];
        if name.ends_with("List") {
            assert_eq!(stripped(ours.clone()), stripped(real.clone()));
        } else {
            assert_eq!(ours, real, "{name}");
        }
    }
}

#[test]
fn all_references_resolve() {
    let kinds = registry().snapshot();
    for group in &kinds.groups {
        for version in &group.versions {
            let version = GroupVersion::new(&group.name, &version.name);
            let document = document(&kinds, version, &one_definition).unwrap();
            let schemas = document["components"]["schemas"].as_object().unwrap();
            let text = document.to_string();
            let references = text.split("\"#/components/schemas/").skip(1);
            for reference in references {
                let name = reference.split('"').next().unwrap();
                assert!(schemas.contains_key(name), "{version}: {name}");
            }
        }
    }
}

#[test]
fn the_index_lists_all_group_versions_and_changes_with_a_definition() {
    let registry = registry();
    let before = index(&registry.snapshot());
    let url = |index: &Value, path: &str| index["paths"][path]["serverRelativeURL"].clone();
    let core = url(&before, "api/v1");
    assert!(
        core.as_str()
            .unwrap()
            .starts_with("/openapi/v3/api/v1?hash=")
    );
    let mut widgets: Value = serde_json::from_str(DEFINITIONS.lines().next().unwrap()).unwrap();
    widgets["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = json!("new");
    registry.install(&widgets);
    let after = index(&registry.snapshot());
    let path = "apis/stable.example.com/v1";
    assert_ne!(url(&before, path), url(&after, path));
    assert_eq!(core, url(&after, "api/v1"));
}
