//! Resolves `$ref` within the document.

use serde_json::Value as Json;

use super::MAX_DEPTH;

/// Resolves a reference to a schema.
pub(super) fn resolve<'s>(root: &'s Json, reference: &str) -> Option<&'s Json> {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let root_id = root.get("$id").or_else(|| root.get("id"));
    let is_root = document.is_empty() || root_id.and_then(Json::as_str) == Some(document);
    let base = if is_root {
        root
    } else {
        find_id(root, document, 0)?
    };
    if fragment.is_empty() || fragment.starts_with('/') {
        return base.pointer(&percent_decode(fragment));
    }
    find_id(base, &format!("#{fragment}"), 0)
}

/// Finds the schema with this id.
fn find_id<'s>(schema: &'s Json, id: &str, depth: usize) -> Option<&'s Json> {
    if depth > MAX_DEPTH {
        return None;
    }
    match schema {
        Json::Object(entries) => {
            let own = entries.get("$id").or_else(|| entries.get("id"));
            if own.and_then(Json::as_str) == Some(id) {
                return Some(schema);
            }
            entries
                .values()
                .find_map(|below| find_id(below, id, depth + 1))
        }
        Json::Array(items) => items.iter().find_map(|below| find_id(below, id, depth + 1)),
        _ => None,
    }
}

fn percent_decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut position = 0;
    while position < bytes.len() {
        let hex = text
            .get(position + 1..position + 3)
            .filter(|_| bytes[position] == b'%');
        if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            out.push(byte);
            position += 3;
        } else {
            out.push(bytes[position]);
            position += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
