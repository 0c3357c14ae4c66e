//! `EndpointSlice`: validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, text, texts};
use crate::table::cells::{age, name, some_of, strings};
use crate::table::moment::Now;
use crate::validation::field_checks::{
    PROTOCOLS, push_invalid, require, validate_enum, validate_immutable, validate_ip,
};

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let type_ = text(object, "addressType");
    let field = Path::root("addressType");
    if require(errors, &field, type_) {
        validate_enum(errors, &field, type_, &["FQDN", "IPv4", "IPv6"]);
    }
    let path = Path::root("endpoints");
    for (index, endpoint) in list(object, "endpoints").iter().enumerate() {
        let field = path.index(index);
        let field = field.child("addresses");
        let addresses = list(endpoint, "addresses");
        if addresses.is_empty() {
            let detail = "must contain at least 1 address";
            errors.push(Error::required(&field, detail));
        }
        for (index, item) in texts(addresses).enumerate() {
            match type_ {
                "IPv4" | "IPv6" => validate_address(errors, &field.index(index), item, type_),
                "FQDN" => push_invalid(
                    errors,
                    &field.index(index),
                    item,
                    syntax::dns1123_subdomain(item),
                ),
                _ => {}
            }
        }
    }
    validate_ports(errors, object);
}

fn validate_address(errors: &mut Vec<Error>, path: &Path<'_>, item: &str, type_: &str) {
    if !validate_ip(errors, path, item) {
        return;
    }
    let is_short = item.parse::<std::net::Ipv4Addr>().is_ok();
    if is_short != (type_ == "IPv4") {
        let detail = format!("must be an {type_} address");
        errors.push(Error::invalid(path, item, detail));
    }
}

fn validate_ports(errors: &mut Vec<Error>, object: &Value) {
    let path = Path::root("ports");
    let mut names = Vec::new();
    for (index, port) in list(object, "ports").iter().enumerate() {
        let field = path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            push_invalid(
                errors,
                &field.child("name"),
                name,
                syntax::dns1123_label(name),
            );
        }
        if names.contains(&name) {
            errors.push(Error::duplicate(&field.child("name"), name));
        }
        names.push(name);
        let protocol = text(port, "protocol");
        validate_enum(errors, &field.child("protocol"), protocol, PROTOCOLS);
    }
}

pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let key = "addressType";
    validate_immutable(errors, &Path::root(key), &new[key], &old[key]);
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    const MOST: usize = 3;
    let ports = list(object, "ports").iter();
    let ports: Vec<_> = ports
        .map(
            |port| match (port["port"].as_i64(), port["name"].as_str()) {
                (Some(number), _) => number.to_string(),
                (None, Some(name)) => name.to_owned(),
                (None, None) => "*".to_owned(),
            },
        )
        .collect();
    let endpoints = list(object, "endpoints").iter();
    let addresses: Vec<_> = endpoints
        .flat_map(|endpoint| strings(endpoint, "addresses"))
        .map(str::to_owned)
        .collect();
    let shown = |items: &[String]| match some_of(items, MOST) {
        none if none.is_empty() => "<unset>".to_owned(),
        some => some,
    };
    vec![
        name(object),
        text(object, "addressType").into(),
        shown(&ports).into(),
        shown(&addresses).into(),
        age(object, now),
    ]
}
