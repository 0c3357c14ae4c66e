//! Validates the name of an object by its kind, with the messages of apimachinery.

use crate::dns_name;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// The error about an invalid name.
pub(super) fn error(kind: &str, name: &str) -> Option<String> {
    let quoted = outrigger_gostd::strconv::quote(name);
    let errors: Vec<String> = validate(kind, name)
        .into_iter()
        .map(|error| format!("metadata.name: Invalid value: {quoted}: {error}"))
        .collect();
    let errors = match errors.as_slice() {
        [] => return None,
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Some(format!(
        "object name does not conform to Kubernetes naming requirements: {quoted}: {errors}"
    ))
}

fn validate(kind: &str, name: &str) -> Vec<String> {
    match kind.to_lowercase().as_str() {
        "service" => dns_errors(name, 63, dns_name::is_label_1035(name), LABEL_1035),
        "namespace" => dns_errors(name, 63, dns_name::is_label(name), LABEL),
        "certificatesigningrequest" => Vec::new(),
        "role" | "clusterrole" | "rolebinding" | "clusterrolebinding" => path_segment_errors(name),
        _ => dns_errors(name, 253, dns_name::is_subdomain(name), SUBDOMAIN),
    }
}

fn dns_errors(name: &str, max_length: usize, is_valid: bool, message: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > max_length {
        errors.push(format!("must be no more than {max_length} characters"));
    }
    if !is_valid {
        errors.push(message.to_owned());
    }
    errors
}

fn path_segment_errors(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    ['/', '%']
        .iter()
        .filter(|c| name.contains(**c))
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}
