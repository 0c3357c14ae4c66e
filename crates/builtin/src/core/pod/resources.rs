//! Validation of resource requirements.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use crate::fields::{map, text};
use crate::validation::field_checks::require;

const CONTAINER: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

pub(super) fn check(errors: &mut Vec<Error>, path: &Path<'_>, resources: &Value) {
    let limits = path.child("limits");
    for (name, amount) in map(resources, "limits") {
        one(errors, &limits.key(name), name, amount);
    }
    let requests = path.child("requests");
    for (name, amount) in map(resources, "requests") {
        one(errors, &requests.key(name), name, amount);
        let Some(request) = parse(amount) else {
            continue;
        };
        match parse(&resources["limits"][name]) {
            Some(limit) if !can_overcommit(name) && request != limit => {
                let detail = format!("must be equal to {name} limit of {}", limit.canonical());
                errors.push(Error::invalid(&requests, amount, detail));
            }
            Some(limit) if request > limit => {
                let limit = limit.canonical();
                let detail = format!("must be less than or equal to {name} limit of {limit}");
                errors.push(Error::invalid(&requests, amount, detail));
            }
            None if !can_overcommit(name) => {
                let detail = "Limit must be set for non overcommitable resources";
                errors.push(Error::required(&limits, detail));
            }
            _ => {}
        }
    }
}

fn parse(amount: &Value) -> Option<Quantity> {
    Quantity::parse(amount.as_str()?).ok()
}

/// Whether requests may be lower than limits.
fn can_overcommit(name: &str) -> bool {
    CONTAINER.contains(&name)
}

fn one(errors: &mut Vec<Error>, path: &Path<'_>, name: &str, amount: &Value) {
    super::super::resource::validate_name(errors, path, name);
    let is_own = CONTAINER.contains(&name) || name.starts_with("hugepages-");
    if !name.contains('/') && !is_own {
        let detail = "must be a standard resource for containers";
        errors.push(Error::invalid(path, name, detail));
    }
    super::super::resource::validate_quantity(errors, path, name, amount);
}

/// `ResourceFieldSelector`.
pub(super) fn reference(errors: &mut Vec<Error>, path: &Path<'_>, reference: &Value) {
    const KNOWN: [&str; 6] = [
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
    ];
    let resource = text(reference, "resource");
    let field = path.child("resource");
    if !require(errors, &field, resource) {
        return;
    }
    let is_huge = ["limits.hugepages-", "requests.hugepages-"]
        .iter()
        .any(|prefix| resource.starts_with(prefix));
    if !KNOWN.contains(&resource) && !is_huge {
        errors.push(Error::not_supported(&field, resource, &KNOWN));
    }
}
