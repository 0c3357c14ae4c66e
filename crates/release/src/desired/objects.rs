//! The objects in the documents of a manifest.

use serde_json::Value;

use super::{Document, Object};
use crate::cluster::{Kinds, unknown};
use crate::error::Error;
use crate::id::{ObjectId, ReleaseId};
use crate::ownership;

/// Lists may be in lists, but not without end.
const MAX_DEPTH: usize = 16;

/// All objects, each with its namespace and the marks of the release. Of objects with one name the last counts.
pub(super) fn read(
    documents: &[Document],
    release: &ReleaseId,
    kinds: &Kinds,
) -> Result<Vec<Object>, Error> {
    let mut objects: Vec<Object> = Vec::new();
    let mut unknown = Vec::new();
    for document in documents {
        // Helm reads the objects from the manifest, where each document has a newline more: a text that keeps the
        // newlines at its end gets it too.
        let content = format!("{}\n", document.content);
        for body in parse_objects(&document.source, &content)? {
            let object = match place(body, release, kinds, &document.source) {
                Err(Error::UnknownKinds(more)) => {
                    unknown.extend(more);
                    continue;
                }
                object => object?,
            };
            let Object { id, mut body } = object;
            ownership::stamp(&mut body, release);
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

/// An object with the namespace that it is in.
pub(super) fn place(
    mut body: Value,
    release: &ReleaseId,
    kinds: &Kinds,
    source: &str,
) -> Result<Object, Error> {
    let id = ObjectId::of(&body);
    let resolved = kinds.resolve(&id, &release.namespace);
    let id = resolved.ok_or_else(|| unknown(&id))?;
    if id.name.is_empty() {
        return Err(Error::Nameless {
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

/// The objects of one document: none if it is empty, many if it is a list.
pub(crate) fn parse_objects(source: &str, content: &str) -> Result<Vec<Value>, Error> {
    let failed = |reason: String| Error::Manifest {
        source_path: source.to_owned(),
        reason,
    };
    let value = outrigger_goyaml::parse_json(content.as_bytes());
    let value = value.map_err(|error| failed(error.full_text()))?;
    let mut objects = Vec::new();
    flatten(value, &mut objects, 0).map_err(failed)?;
    Ok(objects)
}

fn flatten(value: Value, objects: &mut Vec<Value>, depth: usize) -> Result<(), String> {
    let mut object = match value {
        Value::Null => return Ok(()),
        Value::Object(object) if object.is_empty() => return Ok(()),
        Value::Object(object) => object,
        _ => return Err("an object is expected, with apiVersion and kind".to_owned()),
    };
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("kind").is_empty() {
        return Err("Object 'Kind' is missing".to_owned());
    }
    if text("apiVersion").is_empty() {
        return Err("Object 'apiVersion' is missing".to_owned());
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
        Some(_) => return Err("`items` of a list must be a list".to_owned()),
        None => objects.push(Value::Object(object)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::kinds_for_tests;

    fn read_one(content: &str) -> Result<Vec<Object>, Error> {
        let document = Document {
            source: "web/templates/a.yaml".to_owned(),
            content: content.to_owned(),
        };
        read(
            &[document],
            &ReleaseId::new("shop", "web"),
            &kinds_for_tests(),
        )
    }

    #[test]
    fn lists_are_their_items_and_empty_documents_are_nothing() {
        let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: other}}\n";
        let names: Vec<String> = read_one(list)
            .unwrap()
            .iter()
            .map(|object| object.id.to_string())
            .collect();
        assert_eq!(names, ["ConfigMap/shop/a", "Secret/other/b"]);
        assert!(read_one("# nothing\n").unwrap().is_empty());
    }

    #[test]
    fn objects_carry_helms_marks_and_their_namespace() {
        let objects = read_one("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}").unwrap();
        let metadata = &objects[0].body["metadata"];
        assert_eq!(metadata["namespace"], "shop");
        assert_eq!(metadata["labels"]["app.kubernetes.io/managed-by"], "Helm");
        assert_eq!(
            metadata["annotations"]["meta.helm.sh/release-namespace"],
            "shop"
        );
    }

    #[test]
    fn a_text_that_keeps_its_last_newlines_gets_that_of_the_manifest_as_with_helm() {
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n";
        let text = |text: &str| {
            let objects = read_one(&format!("{map}{text}")).unwrap();
            objects[0].body["data"]["a"].clone()
        };
        assert_eq!(text("  a: |+\n    x\n"), "x\n\n");
        assert_eq!(text("  a: |\n    x\n"), "x\n");
        assert_eq!(text("  a: |-\n    x"), "x");
    }

    #[test]
    fn an_unknown_kind_is_refused_in_helms_words() {
        let error = read_one("{apiVersion: example.com/v1, kind: Boat, metadata: {name: a}}");
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains("no matches for kind \"Boat\" in version \"example.com/v1\""),
            "{text}"
        );
    }

    #[test]
    fn all_unknown_kinds_are_named_at_once() {
        let boats = "{apiVersion: v1, kind: List, items: [{apiVersion: x/v1, kind: Boat, metadata: {name: a}}, {apiVersion: v1, kind: Secret, metadata: {name: b}}, {apiVersion: y/v1, kind: Oar, metadata: {name: c}}]}";
        let text = read_one(boats).unwrap_err().to_string();
        assert!(text.contains("[resource mapping not found"), "{text}");
        assert!(text.contains("Boat") && text.contains("Oar"), "{text}");
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        let text = read_one("just text").unwrap_err().to_string();
        assert!(text.starts_with("web/templates/a.yaml: "), "{text}");
        let text = read_one("{apiVersion: v1, kind: ConfigMap}")
            .unwrap_err()
            .to_string();
        assert!(text.contains("has no name"), "{text}");
    }
}
