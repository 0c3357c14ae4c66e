//! `ConfigMaps` and `Secrets`.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use outrigger_structural::schema::strict;
use serde_json::Value;

use super::field_checks::{each, list, map, text};

const DATA: Path<'static> = Path::root("data");
const MAX_SIZE: usize = 1024 * 1024;

pub(super) fn config_map(object: &Value, errors: &mut Vec<Error>) {
    let mut size = 0;
    for (key, value) in map(object, "data") {
        each(errors, &DATA.key(key), key, syntax::config_map_key(key));
        if !object["binaryData"][key].is_null() {
            let detail = "duplicate of key present in binaryData";
            errors.push(Error::invalid(&DATA.key(key), key.as_str(), detail));
        }
        size += text_length(value);
    }
    let binary = Path::root("binaryData");
    for (key, value) in map(object, "binaryData") {
        each(errors, &binary.key(key), key, syntax::config_map_key(key));
        size += decoded_length(value);
    }
    if size > MAX_SIZE {
        // The real server names no field here.
        errors.push(Error::too_long(&Path::root("[]"), MAX_SIZE));
    }
}

fn text_length(value: &Value) -> usize {
    value.as_str().unwrap_or_default().len()
}

fn decoded_length(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    text.trim_end_matches('=').len() * 3 / 4
}

pub(super) fn secret(object: &Value, errors: &mut Vec<Error>) {
    let mut size = 0;
    for (key, value) in map(object, "data") {
        each(errors, &DATA.key(key), key, syntax::config_map_key(key));
        size += decoded_length(value);
    }
    if size > MAX_SIZE {
        errors.push(Error::too_long(&DATA, MAX_SIZE));
    }
    let mut need = |keys: &[&str]| {
        for key in keys {
            if object["data"][*key].is_null() {
                errors.push(Error::required(&DATA.key(key), ""));
            }
        }
    };
    match text(object, "type") {
        "kubernetes.io/tls" => need(&["tls.crt", "tls.key"]),
        "kubernetes.io/ssh-auth" => need(&["ssh-privatekey"]),
        "kubernetes.io/basic-auth" => {
            let has_one = ["username", "password"]
                .iter()
                .any(|key| !object["data"][*key].is_null());
            if !has_one {
                need(&["username", "password"]);
            }
        }
        "kubernetes.io/dockerconfigjson" => docker(object, ".dockerconfigjson", errors),
        "kubernetes.io/dockercfg" => docker(object, ".dockercfg", errors),
        "kubernetes.io/service-account-token" => {
            const NAME: &str = "kubernetes.io/service-account.name";
            if text(&object["metadata"]["annotations"], NAME).is_empty() {
                let metadata = Path::root("metadata");
                let annotations = metadata.child("annotations");
                errors.push(Error::required(&annotations.key(NAME), ""));
            }
        }
        _ => {}
    }
}

/// Credentials of a registry are JSON.
fn docker(object: &Value, key: &str, errors: &mut Vec<Error>) {
    use base64::Engine as _;
    let place = DATA.key(key);
    let Some(encoded) = object["data"][key].as_str() else {
        errors.push(Error::required(&place, ""));
        return;
    };
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .unwrap_or_default();
    let detail = match strict::parse(&bytes) {
        Ok((Value::Object(_) | Value::Null, _)) => return,
        Ok((other, _)) => format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            strict::json_type(&other)
        ),
        Err(error) => error.to_string(),
    };
    let hidden = "<secret contents redacted>";
    errors.push(Error::invalid(&place, hidden, detail));
}

pub(super) fn config_map_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    immutable(new, old, &["data", "binaryData"], errors);
}

pub(super) fn secret_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let place = Path::root("type");
    super::field_checks::unchanged(errors, &place, &new["type"], &old["type"]);
    immutable(new, old, &["data"], errors);
}

/// What says that it is immutable can neither be changed nor made mutable again.
fn immutable(new: &Value, old: &Value, keys: &[&str], errors: &mut Vec<Error>) {
    if old["immutable"] != true {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if new["immutable"] != true {
        errors.push(Error::forbidden(&Path::root("immutable"), detail));
    }
    for key in keys {
        let is_same = new[*key] == old[*key]
            || (list(new, key).is_empty()
                && map(new, key).next().is_none()
                && map(old, key).next().is_none());
        if !is_same {
            errors.push(Error::forbidden(&Path::root(key), detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_length_is_told_of_any_text() {
        let lengths = ["", "YQ==", "YWI=", "YWJj", "YWJjZA==", "=", "====="];
        let lengths = lengths.map(|text| decoded_length(&json!(text)));
        assert_eq!(lengths, [0, 1, 2, 3, 4, 0, 0]);
    }
}
