//! Names and quantities of resources such as `cpu` and `pods`.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::validation::field_checks::push_invalid;

/// The standard resources other than [`INTEGER`].
const STANDARD: [&str; 14] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "storage",
    "requests.storage",
    "resourceclaims",
    "pods.count",
    "hugepages",
];

/// The standard resources with integer quantities.
const INTEGER: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Requires a standard name, or one with a domain prefix.
pub(crate) fn validate_name(errors: &mut Vec<Error>, path: &Path<'_>, name: &str) {
    let before = errors.len();
    push_invalid(errors, path, name, syntax::label_key(name));
    if errors.len() > before || name.contains('/') {
        return;
    }
    let is_huge = ["hugepages-", "requests.hugepages-"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    let is_standard = STANDARD.contains(&name) || INTEGER.contains(&name);
    if !is_standard && !is_huge {
        let detail = "must be a standard resource type or fully qualified";
        errors.push(Error::invalid(path, name, detail));
    }
}

/// Requires a quantity that is not negative, and an integer where the resource has no fractions.
pub(crate) fn validate_quantity(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    name: &str,
    amount: &Value,
) {
    let Some(quantity) = amount.as_str().and_then(|text| Quantity::parse(text).ok()) else {
        return;
    };
    if quantity.is_negative() {
        let detail = "must be greater than or equal to 0";
        errors.push(Error::invalid(path, amount, detail));
    }
    let is_whole = INTEGER.contains(&name) || name.contains('/');
    if is_whole && !quantity.is_whole() {
        errors.push(Error::invalid(path, amount, "must be an integer"));
    }
}
