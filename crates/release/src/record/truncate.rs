//! Truncation of release records: objects are reduced to their names until the record fits.

use serde_json::{Value, json};

use super::chart::gzip;
use super::{Record, payload, push_document};

/// If all documents that are kept decompress to this many times their size at most, the record is within its limit.
const MAX_RATIO: usize = payload::MAX_DECOMPRESSED_BYTES / (1 << 20);

/// Encodes a record with the largest objects reduced to their names; at last also without values, hooks and notes.
pub(super) fn encode(record: &Record, max_bytes: usize) -> String {
    let documents: Vec<(&str, &str)> = record.documents();
    let sizes: Vec<usize> = documents.iter().map(|(_, content)| size(content)).collect();
    let mut by_size: Vec<usize> = (0..documents.len()).collect();
    by_size.sort_by_key(|&at| std::cmp::Reverse(sizes[at]));
    // Base64 adds a third. A document compressed alone is never smaller than compressed together with others.
    let mut budget = max_bytes / 4 * 3;
    while budget > 0 {
        let reduced = select_reduced(&sizes, &by_size, budget);
        let reduced = reduce_documents(record, &documents, &reduced);
        let without_chart = payload::compress_without_chart(&reduced);
        if let Some(text) = payload::encode_within(&reduced.chart, &without_chart, max_bytes) {
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
    let smallest = reduce_documents(&smallest, &documents, &vec![true; documents.len()]);
    payload::encode(&payload::compress(&smallest))
}

/// The compressed size of a document; more if it is one that decompresses to much more.
fn size(content: &str) -> usize {
    let compressed = gzip(&[content.as_bytes()]).len();
    compressed.max(content.len() / MAX_RATIO)
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

fn reduce_documents(record: &Record, documents: &[(&str, &str)], reduced: &[bool]) -> Record {
    let mut manifest = String::new();
    for ((source, content), is_reduced) in documents.iter().zip(reduced) {
        if *is_reduced {
            push_document(&mut manifest, source, &reduce(content));
        } else {
            push_document(&mut manifest, source, content);
        }
    }
    Record {
        manifest,
        ..record.clone()
    }
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
