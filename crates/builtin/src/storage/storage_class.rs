//! `StorageClass`: validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::text;
use crate::table::cells::{age, text_or};
use crate::table::moment::Now;
use crate::validation::field_checks::{
    push_invalid, require, validate_immutable, validate_optional_enum,
};

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let provisioner = text(object, "provisioner");
    let field = Path::root("provisioner");
    if require(errors, &field, provisioner) {
        let lower = provisioner.to_lowercase();
        push_invalid(errors, &field, provisioner, syntax::label_key(&lower));
    }
    if object["parameters"].get("").is_some() {
        let detail = "field can not be empty.";
        errors.push(Error::invalid(&Path::root("parameters"), "", detail));
    }
    let field = Path::root("reclaimPolicy");
    let policies = ["Delete", "Retain"];
    validate_optional_enum(errors, &field, &object["reclaimPolicy"], &policies);
    let field = Path::root("volumeBindingMode");
    let modes = ["Immediate", "WaitForFirstConsumer"];
    validate_optional_enum(errors, &field, &object["volumeBindingMode"], &modes);
}

pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    for key in [
        "parameters",
        "provisioner",
        "reclaimPolicy",
        "volumeBindingMode",
    ] {
        validate_immutable(errors, &Path::root(key), &new[key], &old[key]);
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let annotations = &object["metadata"]["annotations"];
    let is_default = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ]
    .iter()
    .any(|key| annotations[*key] == "true");
    let own = text(&object["metadata"], "name");
    let name = if is_default {
        format!("{own} (default)")
    } else {
        own.to_owned()
    };
    vec![
        name.into(),
        text(object, "provisioner").into(),
        text_or(object, "reclaimPolicy", "Delete").into(),
        text_or(object, "volumeBindingMode", "Immediate").into(),
        (object["allowVolumeExpansion"] == true).into(),
        age(object, now),
    ]
}
