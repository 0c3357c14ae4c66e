//! ConfigMap, and what it shares with Secret.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, map};
use crate::table::cells::{age, name};
use crate::table::moment::Now;
use crate::validation::field_checks::push_invalid;

pub(crate) const DATA: Path<'static> = Path::root("data");

pub(crate) const MAX_SIZE: usize = 1024 * 1024;

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let mut size = 0;
    for (key, value) in map(object, "data") {
        push_invalid(errors, &DATA.key(key), key, syntax::config_map_key(key));
        if !object["binaryData"][key].is_null() {
            let detail = "duplicate of key present in binaryData";
            errors.push(Error::invalid(&DATA.key(key), key.as_str(), detail));
        }
        size = text_size(value).saturating_add(size);
    }
    let binary = Path::root("binaryData");
    for (key, value) in map(object, "binaryData") {
        push_invalid(errors, &binary.key(key), key, syntax::config_map_key(key));
        size = decoded_size(value).saturating_add(size);
    }
    if size > MAX_SIZE {
        // kube-apiserver reports no field here.
        errors.push(Error::too_long(&Path::root("[]"), MAX_SIZE));
    }
}

fn text_size(value: &Value) -> usize {
    value.as_str().unwrap_or_default().len()
}

pub(crate) fn decoded_size(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    text.trim_end_matches('=').len().saturating_mul(3) / 4
}

pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    validate_immutable_data(new, old, &["data", "binaryData"], errors);
}

/// An immutable object can neither be changed nor made mutable again.
pub(crate) fn validate_immutable_data(
    new: &Value,
    old: &Value,
    keys: &[&str],
    errors: &mut Vec<Error>,
) {
    if old["immutable"] != true {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if new["immutable"] != true {
        errors.push(Error::forbidden(&Path::root("immutable"), detail));
    }
    for key in keys {
        let is_equal = new[*key] == old[*key]
            || (list(new, key).is_empty()
                && map(new, key).next().is_none()
                && map(old, key).next().is_none());
        if !is_equal {
            errors.push(Error::forbidden(&Path::root(key), detail));
        }
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let keys = count(object, "data").saturating_add(count(object, "binaryData"));
    vec![name(object), keys.into(), age(object, now)]
}

pub(crate) fn count(object: &Value, key: &str) -> usize {
    object[key].as_object().map_or(0, serde_json::Map::len)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn computes_the_decoded_size_of_any_text() {
        let sizes = ["", "YQ==", "YWI=", "YWJj", "YWJjZA==", "=", "====="];
        let sizes = sizes.map(|text| decoded_size(&json!(text)));
        assert_eq!(sizes, [0, 1, 2, 3, 4, 0, 0]);
    }
}
