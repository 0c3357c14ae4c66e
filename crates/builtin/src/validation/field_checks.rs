//! Validation of single fields, shared by many kinds. Absent fields are valid, unless a function says otherwise.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

pub(crate) const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

/// Requires a non-empty value. Returns whether there is one.
pub(crate) fn require(errors: &mut Vec<Error>, path: &Path<'_>, value: &str) -> bool {
    if value.is_empty() {
        errors.push(Error::required(path, ""));
    }
    !value.is_empty()
}

/// Adds an error for each message of a syntax check.
pub(crate) fn push_invalid(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    value: &str,
    messages: Vec<String>,
) {
    for message in messages {
        errors.push(Error::invalid(path, value, message));
    }
}

/// `ValidateNonnegativeField`.
pub(crate) fn validate_nonnegative(errors: &mut Vec<Error>, path: &Path<'_>, value: &Value) {
    if let Some(number) = value.as_i64()
        && number < 0
    {
        errors.push(Error::invalid(
            path,
            number,
            "must be greater than or equal to 0",
        ));
    }
}

/// [`validate_nonnegative`] for several fields of an object.
pub(crate) fn validate_nonnegative_fields(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    object: &Value,
    keys: &[&str],
) {
    for key in keys {
        validate_nonnegative(errors, &path.child(key), &object[*key]);
    }
}

/// Requires one of the supported values. Returns whether the value is one of them.
pub(crate) fn validate_enum(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    value: &str,
    supported: &[&str],
) -> bool {
    let is_supported = supported.contains(&value);
    if !is_supported {
        errors.push(Error::not_supported(path, value, supported));
    }
    is_supported
}

/// [`validate_enum`] for an optional field.
pub(crate) fn validate_optional_enum(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    value: &Value,
    supported: &[&str],
) {
    if let Some(value) = value.as_str() {
        validate_enum(errors, path, value, supported);
    }
}

/// `IsValidPortNum`.
pub(crate) fn validate_port_num(errors: &mut Vec<Error>, path: &Path<'_>, number: i64) {
    for message in syntax::port_number(number) {
        errors.push(Error::invalid(path, number, message));
    }
}

/// `ValidatePortNumOrName`.
pub(crate) fn validate_port_num_or_name(errors: &mut Vec<Error>, path: &Path<'_>, port: &Value) {
    match port {
        Value::String(name) => push_invalid(errors, path, name, syntax::port_name(name)),
        other => validate_port_num(errors, path, other.as_i64().unwrap_or_default()),
    }
}

/// Requires a number in an inclusive range.
pub(crate) fn validate_in_range(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    value: &Value,
    min: i64,
    max: i64,
) {
    if let Some(number) = value.as_i64() {
        for message in syntax::in_range(number, min, max) {
            errors.push(Error::invalid(path, number, message));
        }
    }
}

/// `ValidateLabels`, for objects, templates and node selectors.
pub(crate) fn validate_labels(errors: &mut Vec<Error>, path: &Path<'_>, labels: &Value) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        push_invalid(errors, path, key, syntax::label_key(key));
        push_invalid(errors, path, value, syntax::label_value(value));
    }
}

/// `IsValidIP`, of either family. Returns whether the value is valid.
pub(crate) fn validate_ip(errors: &mut Vec<Error>, path: &Path<'_>, value: &str) -> bool {
    let is_ip = value.parse::<std::net::IpAddr>().is_ok();
    if !is_ip {
        errors.push(Error::invalid(
            path,
            value,
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ));
    }
    is_ip
}

/// `IsValidCIDR`. Returns whether the value is valid.
pub(crate) fn validate_cidr(errors: &mut Vec<Error>, path: &Path<'_>, value: &str) -> bool {
    let is_cidr = parse_cidr(value).is_some();
    if !is_cidr {
        errors.push(Error::invalid(
            path,
            value,
            "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        ));
    }
    is_cidr
}

pub(crate) fn parse_cidr(value: &str) -> Option<(std::net::IpAddr, u32)> {
    let (address, length) = value.split_once('/')?;
    let address: std::net::IpAddr = address.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let length: u32 = is_number.then(|| length.parse().ok()).flatten()?;
    (length <= bits).then_some((address, length))
}

/// `ValidatePositiveIntOrPercent`.
pub(crate) fn validate_positive_int_or_percent(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    value: &Value,
) {
    match value {
        Value::String(percent) => push_invalid(errors, path, percent, syntax::percent(percent)),
        other => validate_nonnegative(errors, path, other),
    }
}

/// `IsNotMoreThan100Percent`. Numbers are always valid.
pub(crate) fn validate_not_more_than_100_percent(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    value: &Value,
) {
    let percent = value.as_str().and_then(|text| text.strip_suffix('%'));
    if percent.and_then(|text| text.parse::<u64>().ok()) > Some(100) {
        let detail = "must not be greater than 100%";
        errors.push(Error::invalid(path, value, detail));
    }
}

/// `ValidateImmutableField`.
pub(crate) fn validate_immutable(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    new: &Value,
    old: &Value,
) {
    if new != old {
        errors.push(Error::invalid(
            path,
            BadValue::from(new),
            "field is immutable",
        ));
    }
}
