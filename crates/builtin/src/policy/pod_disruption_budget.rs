//! `PodDisruptionBudget`: validation and table cells.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use serde_json::{Value, json};

use crate::fields::number;
use crate::table::cells::{age, name};
use crate::table::moment::Now;
use crate::validation::field_checks::{
    validate_not_more_than_100_percent, validate_optional_enum, validate_positive_int_or_percent,
};
use crate::validation::label_selector;

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    if !least.is_null() && !most.is_null() {
        let policy = &spec["unhealthyPodEvictionPolicy"];
        let selector = &spec["selector"];
        let bad_value = format!(
            "{{\"MinAvailable\":{least},\"Selector\":{selector},\"MaxUnavailable\":{most},\"UnhealthyPodEvictionPolicy\":{policy}}}"
        );
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(Error::invalid(&SPEC, BadValue::verbatim(bad_value), detail));
    }
    for key in ["minAvailable", "maxUnavailable"] {
        let value = &spec[key];
        if !value.is_null() {
            validate_positive_int_or_percent(errors, &SPEC.child(key), value);
            validate_not_more_than_100_percent(errors, &SPEC.child(key), value);
        }
    }
    label_selector::validate(errors, &SPEC.child("selector"), &spec["selector"]);
    let field = SPEC.child("unhealthyPodEvictionPolicy");
    let policies = ["AlwaysAllow", "IfHealthyBudget"];
    let policy = &spec["unhealthyPodEvictionPolicy"];
    validate_optional_enum(errors, &field, policy, &policies);
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let bound = |key: &str| match &spec[key] {
        Value::Null => json!("N/A"),
        Value::Number(number) => number.to_string().into(),
        other => other.clone(),
    };
    vec![
        name(object),
        bound("minAvailable"),
        bound("maxUnavailable"),
        number(&object["status"], "disruptionsAllowed").into(),
        age(object, now),
    ]
}
