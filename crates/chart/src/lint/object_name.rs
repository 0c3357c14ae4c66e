//! Whether an object's name is one that Kubernetes accepts for its kind, with the messages of its validation.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// The complaint about a name, if there is one.
pub(super) fn complaint(kind: &str, name: &str) -> Option<String> {
    let problems = problems(kind, name);
    let quoted = outrigger_gostd::strconv::quote(name);
    let shown: Vec<String> = problems
        .into_iter()
        .map(|problem| format!("metadata.name: Invalid value: {quoted}: {problem}"))
        .collect();
    let shown = match shown.as_slice() {
        [] => return None,
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Some(format!(
        "object name does not conform to Kubernetes naming requirements: {quoted}: {shown}"
    ))
}

fn problems(kind: &str, name: &str) -> Vec<String> {
    match kind.to_lowercase().as_str() {
        "service" => named(name, 63, is_label_1035(name), LABEL_1035),
        "namespace" => named(name, 63, is_label(name), LABEL),
        "certificatesigningrequest" => Vec::new(),
        "role" | "clusterrole" | "rolebinding" | "clusterrolebinding" => path_segment(name),
        _ => named(name, 253, name.split('.').all(is_label), SUBDOMAIN),
    }
}

fn named(name: &str, limit: usize, is_valid: bool, message: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > limit {
        problems.push(format!("must be no more than {limit} characters"));
    }
    if !is_valid {
        problems.push(message.to_owned());
    }
    problems
}

fn is_label(label: &str) -> bool {
    let is_word = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = label.as_bytes();
    bytes.first().is_some_and(is_word)
        && bytes.last().is_some_and(is_word)
        && bytes.iter().all(|b| is_word(b) || *b == b'-')
}

fn is_label_1035(label: &str) -> bool {
    is_label(label) && label.starts_with(|c: char| c.is_ascii_lowercase())
}

fn path_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    ['/', '%']
        .iter()
        .filter(|c| name.contains(**c))
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}
