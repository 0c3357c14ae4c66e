//! `ServiceAccount`: preparation.

use serde_json::{Map, Value};

/// Removes everything but the names from Secret references, which are always in the same namespace.
pub(crate) fn strip_secret_references(account: &mut Map<String, Value>) {
    let references = account.get_mut("secrets").and_then(Value::as_array_mut);
    for reference in references.into_iter().flatten() {
        if let Value::Object(reference) = reference {
            reference.retain(|key, _| key == "name");
        }
    }
}
