//! Validation of the expressions of a `ValidatingAdmissionPolicy`.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use crate::admissionregistration::expression::{self, Expected};
use crate::fields::{list, text};

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let has_params = spec["paramKind"].is_object();
    let mut check = |key: &str, field: &str, expected: Expected| {
        let path = SPEC.child(key);
        for (index, item) in list(spec, key).iter().enumerate() {
            let path = path.index(index);
            let path = path.child(field);
            let source = text(item, field);
            let is_optional = field == "messageExpression";
            if source.trim().is_empty() {
                if !is_optional {
                    errors.push(Error::required(&path, "expression is not specified"));
                }
                continue;
            }
            if let Err(why) = expression::check(source, has_params, expected) {
                errors.push(Error::invalid(&path, source, why));
            }
        }
    };
    check("matchConditions", "expression", Expected::Bool);
    check("variables", "expression", Expected::Any);
    check("validations", "expression", Expected::Bool);
    check("validations", "messageExpression", Expected::String);
}
