//! `PriorityClass`: validation.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use crate::fields::text;
use crate::validation::field_checks::{validate_immutable, validate_optional_enum};

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    const MOST: i64 = 1_000_000_000;
    let name = text(&object["metadata"], "name");
    let is_known = matches!(name, "system-cluster-critical" | "system-node-critical");
    if name.starts_with("system-") && !is_known {
        let field = Path::root("metadata");
        let detail = format!(
            "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
        );
        errors.push(Error::forbidden(&field.child("name"), detail));
    } else if !is_known && object["value"].as_i64().unwrap_or_default() > MOST {
        let detail = format!("maximum allowed value of a user defined priority is {MOST}");
        errors.push(Error::forbidden(&Path::root("value"), detail));
    }
    let field = Path::root("preemptionPolicy");
    let policies = ["PreemptLowerPriority", "Never"];
    validate_optional_enum(errors, &field, &object["preemptionPolicy"], &policies);
}

pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    if new["value"] != old["value"] {
        let detail = "may not be changed in an update.";
        errors.push(Error::forbidden(&Path::root("value"), detail));
    }
    let key = "preemptionPolicy";
    validate_immutable(errors, &Path::root(key), &new[key], &old[key]);
}
