//! Endpoints: validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, number, text};
use crate::table::cells::{age, name, some_of};
use crate::table::moment::Now;
use crate::validation::field_checks::{
    PROTOCOLS, push_invalid, require, validate_enum, validate_ip, validate_port_num,
};

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let path = Path::root("subsets");
    for (index, subset) in list(object, "subsets").iter().enumerate() {
        let field = path.index(index);
        let lists = ["addresses", "notReadyAddresses"];
        if lists.iter().all(|key| list(subset, key).is_empty()) {
            let detail = "must specify `addresses` or `notReadyAddresses`";
            errors.push(Error::required(&field, detail));
        }
        for key in lists {
            let field = field.child(key);
            for (index, item) in list(subset, key).iter().enumerate() {
                let ip = text(item, "ip");
                let field = field.index(index);
                let field = field.child("ip");
                if !validate_ip(errors, &field, ip) {
                    errors.push(Error::invalid(&field, ip, "must be a valid IP address"));
                }
            }
        }
        validate_ports(errors, &field.child("ports"), subset);
    }
}

fn validate_ports(errors: &mut Vec<Error>, path: &Path<'_>, subset: &Value) {
    let ports = list(subset, "ports");
    for (index, port) in ports.iter().enumerate() {
        let field = path.index(index);
        let name = text(port, "name");
        if ports.len() > 1 && name.is_empty() {
            errors.push(Error::required(&field.child("name"), ""));
        } else if !name.is_empty() {
            push_invalid(
                errors,
                &field.child("name"),
                name,
                syntax::dns1123_label(name),
            );
        }
        let number = port["port"].as_i64().unwrap_or_default();
        validate_port_num(errors, &field.child("port"), number);
        let protocol = text(port, "protocol");
        if require(errors, &field.child("protocol"), protocol) {
            validate_enum(errors, &field.child("protocol"), protocol, PROTOCOLS);
        }
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    const MOST: usize = 3;
    let subsets = list(object, "subsets");
    let mut all = Vec::new();
    for subset in subsets {
        let addresses = list(subset, "addresses").iter();
        let addresses: Vec<_> = addresses.map(|address| text(address, "ip")).collect();
        let ports = list(subset, "ports");
        if ports.is_empty() {
            all.extend(addresses.iter().map(|&address| address.to_owned()));
        }
        for port in ports {
            let number = number(port, "port");
            all.extend(addresses.iter().map(|address| {
                // IPv6 addresses are put into brackets.
                if address.contains(':') {
                    format!("[{address}]:{number}")
                } else {
                    format!("{address}:{number}")
                }
            }));
        }
    }
    let shown = if subsets.is_empty() {
        "<none>".to_owned()
    } else {
        some_of(&all, MOST)
    };
    vec![name(object), shown.into(), age(object, now)]
}
