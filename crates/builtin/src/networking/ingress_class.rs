//! `IngressClass`: validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::text;
use crate::table::cells::age;
use crate::table::moment::Now;
use crate::validation::field_checks::{push_invalid, require, validate_immutable};

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let controller = text(&object["spec"], "controller");
    let field = SPEC.child("controller");
    if !require(errors, &field, controller) {
        return;
    }
    let parts = controller.split_once('/');
    let parts = parts.filter(|(domain, path)| !domain.is_empty() && !path.is_empty());
    if let Some((domain, _)) = parts {
        push_invalid(errors, &field, domain, syntax::dns1123_subdomain(domain));
    } else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(Error::invalid(&field, controller, detail));
    }
}

pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let field = SPEC.child("controller");
    let key = "controller";
    validate_immutable(errors, &field, &new["spec"][key], &old["spec"][key]);
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    const DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";
    let spec = &object["spec"];
    let own = text(&object["metadata"], "name");
    let is_default = object["metadata"]["annotations"][DEFAULT] == "true";
    let name = if is_default {
        format!("{own} (default)")
    } else {
        own.to_owned()
    };
    let parameters = &spec["parameters"];
    let parameters = match (parameters.is_object(), parameters["apiGroup"].as_str()) {
        (false, _) => "<none>".to_owned(),
        (true, None) => format!("{}/{}", text(parameters, "kind"), text(parameters, "name")),
        (true, Some(group)) => {
            let (kind, name) = (text(parameters, "kind"), text(parameters, "name"));
            format!("{kind}.{group}/{name}")
        }
    };
    vec![
        name.into(),
        text(spec, "controller").into(),
        parameters.into(),
        age(object, now),
    ]
}
