//! Comparison of desired and live objects by managed fields. Pure.
//!
//! The API server tracks the fields that each manager owns. A field that another manager changes leaves our set, so the
//! set alone shows whether the applied state is unchanged.

mod csa_upgrade;
mod diff;
mod equivalence;
mod omit;
mod owned_values;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Value, json};

use crate::ownership::FIELD_MANAGER;

pub(crate) use csa_upgrade::{needs_upgrade, upgrade_patch};
pub(crate) use equivalence::is_empty_value;
pub(crate) use omit::without_foreign_fields;
pub use owned_values::owned_values;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// The field, such as `.spec.template.spec.containers[name="web"].image`.
    pub path: String,
    /// The live value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The desired value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// The path in `fieldsV1`.
    #[serde(skip)]
    pub(crate) fields_v1_path: Vec<String>,
}

/// The differences between a desired and a live object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Desired fields that we do not own.
    pub(crate) unowned: Vec<FieldChange>,
    /// Owned fields with another value.
    pub(crate) changed: Vec<FieldChange>,
    /// Owned fields that are no longer desired.
    pub(crate) removed: Vec<FieldChange>,
}

impl Comparison {
    pub(crate) fn is_equal(&self) -> bool {
        self.unowned.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }

    /// All fields whose value changes, without those that only change their manager.
    pub(crate) fn changes(self) -> Vec<FieldChange> {
        let all = self.unowned.into_iter();
        let all = all.chain(self.changed).chain(self.removed);
        all.filter(|change| change.before != change.after).collect()
    }
}

/// Compares by the fields that we own by server-side apply; without such, by value. `applied` is the last applied
/// object, if that is known.
pub(crate) fn compare(desired: &Value, live: &Value, applied: Option<&Value>) -> Comparison {
    let desired = normalize(desired);
    match applied_entry(live) {
        Some(entry) if entry["apiVersion"] == desired["apiVersion"] => {
            let fields = normalize_fields(&desired, entry["fieldsV1"].clone());
            let applied = applied.map_or(Value::Null, normalize);
            diff::by_owned_fields(&desired, live, &fields, &applied)
        }
        _ => Comparison {
            unowned: diff::by_value(&desired, live),
            ..Comparison::default()
        },
    }
}

/// The fields that we own by server-side apply, and when they were applied. Helm 4 applies as the same manager, so that
/// only the time shows its changes.
pub(crate) fn applied_fields(live: &Value) -> Option<Value> {
    applied_entry(live).map(|entry| json!({"fieldsV1": entry["fieldsV1"], "time": entry["time"]}))
}

fn applied_entry(live: &Value) -> Option<&Value> {
    let entries = managed_fields(live).iter();
    entries.into_iter().find(|entry| is_ours(entry, "Apply"))
}

/// Whether an entry of `managedFields` belongs to our field manager and the main resource.
fn is_ours(entry: &Value, operation: &str) -> bool {
    entry["manager"] == FIELD_MANAGER
        && entry["operation"] == operation
        && entry["subresource"].as_str().unwrap_or_default().is_empty()
}

fn managed_fields(live: &Value) -> &[Value] {
    let entries = live["metadata"]["managedFields"].as_array();
    entries.map(Vec::as_slice).unwrap_or_default()
}

/// Another manager that owns a field.
pub(crate) fn other_manager(live: &Value, fields_v1_path: &[String]) -> Option<String> {
    let owner = managed_fields(live).iter().find(|entry| {
        let mut at = &entry["fieldsV1"];
        entry["manager"] != FIELD_MANAGER
            && fields_v1_path.iter().all(|element| {
                at = &at[element.as_str()];
                !at.is_null()
            })
    })?;
    owner["manager"].as_str().map(str::to_owned)
}

/// Converts `stringData` of a Secret to `data`, as the API server does.
fn normalize(object: &Value) -> Value {
    let mut object = object.clone();
    if object["kind"] == "Secret" && object["apiVersion"] == "v1" {
        let string_data = object
            .as_object_mut()
            .and_then(|fields| fields.remove("stringData"));
        if let Some(Value::Object(string_data)) = string_data {
            if !object["data"].is_object() {
                object["data"] = json!({});
            }
            for (key, text) in string_data {
                if let Some(text) = text.as_str() {
                    object["data"][key] = json!(STANDARD.encode(text));
                }
            }
        }
    }
    object
}

fn normalize_fields(desired: &Value, mut fields: Value) -> Value {
    if desired["kind"] == "Secret"
        && let Some(all) = fields.as_object_mut()
        && let Some(Value::Object(string_data)) = all.remove("f:stringData")
    {
        let data = all.entry("f:data").or_insert_with(|| json!({}));
        if let Some(data) = data.as_object_mut() {
            data.extend(string_data);
        }
    }
    fields
}

/// Masks the values of a Secret.
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
