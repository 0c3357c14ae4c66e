//! Lease: validation.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use crate::validation::field_checks::validate_nonnegative;

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64()
        && seconds <= 0
    {
        let field = SPEC.child("leaseDurationSeconds");
        errors.push(Error::invalid(&field, seconds, "must be greater than 0"));
    }
    let field = SPEC.child("leaseTransitions");
    validate_nonnegative(errors, &field, &spec["leaseTransitions"]);
}
