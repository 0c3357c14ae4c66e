//! Compares all discovery documents with those of a real server, byte for byte.

use outrigger_apimachinery::GroupVersion;
use outrigger_builtin::kinds::{Kinds, Registry};
use serde_json::Value;

use super::aggregated::{Root, group_discovery_list};
use super::legacy;

const DOCUMENTS: &str = include_str!("../../tests/data/discovery.jsonl");
const DEFINITIONS: &str = include_str!("../../../builtin/tests/data/definitions.jsonl");

fn with_definitions() -> Registry {
    let registry = Registry::default();
    for line in DEFINITIONS.lines() {
        registry.install(&serde_json::from_str(line).unwrap());
    }
    registry
}

/// The document of a path and its `ETag`.
fn ours(kinds: &Kinds, path: &str, is_aggregated: bool, real: &Value) -> (String, Option<String>) {
    if is_aggregated {
        let root = if path == "/api" {
            Root::Core
        } else {
            Root::Named
        };
        let document = group_discovery_list(kinds, root);
        let bytes = serde_json::to_string(&document).unwrap();
        return (bytes, Some(document.etag()));
    }
    let bytes = match path {
        "/api" => {
            let address = real["serverAddressByClientCIDRs"][0]["serverAddress"].as_str();
            serde_json::to_string(&legacy::api_versions(address.unwrap()))
        }
        "/apis" => serde_json::to_string(&legacy::api_group_list(kinds)),
        "/api/v1" => {
            let version = kinds.version("", "v1").unwrap();
            serde_json::to_string(&legacy::api_resource_list("", version))
        }
        _ => match GroupVersion::parse(path.strip_prefix("/apis/").unwrap()) {
            GroupVersion {
                group: "",
                version: group,
            } => serde_json::to_string(&legacy::api_group(kinds.group(group).unwrap())),
            GroupVersion { group, version } => {
                let version = kinds.version(group, version).unwrap();
                serde_json::to_string(&legacy::api_resource_list(group, version))
            }
        },
    };
    (bytes.unwrap(), None)
}

/// The real server lists custom resources in random order.
fn sorted(mut document: Value) -> Value {
    if let Some(resources) = document["resources"].as_array_mut() {
        resources.sort_by_key(|resource| resource["name"].to_string());
    }
    document
}

#[test]
fn all_documents_match_the_real_server() {
    let builtin = Registry::default().snapshot();
    let custom = with_definitions().snapshot();
    let mut documents = 0;
    for line in DOCUMENTS.lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let path = recorded["path"].as_str().unwrap();
        let is_custom = recorded["state"] == "custom";
        let kinds = if is_custom { &custom } else { &builtin };
        let etag = recorded["etag"].as_str();
        let (bytes, tag) = ours(kinds, path, etag.is_some(), &recorded["answer"]);
        assert_eq!(tag.as_deref(), etag, "{path}");
        if is_custom {
            let document: Value = serde_json::from_str(&bytes).unwrap();
            assert_eq!(
                sorted(document),
                sorted(recorded["answer"].clone()),
                "{path}"
            );
        } else {
            assert!(
                line.ends_with(&format!("\"answer\":{bytes}}}")),
                "{path}\n ours {bytes}\n real {}",
                recorded["answer"]
            );
        }
        documents += 1;
    }
    assert_eq!(documents, 56);
}
