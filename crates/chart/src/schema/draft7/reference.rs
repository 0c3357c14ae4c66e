//! Resolves `$ref` within the document. Other documents are not loaded.

use serde_json::Value as Json;

use super::MAX_DEPTH;

/// Why a reference does not refer to a schema, with the message of gojsonschema where it has one.
pub(super) fn problem(root: &Json, reference: &str) -> String {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    if document.is_empty() {
        return missing_key(root, fragment);
    }
    let base = root.get("$id").or_else(|| root.get("id"));
    let base = base.and_then(Json::as_str).unwrap_or_default();
    let has_scheme = |text: &str| text.contains("://");
    if has_scheme(document) {
        return not_loaded(document);
    }
    if has_scheme(base) && !document.contains(':') {
        let folder = base.rsplit_once('/').map_or(base, |(folder, _)| folder);
        return not_loaded(&format!("{folder}/{document}"));
    }
    let is_relative = !document.contains(':') && !document.starts_with('/');
    let slash = if is_relative { "/" } else { "" };
    format!("Reference {slash}{document} must be canonical")
}

/// The error of Helm, which tries to load the document, ends with the reason.
fn not_loaded(url: &str) -> String {
    match url.split_once("://") {
        Some(("file", path)) => format!("open {path}: other documents are not loaded"),
        Some(("http" | "https", _)) => format!("Get {url:?}: other documents are not loaded"),
        Some((scheme, _)) => format!("Get {url:?}: unsupported protocol scheme {scheme:?}"),
        None => format!("Reference {url} must be canonical"),
    }
}

/// The error of gojsonpointer for the first part of a pointer that does not exist.
fn missing_key(root: &Json, pointer: &str) -> String {
    let mut value = root;
    for part in percent_decode(pointer).split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        let next = match value {
            Json::Object(entries) => match entries.get(&part) {
                Some(next) => next,
                None => return format!("Object has no key '{part}'"),
            },
            Json::Array(items) => {
                let Ok(index) = part.parse::<usize>() else {
                    return format!("Invalid array index '{part}'");
                };
                let Some(next) = items.get(index) else {
                    let last = items.len();
                    return format!("Out of bound array[0,{last}] index '{index}'");
                };
                next
            }
            _ => return format!("Invalid token reference '{part}'"),
        };
        value = next;
    }
    format!("Reference #{pointer} must be canonical")
}

/// Resolves a reference to a schema.
pub(in crate::schema) fn resolve<'s>(root: &'s Json, reference: &str) -> Option<&'s Json> {
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
