//! Endpoints and `EndpointSlices`.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{
    PROTOCOLS, address, each, list, one_of, port_number, required, text, texts, unchanged,
};

pub(super) fn endpoints(object: &Value, errors: &mut Vec<Error>) {
    let path = Path::root("subsets");
    for (index, subset) in list(object, "subsets").iter().enumerate() {
        let place = path.index(index);
        let lists = ["addresses", "notReadyAddresses"];
        if lists.iter().all(|key| list(subset, key).is_empty()) {
            let detail = "must specify `addresses` or `notReadyAddresses`";
            errors.push(Error::required(&place, detail));
        }
        for key in lists {
            let place = place.child(key);
            for (index, item) in list(subset, key).iter().enumerate() {
                let ip = text(item, "ip");
                let place = place.index(index);
                let place = place.child("ip");
                if !address(errors, &place, ip) {
                    errors.push(Error::invalid(&place, ip, "must be a valid IP address"));
                }
            }
        }
        subset_ports(errors, &place.child("ports"), subset);
    }
}

fn subset_ports(errors: &mut Vec<Error>, path: &Path<'_>, subset: &Value) {
    let ports = list(subset, "ports");
    for (index, port) in ports.iter().enumerate() {
        let place = path.index(index);
        let name = text(port, "name");
        if ports.len() > 1 && name.is_empty() {
            errors.push(Error::required(&place.child("name"), ""));
        } else if !name.is_empty() {
            each(
                errors,
                &place.child("name"),
                name,
                syntax::dns1123_label(name),
            );
        }
        let number = port["port"].as_i64().unwrap_or_default();
        port_number(errors, &place.child("port"), number);
        let protocol = text(port, "protocol");
        if required(errors, &place.child("protocol"), protocol) {
            one_of(errors, &place.child("protocol"), protocol, PROTOCOLS);
        }
    }
}

pub(super) fn slice(object: &Value, errors: &mut Vec<Error>) {
    let type_ = text(object, "addressType");
    let place = Path::root("addressType");
    if required(errors, &place, type_) {
        one_of(errors, &place, type_, &["FQDN", "IPv4", "IPv6"]);
    }
    let path = Path::root("endpoints");
    for (index, endpoint) in list(object, "endpoints").iter().enumerate() {
        let place = path.index(index);
        let place = place.child("addresses");
        let addresses = list(endpoint, "addresses");
        if addresses.is_empty() {
            let detail = "must contain at least 1 address";
            errors.push(Error::required(&place, detail));
        }
        for (index, item) in texts(addresses).enumerate() {
            match type_ {
                "IPv4" | "IPv6" => slice_address(errors, &place.index(index), item, type_),
                "FQDN" => each(
                    errors,
                    &place.index(index),
                    item,
                    syntax::dns1123_subdomain(item),
                ),
                _ => {}
            }
        }
    }
    slice_ports(errors, object);
}

fn slice_address(errors: &mut Vec<Error>, path: &Path<'_>, item: &str, type_: &str) {
    if !address(errors, path, item) {
        return;
    }
    let is_short = item.parse::<std::net::Ipv4Addr>().is_ok();
    if is_short != (type_ == "IPv4") {
        let detail = format!("must be an {type_} address");
        errors.push(Error::invalid(path, item, detail));
    }
}

fn slice_ports(errors: &mut Vec<Error>, object: &Value) {
    let path = Path::root("ports");
    let mut names = Vec::new();
    for (index, port) in list(object, "ports").iter().enumerate() {
        let place = path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            each(
                errors,
                &place.child("name"),
                name,
                syntax::dns1123_label(name),
            );
        }
        if names.contains(&name) {
            errors.push(Error::duplicate(&place.child("name"), name));
        }
        names.push(name);
        let protocol = text(port, "protocol");
        one_of(errors, &place.child("protocol"), protocol, PROTOCOLS);
    }
}

pub(super) fn slice_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let key = "addressType";
    unchanged(errors, &Path::root(key), &new[key], &old[key]);
}
