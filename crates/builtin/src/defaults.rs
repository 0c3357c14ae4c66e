//! What the real server makes of an object of a built-in kind before anything else looks at it.
//!
//! [`complete`] reads the object as the typed decoder does and fills in the defaults. It leaves custom resources
//! alone: their schema says what is to be done. Doing it twice changes nothing.

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

/// Brings an object of a built-in kind into the form in which the real server keeps it: unknown and empty fields
/// are dropped, numbers and times canonical, defaults set, and fields that cannot be left out present.
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

/// Sets the defaults and the fields that cannot be left out again, after the server has changed an object itself.
pub fn fill_again(kind: &Kind, object: &mut serde_json::Map<String, Value>) {
    if let Some(id) = shapes::shapes().of_kind(kind) {
        fill::fill(id, object);
    }
}

/// Brings lists with nothing in them into the form in which they come back from the store: they are none. A list that
/// `old` has items in is left alone, so that both can be compared.
pub fn forget_empty_lists(kind: &Kind, object: &mut Value, old: &Value) {
    if let Some(id) = shapes::shapes().of_kind(kind)
        && let Some(object) = object.as_object_mut()
    {
        forget::forget(id, object, old);
    }
}

impl Error {
    /// The answer to a request whose body has a value of the wrong type.
    pub fn into_status(self, kind: &Kind) -> Status {
        cannot_be_handled(kind, &self.to_string())
    }
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
