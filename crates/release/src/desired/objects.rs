//! The objects in the documents of a manifest.

use serde_json::Value;

use super::{Document, Object};
use crate::cluster::{ApiResources, unknown_kind};
use crate::error::{Error, InvalidManifest};
use crate::id::{ObjectId, ReleaseId};
use crate::ownership;

/// Maximum nesting of lists.
const MAX_DEPTH: usize = 16;

/// Parses all objects, and sets their namespaces and ownership metadata. The last of several objects with the same
/// identifier wins.
pub(super) fn parse(
    documents: &[Document],
    release: &ReleaseId,
    resources: &ApiResources,
) -> Result<Vec<Object>, Error> {
    let mut objects: Vec<Object> = Vec::new();
    let mut unknown = Vec::new();
    for document in documents {
        // Helm parses the objects from the manifest, where each document has an additional newline, which block scalars
        // with `+` keep.
        let content = format!("{}\n", document.content);
        for body in parse_objects(&document.source, &content)? {
            let object = match resolve(body, release, resources, &document.source) {
                Err(Error::UnknownKinds(more)) => {
                    unknown.extend(more);
                    continue;
                }
                object => object?,
            };
            let Object { id, mut body } = object;
            ownership::set_metadata(&mut body, release);
            match objects.iter_mut().find(|known| known.id == id) {
                Some(known) => known.body = body,
                None => objects.push(Object { id, body }),
            }
        }
    }
    if !unknown.is_empty() {
        return Err(Error::UnknownKinds(unknown));
    }
    Ok(objects)
}

/// Sets the namespace of an object, and removes it from cluster-scoped ones.
fn resolve(
    mut body: Value,
    release: &ReleaseId,
    resources: &ApiResources,
    source: &str,
) -> Result<Object, Error> {
    let id = ObjectId::of(&body);
    let resolved = resources.resolve(&id, &release.namespace);
    let id = resolved.ok_or_else(|| unknown_kind(&id))?;
    if id.name.is_empty() {
        return Err(Error::MissingName {
            source_path: source.to_owned(),
            kind: id.kind,
        });
    }
    if let Some(metadata) = body["metadata"].as_object_mut() {
        match &id.namespace {
            Some(namespace) => {
                metadata.insert("namespace".to_owned(), Value::from(namespace.as_str()));
            }
            None => {
                metadata.remove("namespace");
            }
        }
    }
    Ok(Object { id, body })
}

/// The objects of one document: none if it is empty, several if it is a list.
pub(crate) fn parse_objects(source: &str, content: &str) -> Result<Vec<Value>, Error> {
    let invalid = |reason| Error::Manifest {
        source_path: source.to_owned(),
        reason,
    };
    let value = outrigger_goyaml::parse_json(content.as_bytes());
    let value = value.map_err(|error| invalid(InvalidManifest::Yaml(error.full_text())))?;
    let mut objects = Vec::new();
    flatten(value, &mut objects, 0).map_err(invalid)?;
    Ok(objects)
}

fn flatten(value: Value, objects: &mut Vec<Value>, depth: usize) -> Result<(), InvalidManifest> {
    let mut object = match value {
        Value::Null => return Ok(()),
        Value::Object(object) if object.is_empty() => return Ok(()),
        Value::Object(object) => object,
        _ => return Err(InvalidManifest::NotAnObject),
    };
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("kind").is_empty() {
        return Err(InvalidManifest::MissingKind);
    }
    if text("apiVersion").is_empty() {
        return Err(InvalidManifest::MissingApiVersion);
    }
    if !text("kind").ends_with("List") || depth > MAX_DEPTH {
        objects.push(Value::Object(object));
        return Ok(());
    }
    match object.remove("items") {
        Some(Value::Array(items)) => {
            for item in items {
                flatten(item, objects, depth + 1)?;
            }
        }
        Some(Value::Null) => {}
        Some(_) => return Err(InvalidManifest::InvalidItems),
        None => objects.push(Value::Object(object)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::api_resources_for_tests;

    fn parse_one(content: &str) -> Result<Vec<Object>, Error> {
        let document = Document {
            source: "web/templates/a.yaml".to_owned(),
            content: content.to_owned(),
        };
        let release = ReleaseId::new("shop", "web");
        parse(&[document], &release, &api_resources_for_tests())
    }

    #[test]
    fn lists_are_flattened_and_empty_documents_ignored() {
        let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: other}}\n";
        let names: Vec<String> = parse_one(list)
            .unwrap()
            .iter()
            .map(|object| object.id.to_string())
            .collect();
        assert_eq!(names, ["ConfigMap/shop/a", "Secret/other/b"]);
        assert!(parse_one("# nothing\n").unwrap().is_empty());
    }

    #[test]
    fn objects_get_their_namespace_and_helms_ownership_metadata() {
        let objects = parse_one("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}").unwrap();
        let metadata = &objects[0].body["metadata"];
        assert_eq!(metadata["namespace"], "shop");
        assert_eq!(metadata["labels"]["app.kubernetes.io/managed-by"], "Helm");
        assert_eq!(
            metadata["annotations"]["meta.helm.sh/release-namespace"],
            "shop"
        );
    }

    #[test]
    fn a_block_scalar_that_keeps_newlines_gets_the_newline_of_the_manifest() {
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n";
        let text = |text: &str| {
            let objects = parse_one(&format!("{map}{text}")).unwrap();
            objects[0].body["data"]["a"].clone()
        };
        assert_eq!(text("  a: |+\n    x\n"), "x\n\n");
        assert_eq!(text("  a: |\n    x\n"), "x\n");
        assert_eq!(text("  a: |-\n    x"), "x");
    }

    #[test]
    fn an_unknown_kind_is_reported_in_helms_words() {
        let error = parse_one("{apiVersion: example.com/v1, kind: Boat, metadata: {name: a}}");
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains("no matches for kind \"Boat\" in version \"example.com/v1\""),
            "{text}"
        );
    }

    #[test]
    fn all_unknown_kinds_are_reported_at_once() {
        let boats = "{apiVersion: v1, kind: List, items: [{apiVersion: x/v1, kind: Boat, metadata: {name: a}}, {apiVersion: v1, kind: Secret, metadata: {name: b}}, {apiVersion: y/v1, kind: Oar, metadata: {name: c}}]}";
        let text = parse_one(boats).unwrap_err().to_string();
        assert!(text.contains("[resource mapping not found"), "{text}");
        assert!(text.contains("Boat") && text.contains("Oar"), "{text}");
    }

    #[test]
    fn invalid_objects_are_reported_with_their_template() {
        let text = parse_one("just text").unwrap_err().to_string();
        assert!(text.starts_with("web/templates/a.yaml: "), "{text}");
        let text = parse_one("{apiVersion: v1, kind: ConfigMap}")
            .unwrap_err()
            .to_string();
        assert!(text.contains("has no name"), "{text}");
    }
}
