//! Validation of the expressions of a `ValidatingAdmissionPolicy`.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use crate::admission::policy::{Expected, check_expression};
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
            let expression = text(item, field);
            let is_optional = field == "messageExpression";
            if expression.trim().is_empty() {
                if !is_optional {
                    errors.push(Error::required(&path, "expression is not specified"));
                }
                continue;
            }
            if let Err(why) = check_expression(expression, has_params, expected) {
                errors.push(Error::invalid(&path, expression, why));
            }
        }
    };
    check("matchConditions", "expression", Expected::Bool);
    check("variables", "expression", Expected::Any);
    check("validations", "expression", Expected::Bool);
    check("validations", "messageExpression", Expected::String);
}
