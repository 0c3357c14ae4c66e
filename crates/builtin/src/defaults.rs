//! What the real server makes of an object of a built-in kind before anything else looks at it.
//!
//! [`complete`] reads the object as the typed decoder does and fills in the defaults. It leaves custom resources
//! alone: their schema says what is to be done. Doing it twice changes nothing.

use outrigger_apimachinery::GroupVersion;
use outrigger_apimachinery::status::Status;
use outrigger_structural::go_types::{self, StructId};
use serde_json::Value;

use crate::kinds::Kind;

mod forget;
mod rules;

pub use go_types::DecodeError;

/// Brings an object of a built-in kind into the form in which the real server keeps it: unknown and empty fields
/// are dropped, numbers and times canonical, defaults set, and fields that cannot be left out present.
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

/// Sets the defaults and the fields that cannot be left out again, after the server has changed an object itself.
pub fn fill_again(kind: &Kind, object: &mut serde_json::Map<String, Value>) {
    if let Some(id) = go_struct(kind) {
        go_types::add_zero_values(id, object, &rules::Rules);
    }
}

/// Brings lists with nothing in them into the form in which they come back from the store: they are none. A list that
/// `old` has items in is left alone, so that both can be compared.
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

/// The answer to a request whose body has a value of the wrong type.
pub fn wrong_type(kind: &Kind, error: &DecodeError) -> Status {
    cannot_be_handled(kind, &error.to_string())
}

/// The answer to a request with `fieldValidation=Strict` whose body has fields that nobody knows.
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
