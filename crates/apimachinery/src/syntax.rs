//! The syntax of names, keys and values, and what the real server says about a wrong one.
//!
//! Each function returns what is wrong, or nothing. The texts are part of the API: people search for them.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// A label of the Domain Name System, as most names inside objects must be.
pub fn dns_label(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 63 {
        problems.push(too_many_characters(63));
    }
    if !is_dns_label(value) {
        if is_dns_subdomain(value) {
            problems.push("must not contain dots".to_owned());
        } else {
            problems.push(pattern(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            ));
        }
    }
    problems
}

/// Labels with dots between them, as the names of most objects must be.
pub fn dns_subdomain(value: &str) -> Vec<String> {
    subdomain(value, too_many_characters(253))
}

fn subdomain(value: &str, too_long: String) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 253 {
        problems.push(too_long);
    }
    if !is_dns_subdomain(value) {
        problems.push(pattern(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        ));
    }
    problems
}

/// As a subdomain, with underscores.
pub fn dns_subdomain_with_underscore(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 253 {
        problems.push(too_many_characters(253));
    }
    let is_part = |part: &str| {
        let rest = part.strip_prefix('_').unwrap_or(part);
        is_framed(rest, is_lower_alphanumeric, |c| {
            is_lower_alphanumeric(c) || c == '-' || c == '_'
        })
    };
    if !value.split('.').all(is_part) {
        problems.push(pattern(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    problems
}

/// A subdomain behind `*.`.
pub fn wildcard_dns_subdomain(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 253 {
        problems.push(too_many_characters(253));
    }
    if !value.strip_prefix("*.").is_some_and(is_dns_subdomain) {
        problems.push(pattern(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!(r"\*\.{SUBDOMAIN}"),
            &["*.example.com"],
        ));
    }
    problems
}

/// An older form of a label, which begins with a letter: names of Services and plural names of definitions.
pub fn dns_1035_label(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 63 {
        problems.push(too_many_characters(63));
    }
    let begins_with_letter = value.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins_with_letter || !is_dns_label(value) {
        problems.push(pattern(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    problems
}

/// A key of a label: a name, perhaps with a domain and `/` before it.
pub fn label_key(value: &str) -> Vec<String> {
    const RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    const EXAMPLES: &[&str] = &["MyName", "my.name", "123-abc"];
    let parts: Vec<_> = value.split('/').collect();
    let mut problems = Vec::new();
    let name = match parts.as_slice() {
        [name] => name,
        ["", name] => {
            problems.push("prefix part must be non-empty".to_owned());
            name
        }
        [prefix, name] => {
            let wrong = subdomain(prefix, too_many_bytes(253));
            problems.extend(wrong.iter().map(|problem| format!("prefix part {problem}")));
            name
        }
        _ => {
            let rule = pattern(RULE, QUALIFIED, EXAMPLES);
            return vec![format!(
                "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        problems.push(format!("name part {}", too_many_bytes(63)));
    }
    if !is_qualified(name) {
        problems.push(format!("name part {}", pattern(RULE, QUALIFIED, EXAMPLES)));
    }
    problems
}

/// A value of a label; may be empty.
pub fn label_value(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 63 {
        problems.push(too_many_bytes(63));
    }
    if !value.is_empty() && !is_qualified(value) {
        problems.push(pattern(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            &format!("({QUALIFIED})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    problems
}

/// A key of a ConfigMap or Secret.
pub fn config_key(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 253 {
        problems.push(too_many_characters(253));
    }
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if value.is_empty() || !value.chars().all(is_key) {
        problems.push(pattern(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    problems.extend(parent_folder(value));
    problems
}

/// The name of an environment variable.
pub fn env_name(value: &str) -> Vec<String> {
    let is_plain = |c: char| c.is_ascii_graphic() || c == ' ';
    if value.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    if value.chars().all(|c| is_plain(c) && c != '=') {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
            .to_owned(),
    ]
}

/// The name of a port, as the registry of services has them.
pub fn port_name(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 15 {
        problems.push(too_many_characters(15));
    }
    if value.is_empty() || !value.chars().all(|c| is_lower_alphanumeric(c) || c == '-') {
        problems.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !value.contains(|c: char| c.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        problems.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        problems.push("must not begin or end with a hyphen".to_owned());
    }
    problems
}

/// The number of a port.
pub fn port_number(value: i64) -> Vec<String> {
    in_range(value, 1, 65535)
}

pub fn in_range(value: i64, least: i64, most: i64) -> Vec<String> {
    if (least..=most).contains(&value) {
        return Vec::new();
    }
    vec![format!("must be between {least} and {most}, inclusive")]
}

/// Part of a path of the API.
pub fn path_segment(value: &str) -> Vec<String> {
    if matches!(value, "." | "..") {
        return vec![format!("may not be '{value}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|part| value.contains(**part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// `50%`.
pub fn percent(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    vec![pattern(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

fn parent_folder(value: &str) -> Option<String> {
    match value {
        "." | ".." => Some(format!("must not be '{value}'")),
        _ if value.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}

fn is_dns_label(value: &str) -> bool {
    is_framed(value, is_lower_alphanumeric, |c| {
        is_lower_alphanumeric(c) || c == '-'
    })
}

fn is_dns_subdomain(value: &str) -> bool {
    value.split('.').all(is_dns_label)
}

fn is_qualified(value: &str) -> bool {
    is_framed(
        value,
        |c| c.is_ascii_alphanumeric(),
        |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'),
    )
}

fn is_lower_alphanumeric(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

/// Whether the ends are of one set of characters and all of another. Nothing is not.
fn is_framed(value: &str, ends: impl Fn(char) -> bool, all: impl Fn(char) -> bool) -> bool {
    value.starts_with(&ends) && value.ends_with(&ends) && value.chars().all(all)
}

fn too_many_characters(most: usize) -> String {
    format!("must be no more than {most} characters")
}

fn too_many_bytes(most: usize) -> String {
    format!("must be no more than {most} bytes")
}

fn pattern(rule: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<_> = examples
        .iter()
        .map(|example| format!("'{example}', "))
        .collect();
    format!(
        "{rule} (e.g. {}regex used for validation is '{pattern}')",
        examples.join(" or ")
    )
}
