//! A record that names all its objects and describes as many as fit into a size.

use serde_json::{Value, json};

use super::chart::gzip;
use super::{Record, payload, push_document};

/// The text of the record, with the largest objects reduced to their names until it fits. Values and hooks go last.
pub(crate) fn shrink(record: &Record, max_bytes: usize) -> String {
    let documents: Vec<(&str, &str)> = record.documents();
    let sizes: Vec<usize> = documents
        .iter()
        .map(|(_, content)| gzip(&[content.as_bytes()]).len())
        .collect();
    let mut by_size: Vec<usize> = (0..documents.len()).collect();
    by_size.sort_by_key(|&at| std::cmp::Reverse(sizes[at]));
    // What base64 makes of so many bytes; one document alone is never smaller than among others.
    let mut room = max_bytes / 4 * 3;
    while room > 0 {
        let reduced = reduce(&sizes, &by_size, room);
        let text = text(record, &documents, &reduced);
        if text.len() <= max_bytes {
            return text;
        }
        room /= 2;
    }
    let smallest = Record {
        config: serde_json::Map::new(),
        hooks: Vec::new(),
        info: super::Info {
            notes: String::new(),
            ..record.info.clone()
        },
        ..record.clone()
    };
    text(&smallest, &documents, &vec![true; documents.len()])
}

/// Which documents are reduced so that the others take no more than `room`.
fn reduce(sizes: &[usize], by_size: &[usize], room: usize) -> Vec<bool> {
    let mut left: usize = sizes.iter().sum();
    let mut reduced = vec![false; sizes.len()];
    for &at in by_size {
        if left <= room {
            break;
        }
        reduced[at] = true;
        left -= sizes[at];
    }
    reduced
}

fn text(record: &Record, documents: &[(&str, &str)], reduced: &[bool]) -> String {
    let mut manifest = String::new();
    for ((source, content), is_reduced) in documents.iter().zip(reduced) {
        if *is_reduced {
            push_document(&mut manifest, source, &named(content));
        } else {
            push_document(&mut manifest, source, content);
        }
    }
    let record = Record {
        manifest,
        ..record.clone()
    };
    payload::encode(&payload::compress(&record))
}

/// What names an object and says whether it is kept.
fn named(content: &str) -> String {
    let Ok(object) = outrigger_goyaml::parse_json(content.as_bytes()) else {
        return String::new();
    };
    let name = |object: &Value| {
        let metadata = &object["metadata"];
        let mut named = json!({
            "apiVersion": object["apiVersion"],
            "kind": object["kind"],
            "metadata": {"name": metadata["name"]},
        });
        if metadata["namespace"].is_string() {
            named["metadata"]["namespace"] = metadata["namespace"].clone();
        }
        let policy = &metadata["annotations"]["helm.sh/resource-policy"];
        if policy.is_string() {
            named["metadata"]["annotations"] = json!({"helm.sh/resource-policy": policy});
        }
        named
    };
    let named = match object["items"].as_array() {
        Some(items) => json!({
            "apiVersion": object["apiVersion"],
            "kind": object["kind"],
            "items": items.iter().map(name).collect::<Vec<_>>(),
        }),
        None => name(&object),
    };
    String::from_utf8(outrigger_goyaml::write_json(&named)).unwrap_or_default()
}
