//! Secret: defaults, validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use outrigger_structural::schema::strict;
use serde_json::{Map, Value, json};

use super::config_map::{DATA, MAX_SIZE, count, decoded_size, validate_immutable_data};
use crate::fields::{map, object_mut, set_missing, text};
use crate::table::cells::{age, name};
use crate::table::moment::Now;
use crate::validation::field_checks::{push_invalid, validate_immutable};

/// Merges the write-only `stringData` into `data`.
pub(crate) fn set_defaults(secret: &mut Map<String, Value>) {
    use base64::Engine as _;
    set_missing(secret, [("type", json!("Opaque"))]);
    let Some(Value::Object(texts)) = secret.remove("stringData") else {
        return;
    };
    let engine = base64::engine::general_purpose::STANDARD;
    if let Some(data) = object_mut(secret, "data") {
        for (key, value) in texts {
            let bytes = engine.encode(value.as_str().unwrap_or_default());
            data.insert(key, bytes.into());
        }
    }
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let mut size = 0;
    for (key, value) in map(object, "data") {
        push_invalid(errors, &DATA.key(key), key, syntax::config_map_key(key));
        size = decoded_size(value).saturating_add(size);
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
        "kubernetes.io/dockerconfigjson" => {
            validate_docker_config(object, ".dockerconfigjson", errors);
        }
        "kubernetes.io/dockercfg" => validate_docker_config(object, ".dockercfg", errors),
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

/// Validates that registry credentials are a JSON object.
fn validate_docker_config(object: &Value, key: &str, errors: &mut Vec<Error>) {
    use base64::Engine as _;
    let field = DATA.key(key);
    let Some(encoded) = object["data"][key].as_str() else {
        errors.push(Error::required(&field, ""));
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
    errors.push(Error::invalid(&field, hidden, detail));
}

pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let field = Path::root("type");
    validate_immutable(errors, &field, &new["type"], &old["type"]);
    validate_immutable_data(new, old, &["data"], errors);
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    vec![
        name(object),
        text(object, "type").into(),
        count(object, "data").into(),
        age(object, now),
    ]
}
