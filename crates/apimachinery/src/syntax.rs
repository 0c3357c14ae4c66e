//! The syntax of names, keys and values, after `k8s.io/apimachinery/pkg/util/validation`.
//!
//! Each function returns the error messages of kube-apiserver, none if the value is valid.

use std::net::IpAddr;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// `IsDNS1123Label`, required of most names inside objects.
pub fn dns1123_label(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 63 {
        messages.push(too_many_characters(63));
    }
    if !is_dns_label(value) {
        if is_dns_subdomain(value) {
            messages.push("must not contain dots".to_owned());
        } else {
            messages.push(pattern(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            ));
        }
    }
    messages
}

/// `IsDNS1123Subdomain`, required of most object names.
pub fn dns1123_subdomain(value: &str) -> Vec<String> {
    subdomain(value, too_many_characters(253))
}

fn subdomain(value: &str, too_long: String) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 253 {
        messages.push(too_long);
    }
    if !is_dns_subdomain(value) {
        messages.push(pattern(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        ));
    }
    messages
}

/// `IsDNS1123SubdomainWithUnderscore`.
pub fn dns1123_subdomain_with_underscore(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 253 {
        messages.push(too_many_characters(253));
    }
    let is_part = |part: &str| {
        let rest = part.strip_prefix('_').unwrap_or(part);
        is_bounded(rest, is_lower_alphanumeric, |c| {
            is_lower_alphanumeric(c) || c == '-' || c == '_'
        })
    };
    if !value.split('.').all(is_part) {
        messages.push(pattern(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    messages
}

/// `IsWildcardDNS1123Subdomain`.
pub fn wildcard_dns1123_subdomain(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 253 {
        messages.push(too_many_characters(253));
    }
    if !value.strip_prefix("*.").is_some_and(is_dns_subdomain) {
        messages.push(pattern(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!(r"\*\.{SUBDOMAIN}"),
            &["*.example.com"],
        ));
    }
    messages
}

/// `IsDNS1035Label`, which starts with a letter: names of Services, plural names of custom resources.
pub fn dns1035_label(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 63 {
        messages.push(too_many_characters(63));
    }
    let starts_with_letter = value.starts_with(|c: char| c.is_ascii_lowercase());
    if !starts_with_letter || !is_dns_label(value) {
        messages.push(pattern(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    messages
}

/// A label key: a name with an optional DNS subdomain prefix and `/`.
pub fn label_key(value: &str) -> Vec<String> {
    const RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    const EXAMPLES: &[&str] = &["MyName", "my.name", "123-abc"];
    let parts: Vec<_> = value.split('/').collect();
    let mut messages = Vec::new();
    let name = match parts.as_slice() {
        [name] => name,
        ["", name] => {
            messages.push("prefix part must be non-empty".to_owned());
            name
        }
        [prefix, name] => {
            let invalid = subdomain(prefix, too_many_bytes(253));
            messages.extend(
                invalid
                    .iter()
                    .map(|message| format!("prefix part {message}")),
            );
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
        messages.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        messages.push(format!("name part {}", too_many_bytes(63)));
    }
    if !is_qualified(name) {
        messages.push(format!("name part {}", pattern(RULE, QUALIFIED, EXAMPLES)));
    }
    messages
}

/// A label value. May be empty.
pub fn label_value(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 63 {
        messages.push(too_many_bytes(63));
    }
    if !value.is_empty() && !is_qualified(value) {
        messages.push(pattern(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            &format!("({QUALIFIED})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    messages
}

/// `IsConfigMapKey`, for `ConfigMaps` and Secrets.
pub fn config_map_key(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 253 {
        messages.push(too_many_characters(253));
    }
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if value.is_empty() || !value.chars().all(is_key) {
        messages.push(pattern(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    messages.extend(parent_directory(value));
    messages
}

/// `IsRelaxedEnvVarName`.
pub fn env_var_name(value: &str) -> Vec<String> {
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

/// `IsValidPortName`, the syntax of IANA service names.
pub fn port_name(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 15 {
        messages.push(too_many_characters(15));
    }
    if value.is_empty() || !value.chars().all(|c| is_lower_alphanumeric(c) || c == '-') {
        messages.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !value.contains(|c: char| c.is_ascii_lowercase()) {
        messages.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        messages.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        messages.push("must not begin or end with a hyphen".to_owned());
    }
    messages
}

/// `IsValidPortNum`.
pub fn port_number(value: i64) -> Vec<String> {
    in_range(value, 1, 65535)
}

pub fn in_range(value: i64, min: i64, max: i64) -> Vec<String> {
    if (min..=max).contains(&value) {
        return Vec::new();
    }
    vec![format!("must be between {min} and {max}, inclusive")]
}

/// `IsValidPathSegmentName`.
/// `ValidateIPAddressName`: the name of an `IPAddress` is a canonical address.
pub fn ip_address(value: &str) -> Vec<String> {
    match value.parse::<IpAddr>() {
        Ok(address) if address.to_string() == value => Vec::new(),
        Ok(address) => vec![format!("must be in canonical form (\"{address}\")")],
        Err(_) => {
            let quoted = format!("{value:?}");
            vec![format!("ParseAddr({quoted}): unable to parse IP")]
        }
    }
}

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

/// The format of the reason of a condition, but not its length.
pub fn condition_reason(value: &str) -> Vec<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_reason = value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.ends_with(is_word)
        && value.chars().all(|c| is_word(c) || matches!(c, ',' | ':'));
    if is_reason {
        return Vec::new();
    }
    vec![pattern(
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
        "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
        &[
            "my_name",
            "MY_NAME",
            "MyName",
            "ReasonA,ReasonB",
            "ReasonA:ReasonB",
        ],
    )]
}

/// `IsValidPercent`.
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

fn parent_directory(value: &str) -> Option<String> {
    match value {
        "." | ".." => Some(format!("must not be '{value}'")),
        _ if value.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}

fn is_dns_label(value: &str) -> bool {
    is_bounded(value, is_lower_alphanumeric, |c| {
        is_lower_alphanumeric(c) || c == '-'
    })
}

fn is_dns_subdomain(value: &str) -> bool {
    value.split('.').all(is_dns_label)
}

fn is_qualified(value: &str) -> bool {
    is_bounded(
        value,
        |c| c.is_ascii_alphanumeric(),
        |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'),
    )
}

fn is_lower_alphanumeric(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

/// Whether the first and the last character match `ends`, and all characters match `all`. False for the empty string.
fn is_bounded(value: &str, ends: impl Fn(char) -> bool, all: impl Fn(char) -> bool) -> bool {
    value.starts_with(&ends) && value.ends_with(&ends) && value.chars().all(all)
}

fn too_many_characters(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn too_many_bytes(max: usize) -> String {
    format!("must be no more than {max} bytes")
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
