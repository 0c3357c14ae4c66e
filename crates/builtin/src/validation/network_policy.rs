//! Network policies.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use super::field_checks::{
    list, network, one_of, one_of_if_set, parse_network, port_or_name, text, texts,
};
use super::selector;

const SPEC: Path<'static> = Path::root("spec");

pub(super) fn check(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let place = SPEC.child("podSelector");
    selector::check(errors, &place, &spec["podSelector"]);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let place = SPEC.child(direction);
        for (index, rule) in list(spec, direction).iter().enumerate() {
            let place = place.index(index);
            ports(errors, &place.child("ports"), rule);
            let place = place.child(peers);
            for (index, item) in list(rule, peers).iter().enumerate() {
                peer(errors, &place.index(index), item);
            }
        }
    }
    let place = SPEC.child("policyTypes");
    let types = list(spec, "policyTypes");
    if types.len() > 2 {
        let detail = "may not specify more than two policyTypes";
        errors.push(Error::invalid(&place, &spec["policyTypes"], detail));
        return;
    }
    for (index, type_) in texts(types).enumerate() {
        one_of(errors, &place.index(index), type_, &["Ingress", "Egress"]);
    }
}

fn ports(errors: &mut Vec<Error>, path: &Path<'_>, rule: &Value) {
    for (index, port) in list(rule, "ports").iter().enumerate() {
        let place = path.index(index);
        let protocols = ["TCP", "UDP", "SCTP"];
        one_of_if_set(
            errors,
            &place.child("protocol"),
            &port["protocol"],
            &protocols,
        );
        let (first, last) = (&port["port"], port["endPort"].as_i64());
        let on_last = place.child("endPort");
        if first.is_null() {
            if let Some(last) = last {
                let detail = "may not be specified when `port` is not specified";
                errors.push(Error::invalid(&on_last, last, detail));
            }
            continue;
        }
        port_or_name(errors, &place.child("port"), first);
        let (Some(last), Some(first)) = (last, first.as_i64()) else {
            continue;
        };
        if last < first {
            // The real server shows the first port here.
            let detail = "must be greater than or equal to `port`";
            errors.push(Error::invalid(&on_last, first, detail));
        }
    }
}

fn peer(errors: &mut Vec<Error>, path: &Path<'_>, peer: &Value) {
    let mut has_one = false;
    for key in ["podSelector", "namespaceSelector"] {
        if peer[key].is_object() {
            has_one = true;
            selector::check(errors, &path.child(key), &peer[key]);
        }
    }
    let block = &peer["ipBlock"];
    if block.is_object() {
        let place = path.child("ipBlock");
        addresses(errors, &place, block);
        if has_one {
            let detail = "may not specify both ipBlock and another peer";
            errors.push(Error::forbidden(path, detail));
        }
        has_one = true;
    }
    if !has_one {
        errors.push(Error::required(path, "must specify a peer"));
    }
}

fn addresses(errors: &mut Vec<Error>, path: &Path<'_>, block: &Value) {
    let range = text(block, "cidr");
    if range.is_empty() {
        errors.push(Error::required(&path.child("cidr"), ""));
        return;
    }
    if !network(errors, &path.child("cidr"), range) {
        return;
    }
    let place = path.child("except");
    for (index, except) in texts(list(block, "except")).enumerate() {
        let place = place.index(index);
        if network(errors, &place, except) && !is_strictly_inside(except, range) {
            let detail = "must be a strict subset of `cidr`";
            errors.push(Error::invalid(&place, except, detail));
        }
    }
}

fn is_strictly_inside(inner: &str, outer: &str) -> bool {
    use std::net::IpAddr;
    let (Some(inner), Some(outer)) = (parse_network(inner), parse_network(outer)) else {
        return false;
    };
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
        IpAddr::V6(address) => u128::from(address),
    };
    let same_family = inner.0.is_ipv4() == outer.0.is_ipv4();
    let mask = u128::MAX.checked_shl(128 - outer.1).unwrap_or(0);
    same_family && inner.1 > outer.1 && bits(inner.0) & mask == bits(outer.0) & mask
}
