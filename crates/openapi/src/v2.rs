//! OpenAPI v2: one document for all groups, as JSON or as the protobuf of gnostic, which kubectl requests.
//!
//! It is derived from the v3 documents. What v2 cannot express of the schemas of custom resources is dropped, as the real
//! server does.

use std::collections::HashSet;

use outrigger_apimachinery::GroupVersion;
use outrigger_builtin::kinds::Kinds;
use serde_json::{Map, Value, json};
use sha2::Digest as _;

use super::{Definitions, schemas};

mod gnostic;
mod paths;
mod schema;

pub use gnostic::encode;

/// The media types of the protobuf; the second is an older spelling.
pub const PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];

/// `/openapi/v2`.
pub fn document(kinds: &Kinds, definitions: &Definitions<'_>) -> Value {
    let mut all_paths = Map::new();
    let mut all_definitions = Map::new();
    for group in &kinds.groups {
        for version in &group.versions {
            let group_version = GroupVersion::new(&group.name, &version.name);
            let Some(mut document) = super::document(kinds, group_version, definitions) else {
                continue;
            };
            let kinds = version.kinds.iter().filter(|kind| kind.custom.is_some());
            let custom: HashSet<String> = kinds
                .map(|kind| schemas::definition_name(&kind.group, &kind.version, &kind.kind, true))
                .collect();
            if let Value::Object(v3) = document["paths"].take() {
                let converted = v3.into_iter();
                all_paths.extend(converted.map(|(path, item)| (path, paths::convert(&item))));
            }
            if let Value::Object(v3) = document["components"]["schemas"].take() {
                for (name, definition) in v3 {
                    let is_custom = custom.contains(&name);
                    all_definitions
                        .entry(name)
                        .or_insert_with(|| schema::convert(definition, is_custom));
                }
            }
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.4"},
        "paths": all_paths,
        "definitions": all_definitions,
        "securityDefinitions": {"BearerToken": {
            "description": "Bearer Token authentication",
            "type": "apiKey",
            "name": "authorization",
            "in": "header",
        }},
        "security": [{"BearerToken": []}],
    })
}

/// The hash of the document, which is also its `ETag`.
pub fn hash(kinds: &Kinds) -> String {
    let versions = kinds.groups.iter().flat_map(|group| {
        let versions = group.versions.iter();
        versions.map(|version| super::hash(&group.name, version))
    });
    let digest = sha2::Sha512::digest(versions.collect::<String>());
    digest.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests;
