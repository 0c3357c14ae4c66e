//! Decoding and defaulting of built-in kinds.
//!
//! [`complete`] normalizes an object as the typed decoder does, and sets the defaults. It is idempotent, and does not apply
//! to custom resources, whose schemas define both.

use outrigger_apimachinery::GroupVersion;
use outrigger_apimachinery::status::Status;
use outrigger_structural::go_types::{self, StructId};
use serde_json::Value;

use crate::kinds::Kind;

mod forget;
mod rules;

pub use go_types::DecodeError;
pub(crate) use rules::Rule;

/// Normalizes and defaults an object of a built-in kind: drops unknown and empty fields, canonicalizes quantities and
/// times, sets defaults, and adds fields without `omitempty`.
///
/// Returns the paths of the unknown fields.
///
/// # Errors
/// A value has the wrong type.
pub fn complete(kind: &Kind, object: &mut Value) -> Result<Vec<String>, DecodeError> {
    let Some(id) = go_struct(kind) else {
        return Ok(Vec::new());
    };
    let unknown = go_types::decode(id, object)?;
    if let Some(object) = object.as_object_mut() {
        go_types::add_zero_values(id, object, &rules::Rules);
    }
    Ok(unknown)
}

/// Sets the defaults and the fields without `omitempty` again, after the server has changed an object.
pub fn fill_again(kind: &Kind, object: &mut serde_json::Map<String, Value>) {
    if let Some(id) = go_struct(kind) {
        go_types::add_zero_values(id, object, &rules::Rules);
    }
}

/// Turns empty lists into null, as a round trip through the protobuf of the store does. Lists that are not empty in `old`
/// are kept, so that both can be compared.
pub fn forget_empty_lists(kind: &Kind, object: &mut Value, old: &Value) {
    if let Some(id) = go_struct(kind)
        && let Some(object) = object.as_object_mut()
    {
        forget::forget(id, object, old);
    }
}

/// The Go type of a built-in kind.
fn go_struct(kind: &Kind) -> Option<StructId> {
    if kind.custom.is_some() {
        return None;
    }
    go_types::of_kind(GroupVersion::new(&kind.group, &kind.version), &kind.kind)
}

/// The response to a request body with a value of the wrong type.
pub fn wrong_type(kind: &Kind, error: &DecodeError) -> Status {
    cannot_be_handled(kind, &error.to_string())
}

/// The response to a request with `fieldValidation=Strict` and unknown fields.
pub fn unknown_fields(kind: &Kind, unknown: &[String]) -> Status {
    let unknown: Vec<_> = unknown
        .iter()
        .map(|field| format!("unknown field \"{field}\""))
        .collect();
    let why = format!("strict decoding error: {}", unknown.join(", "));
    cannot_be_handled(kind, &why)
}

fn cannot_be_handled(kind: &Kind, why: &str) -> Status {
    let name = &kind.kind;
    let version = &kind.version;
    Status::bad_request(format!(
        "{name} in version \"{version}\" cannot be handled as a {name}: {why}"
    ))
}

#[cfg(test)]
mod tests;
