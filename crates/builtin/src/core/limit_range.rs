//! `LimitRange`: defaults and validation.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::{Map, Value};

use crate::fields::{list, map, object_mut, str_field, text};

const SPEC: Path<'static> = Path::root("spec");

/// For containers, the default limit is the maximum, and the default request is the default limit or the minimum.
pub(crate) fn set_item_defaults(item: &mut Map<String, Value>) {
    if str_field(item, "type") != "Container" {
        return;
    }
    for (from, to) in [
        ("max", "default"),
        ("default", "defaultRequest"),
        ("min", "defaultRequest"),
    ] {
        if let Some(Value::Object(amounts)) = item.get(from).cloned()
            && let Some(target) = object_mut(item, to)
        {
            for (name, amount) in amounts {
                target.entry(name).or_insert(amount);
            }
        }
    }
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let path = SPEC.child("limits");
    let mut types = Vec::new();
    for (index, limit) in list(&object["spec"], "limits").iter().enumerate() {
        let field = path.index(index);
        let type_ = text(limit, "type");
        let is_standard = matches!(type_, "Pod" | "Container" | "PersistentVolumeClaim");
        if !type_.contains('/') && !is_standard {
            let detail = "must be a standard limit type or fully qualified";
            errors.push(Error::invalid(&field.child("type"), type_, detail));
        }
        if types.contains(&type_) {
            errors.push(Error::duplicate(&field.child("type"), type_));
        }
        types.push(type_);
        if type_ == "Pod" {
            for key in ["default", "defaultRequest"] {
                if map(limit, key).next().is_some() {
                    let detail = "may not be specified when `type` is 'Pod'";
                    errors.push(Error::forbidden(&field.child(key), detail));
                }
            }
        }
        validate_bounds(errors, &field, limit);
    }
}

/// Validates that the four bounds of each resource are consistent.
fn validate_bounds(errors: &mut Vec<Error>, path: &Path<'_>, limit: &Value) {
    let mut names: Vec<&String> = ["max", "min", "default", "defaultRequest"]
        .iter()
        .flat_map(|key| map(limit, key).map(|(name, _)| name))
        .collect();
    names.sort();
    names.dedup();
    // The lesser bound, the greater bound, the field of the error, the field of its value, and the names in the message.
    let rules = [
        ("min", "max", "min", "min", ("min value", "max value")),
        (
            "min",
            "defaultRequest",
            "defaultRequest",
            "defaultRequest",
            ("min value", "default request value"),
        ),
        (
            "defaultRequest",
            "max",
            "defaultRequest",
            "defaultRequest",
            ("default request value", "max value"),
        ),
        (
            "defaultRequest",
            "default",
            "defaultRequest",
            "defaultRequest",
            ("default request value", "default limit value"),
        ),
        (
            "min",
            "default",
            "default",
            "min",
            ("min value", "default value"),
        ),
        (
            "default",
            "max",
            "default",
            "max",
            ("default value", "max value"),
        ),
    ];
    for name in names {
        let of = |key: &str| {
            let amount = limit[key][name].as_str()?;
            Quantity::parse(amount).ok()
        };
        for (less, more, named, bad_value, (less_words, more_words)) in rules {
            if let (Some(lesser), Some(greater)) = (of(less), of(more))
                && lesser > greater
            {
                let field = path.child(named);
                let detail = format!(
                    "{less_words} {} is greater than {more_words} {}",
                    lesser.canonical(),
                    greater.canonical()
                );
                let bad_value = &limit[bad_value][name];
                errors.push(Error::invalid(&field.key(name), bad_value, detail));
            }
        }
    }
}
