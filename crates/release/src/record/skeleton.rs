//! A record that names all its objects and describes as many as fit into a size.

use serde_json::{Value, json};

use super::{Record, payload, push_document};

/// The text of the record, with the largest objects reduced to their names until it fits. Values and hooks go last.
pub(crate) fn shrink(record: &Record, max_bytes: usize) -> String {
    let documents: Vec<(&str, &str)> = record.documents();
    let mut by_size: Vec<usize> = (0..documents.len()).collect();
    by_size.sort_by_key(|&at| std::cmp::Reverse(documents[at].1.len()));
    let mut reduced = vec![false; documents.len()];
    let mut next = 0;
    let mut step = (documents.len() / 8).max(1);
    loop {
        let text = text(record, &documents, &reduced);
        if text.len() <= max_bytes {
            return text;
        }
        if next == by_size.len() {
            break;
        }
        for &at in by_size.iter().skip(next).take(step) {
            reduced[at] = true;
        }
        next = (next + step).min(by_size.len());
        step = step.max(1);
    }
    let mut smallest = record.clone();
    smallest.config = serde_json::Map::new();
    smallest.info.notes = String::new();
    smallest.hooks = Vec::new();
    text(&smallest, &documents, &reduced)
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
