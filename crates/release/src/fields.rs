//! Which fields of a live object are ours, and how they differ from what we want. All of it is pure.
//!
//! The server keeps the fields that each manager set. A field that somebody else changes leaves our set, so the set
//! alone tells whether what we applied last still stands.

mod migrate;
mod scalar;
#[cfg(test)]
mod tests;
mod walk;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::ownership::MANAGER;

pub(crate) use migrate::{migration, needs_migration};
pub(crate) use scalar::is_void;

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// The field, such as `.spec.template.spec.containers[name="web"].image`.
    pub path: String,
    /// What is there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What should be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// The way to it in a set of fields.
    #[serde(skip)]
    pub(crate) steps: Vec<String>,
}

/// How a live object stands to the one that is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Wanted fields that we do not own.
    pub(crate) not_ours: Vec<FieldChange>,
    /// Wanted fields that are ours and have another value.
    pub(crate) differing: Vec<FieldChange>,
    /// Fields of ours that are no longer wanted.
    pub(crate) left_over: Vec<FieldChange>,
}

impl Comparison {
    pub(crate) fn is_equal(&self) -> bool {
        self.not_ours.is_empty() && self.differing.is_empty() && self.left_over.is_empty()
    }

    /// Every field whose value would change, and those that only change hands left out.
    pub(crate) fn changes(self) -> Vec<FieldChange> {
        let all = self.not_ours.into_iter();
        let all = all.chain(self.differing).chain(self.left_over);
        all.filter(|change| change.before != change.after).collect()
    }
}

/// Compares by the fields that we own by applying; without such, field by field. `applied` is what we applied last, if
/// that is known.
pub(crate) fn compare(wanted: &Value, live: &Value, applied: Option<&Value>) -> Comparison {
    let wanted = normalize(wanted);
    match owned(live) {
        Some(entry) if entry["apiVersion"] == wanted["apiVersion"] => {
            let fields = normalize_fields(&wanted, entry["fieldsV1"].clone());
            let applied = applied.map_or(Value::Null, normalize);
            walk::guided(&wanted, live, &fields, &applied)
        }
        _ => Comparison {
            not_ours: walk::unguided(&wanted, live),
            ..Comparison::default()
        },
    }
}

/// The names of the fields that we own by applying.
pub(crate) fn applied(live: &Value) -> Option<&Value> {
    owned(live).map(|entry| &entry["fieldsV1"])
}

/// Our entry in the list of managers.
fn owned(live: &Value) -> Option<&Value> {
    managers(live).iter().find(|entry| {
        entry["manager"] == MANAGER
            && entry["operation"] == "Apply"
            && entry["subresource"].as_str().unwrap_or_default().is_empty()
    })
}

fn managers(live: &Value) -> &[Value] {
    let managers = live["metadata"]["managedFields"].as_array();
    managers.map(Vec::as_slice).unwrap_or_default()
}

/// Who else has a field, if one does.
pub(crate) fn owner_of(live: &Value, path: &[String]) -> Option<String> {
    let holder = managers(live).iter().find(|entry| {
        let mut at = &entry["fieldsV1"];
        entry["manager"] != MANAGER
            && path.iter().all(|step| {
                at = &at[step.as_str()];
                !at.is_null()
            })
    })?;
    holder["manager"].as_str().map(str::to_owned)
}

/// What the server makes of an object before it looks at its fields: the texts of a Secret become its data.
fn normalize(wanted: &Value) -> Value {
    let mut wanted = wanted.clone();
    if wanted["kind"] == "Secret" && wanted["apiVersion"] == "v1" {
        let texts = wanted
            .as_object_mut()
            .and_then(|object| object.remove("stringData"));
        if let Some(Value::Object(texts)) = texts {
            if !wanted["data"].is_object() {
                wanted["data"] = json!({});
            }
            for (key, text) in texts {
                if let Some(text) = text.as_str() {
                    wanted["data"][key] = json!(STANDARD.encode(text));
                }
            }
        }
    }
    wanted
}

fn normalize_fields(wanted: &Value, mut fields: Value) -> Value {
    if wanted["kind"] == "Secret"
        && let Some(all) = fields.as_object_mut()
        && let Some(Value::Object(texts)) = all.remove("f:stringData")
    {
        let data = all.entry("f:data").or_insert_with(|| json!({}));
        if let Some(data) = data.as_object_mut() {
            data.extend(texts);
        }
    }
    fields
}

/// Hides the values of a Secret.
pub(crate) fn mask(changes: &mut [FieldChange]) {
    for change in changes {
        if change.path.starts_with(".data") || change.path.starts_with(".stringData") {
            for value in [&mut change.before, &mut change.after] {
                if value.is_some() {
                    *value = Some(json!("***"));
                }
            }
        }
    }
}

fn as_map(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object()
}
