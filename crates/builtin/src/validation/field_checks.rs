//! Checks of single fields that many kinds share.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::{Map, Value};

pub(super) const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

/// A text field; empty if absent.
pub(super) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

/// A list field; empty if absent.
pub(super) fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object[key].as_array().map_or(&[], Vec::as_slice)
}

/// A map field; empty if absent.
pub(super) fn map<'a>(
    object: &'a Value,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let map: Option<&Map<String, Value>> = object[key].as_object();
    map.into_iter().flatten()
}

pub(super) fn texts(values: &[Value]) -> impl Iterator<Item = &str> {
    values
        .iter()
        .map(|value| value.as_str().unwrap_or_default())
}

/// Something must be there.
pub(super) fn required(errors: &mut Vec<Error>, path: &Path<'_>, value: &str) -> bool {
    if value.is_empty() {
        errors.push(Error::required(path, ""));
    }
    !value.is_empty()
}

/// One error for each problem that the syntax of a value has.
pub(super) fn each(errors: &mut Vec<Error>, path: &Path<'_>, value: &str, problems: Vec<String>) {
    for problem in problems {
        errors.push(Error::invalid(path, value, problem));
    }
}

/// A number is not below zero. Absent is fine.
pub(super) fn not_negative(errors: &mut Vec<Error>, path: &Path<'_>, value: &Value) {
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

/// The same for several fields of an object.
pub(super) fn none_negative(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    object: &Value,
    keys: &[&str],
) {
    for key in keys {
        not_negative(errors, &path.child(key), &object[*key]);
    }
}

/// A value is one of those that are supported.
pub(super) fn one_of(
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

/// As [`one_of`], if there is a value.
pub(super) fn one_of_if_set(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    value: &Value,
    supported: &[&str],
) {
    if let Some(value) = value.as_str() {
        one_of(errors, path, value, supported);
    }
}

/// The number of a port.
pub(super) fn port_number(errors: &mut Vec<Error>, path: &Path<'_>, number: i64) {
    for problem in syntax::port_number(number) {
        errors.push(Error::invalid(path, number, problem));
    }
}

/// A port by its number or its name.
pub(super) fn port_or_name(errors: &mut Vec<Error>, path: &Path<'_>, port: &Value) {
    match port {
        Value::String(name) => each(errors, path, name, syntax::port_name(name)),
        other => port_number(errors, path, other.as_i64().unwrap_or_default()),
    }
}

/// A number between two others.
pub(super) fn in_range(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    value: &Value,
    least: i64,
    most: i64,
) {
    if let Some(number) = value.as_i64() {
        for problem in syntax::in_range(number, least, most) {
            errors.push(Error::invalid(path, number, problem));
        }
    }
}

/// Labels of an object, of a template or in a selector of nodes.
pub(super) fn labels(errors: &mut Vec<Error>, path: &Path<'_>, labels: &Value) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        each(errors, path, key, syntax::label_key(key));
        each(errors, path, value, syntax::label_value(value));
    }
}

/// An address of either family.
pub(super) fn address(errors: &mut Vec<Error>, path: &Path<'_>, value: &str) -> bool {
    let is_address = value.parse::<std::net::IpAddr>().is_ok();
    if !is_address {
        errors.push(Error::invalid(
            path,
            value,
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ));
    }
    is_address
}

/// A range of addresses as network and length of its prefix.
pub(super) fn network(errors: &mut Vec<Error>, path: &Path<'_>, value: &str) -> bool {
    let is_network = parse_network(value).is_some();
    if !is_network {
        errors.push(Error::invalid(
            path,
            value,
            "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        ));
    }
    is_network
}

pub(super) fn parse_network(value: &str) -> Option<(std::net::IpAddr, u32)> {
    let (address, length) = value.split_once('/')?;
    let address: std::net::IpAddr = address.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let length: u32 = is_number.then(|| length.parse().ok()).flatten()?;
    (length <= bits).then_some((address, length))
}

/// A count or a percentage.
pub(super) fn count_or_percent(errors: &mut Vec<Error>, path: &Path<'_>, value: &Value) {
    match value {
        Value::String(percent) => each(errors, path, percent, syntax::percent(percent)),
        other => not_negative(errors, path, other),
    }
}

/// A percentage is not above a hundred. A count always passes.
pub(super) fn at_most_all(errors: &mut Vec<Error>, path: &Path<'_>, value: &Value) {
    let percent = value.as_str().and_then(|text| text.strip_suffix('%'));
    if percent.and_then(|text| text.parse::<u64>().ok()) > Some(100) {
        let detail = "must not be greater than 100%";
        errors.push(Error::invalid(path, value, detail));
    }
}

/// A field that cannot be changed is as it was.
pub(super) fn unchanged(errors: &mut Vec<Error>, path: &Path<'_>, new: &Value, old: &Value) {
    if new != old {
        errors.push(Error::invalid(
            path,
            BadValue::from(new),
            "field is immutable",
        ));
    }
}
