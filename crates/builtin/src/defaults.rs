//! Decoding and defaulting of built-in kinds.
//!
//! [`complete`] normalizes an object as the typed decoder does, and sets the defaults. It is idempotent, and does not apply
//! to custom resources, whose schemas define both.

use outrigger_apimachinery::status::Status;
use serde_json::Value;

use crate::kinds::Kind;

mod fill;
mod forget;
mod read;
mod rules;
mod shapes;
mod time;

pub use read::Error;
pub(crate) use rules::Rule;

/// Normalizes and defaults an object of a built-in kind: drops unknown and empty fields, canonicalizes quantities and
/// times, sets defaults, and adds fields without `omitempty`.
///
/// Returns the paths of the unknown fields.
///
/// # Errors
/// A value has the wrong type.
pub fn complete(kind: &Kind, object: &mut Value) -> Result<Vec<String>, Error> {
    let Some(id) = shapes::shapes().of_kind(kind) else {
        return Ok(Vec::new());
    };
    let unknown = read::read(id, object)?;
    if let Some(object) = object.as_object_mut() {
        fill::fill(id, object);
    }
    Ok(unknown)
}

/// Sets the defaults and the fields without `omitempty` again, after the server has changed an object.
pub fn fill_again(kind: &Kind, object: &mut serde_json::Map<String, Value>) {
    if let Some(id) = shapes::shapes().of_kind(kind) {
        fill::fill(id, object);
    }
}

/// Turns empty lists into null, as a round trip through the protobuf of the store does. Lists that are not empty in `old`
/// are kept, so that both can be compared.
pub fn forget_empty_lists(kind: &Kind, object: &mut Value, old: &Value) {
    if let Some(id) = shapes::shapes().of_kind(kind)
        && let Some(object) = object.as_object_mut()
    {
        forget::forget(id, object, old);
    }
}

impl Error {
    /// The response to a request body with a value of the wrong type.
    pub fn into_status(self, kind: &Kind) -> Status {
        cannot_be_handled(kind, &self.to_string())
    }
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
