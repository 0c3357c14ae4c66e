//! OpenAPI v3: an index, and one document for each group version. [`v2`] is derived from them.
//!
//! Clients use the schemas, the `fieldValidation` parameter and the supported patch types. Compared with the real server,
//! the deprecated `/watch/` paths, connect subresources and descriptions of parameters are omitted. The caller provides
//! the schemas of built-in kinds; those of custom resources come from their definitions.

use outrigger_apimachinery::GroupVersion;
use outrigger_builtin::kinds::{Kinds, Version};
use serde_json::{Map, Value, json};
use sha2::Digest as _;

mod operation;
mod paths;
mod schemas;
pub mod v2;

/// The reference prefix of schemas.
const REFERENCE: &str = "#/components/schemas/";

/// Returns the definitions of a built-in kind by `apiVersion` and `kind`: its own and all that it references, with the
/// names of upstream.
pub type Definitions<'a> = dyn Fn(&str, &str) -> Option<Map<String, Value>> + 'a;

/// `/openapi/v3`: the paths of the documents.
pub fn index(kinds: &Kinds) -> Value {
    let mut paths = Map::new();
    for group in &kinds.groups {
        for version in &group.versions {
            let path = document_path(&group.name, &version.name);
            let hash = hash(&group.name, version);
            let url = format!("/openapi/v3/{path}?hash={hash}");
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// `api/v1` or `apis/apps/v1`: the path of a document below `/openapi/v3/`.
pub fn document_path(group: &str, version: &str) -> String {
    match group {
        "" => format!("api/{version}"),
        _ => format!("apis/{group}/{version}"),
    }
}

/// The hash of a document, which is also its `ETag`.
pub fn hash(group: &str, version: &Version) -> String {
    let mut digest = sha2::Sha512::new();
    digest.update(env!("CARGO_PKG_VERSION"));
    digest.update(group);
    for kind in &version.kinds {
        // A definition can change names, scope, subresources and schema.
        let names = [&kind.version, &kind.kind, &kind.list_kind, &kind.plural];
        for name in names {
            digest.update(name);
            digest.update([0]);
        }
        digest.update([u8::from(kind.namespaced)]);
        for subresource in &kind.subresources {
            digest.update(subresource.name);
        }
        for field in &kind.fields {
            digest.update(&field.label);
        }
        if let Some(custom) = &kind.custom {
            digest.update(custom.schema.to_string());
        }
    }
    let digest = digest.finalize();
    digest.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// `/openapi/v3/{path}`: the document of a group version.
pub fn document(
    kinds: &Kinds,
    group_version: GroupVersion<'_>,
    definitions: &Definitions<'_>,
) -> Option<Value> {
    let version = kinds.version(group_version.group, group_version.version)?;
    let mut all_paths = Map::new();
    let mut schemas = schemas::Schemas::new(definitions);
    for kind in &version.kinds {
        all_paths.extend(paths::of_kind(kind));
        schemas.add_kind(kind);
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": all_paths,
        "components": {
            "schemas": schemas.finish(),
            "securitySchemes": {
                "BearerToken": {
                    "type": "apiKey",
                    "description": "Bearer Token authentication",
                    "name": "authorization",
                    "in": "header",
                },
            },
        },
    }))
}

#[cfg(test)]
mod tests;
