//! `ResourceQuota`: validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use super::resource;
use crate::fields::{list, map};
use crate::table::cells::{age, name, text_or};
use crate::table::moment::Now;

const SPEC: Path<'static> = Path::root("spec");

/// The supported quota scopes.
const SCOPES: [&str; 6] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
];

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let field = SPEC.child("hard");
    for (name, value) in map(spec, "hard") {
        let field = field.key(name);
        let before = errors.len();
        resource::validate_name(errors, &field, name);
        if errors.len() > before && !name.contains('/') {
            let detail = "must be a standard resource for quota";
            errors.push(Error::invalid(&field, name.as_str(), detail));
        }
        resource::validate_quantity(errors, &field, name, value);
    }
    let field = SPEC.child("scopes");
    for scope in list(spec, "scopes") {
        if !scope.as_str().is_some_and(|scope| SCOPES.contains(&scope)) {
            let detail = "unsupported scope";
            errors.push(Error::invalid(&field, &spec["scopes"], detail));
        }
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let status = &object["status"];
    let hard = status["hard"].as_object().into_iter().flatten();
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, most) in hard {
        let used = text_or(&status["used"], resource, "0");
        let most = most.as_str().unwrap_or_default();
        let text = format!("{resource}: {used}/{most}");
        if resource.starts_with("limits.") {
            limits.push(text);
        } else {
            requests.push(text);
        }
    }
    vec![
        name(object),
        requests.join(", ").into(),
        limits.join(", ").into(),
        age(object, now),
    ]
}
