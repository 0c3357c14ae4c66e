//! Truncation of release records: objects are reduced to their names until the record fits.

use serde_json::{Value, json};

use super::chart::gzip;
use super::{Record, payload, push_document};

/// Encodes a record with the largest objects reduced to their names; at last also without values, hooks and notes.
pub(super) fn encode(record: &Record, max_bytes: usize) -> String {
    let documents: Vec<(&str, &str)> = record.documents();
    let sizes: Vec<usize> = documents
        .iter()
        .map(|(_, content)| gzip(&[content.as_bytes()]).len())
        .collect();
    let mut by_size: Vec<usize> = (0..documents.len()).collect();
    by_size.sort_by_key(|&at| std::cmp::Reverse(sizes[at]));
    // Base64 adds a third. A document compressed alone is never smaller than compressed together with others.
    let mut budget = max_bytes / 4 * 3;
    while budget > 0 {
        let reduced = select_reduced(&sizes, &by_size, budget);
        let text = encode_reduced(record, &documents, &reduced);
        if text.len() <= max_bytes {
            return text;
        }
        budget /= 2;
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
    encode_reduced(&smallest, &documents, &vec![true; documents.len()])
}

/// Selects the documents to reduce, so that the others need at most `budget` bytes.
fn select_reduced(sizes: &[usize], by_size: &[usize], budget: usize) -> Vec<bool> {
    let mut total: usize = sizes.iter().sum();
    let mut reduced = vec![false; sizes.len()];
    for &at in by_size {
        if total <= budget {
            break;
        }
        reduced[at] = true;
        total -= sizes[at];
    }
    reduced
}

fn encode_reduced(record: &Record, documents: &[(&str, &str)], reduced: &[bool]) -> String {
    let mut manifest = String::new();
    for ((source, content), is_reduced) in documents.iter().zip(reduced) {
        if *is_reduced {
            push_document(&mut manifest, source, &reduce(content));
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

/// Reduces an object, or the items of a list, to identifier and resource policy.
fn reduce(content: &str) -> String {
    let Ok(object) = outrigger_goyaml::parse_json(content.as_bytes()) else {
        return String::new();
    };
    let reduce_object = |object: &Value| {
        let metadata = &object["metadata"];
        let mut reduced = json!({
            "apiVersion": object["apiVersion"],
            "kind": object["kind"],
            "metadata": {"name": metadata["name"]},
        });
        if metadata["namespace"].is_string() {
            reduced["metadata"]["namespace"] = metadata["namespace"].clone();
        }
        let policy = &metadata["annotations"]["helm.sh/resource-policy"];
        if policy.is_string() {
            reduced["metadata"]["annotations"] = json!({"helm.sh/resource-policy": policy});
        }
        reduced
    };
    let reduced = match object["items"].as_array() {
        Some(items) => json!({
            "apiVersion": object["apiVersion"],
            "kind": object["kind"],
            "items": items.iter().map(reduce_object).collect::<Vec<_>>(),
        }),
        None => reduce_object(&object),
    };
    String::from_utf8(outrigger_goyaml::write_json(&reduced)).unwrap_or_default()
}
