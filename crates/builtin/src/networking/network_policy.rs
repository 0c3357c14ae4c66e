//! `NetworkPolicy`: defaults, validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::{Map, Value, json};

use crate::fields::{list, object_mut, set_missing, text, texts};
use crate::table::cells::{age, format_selector, name};
use crate::table::moment::Now;
use crate::validation::field_checks::{
    parse_cidr, validate_cidr, validate_enum, validate_optional_enum, validate_port_num_or_name,
};
use crate::validation::label_selector;

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn set_defaults(policy: &mut Map<String, Value>) {
    if let Some(spec) = object_mut(policy, "spec") {
        let types = if spec.contains_key("egress") {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
        set_missing(spec, [("policyTypes", types)]);
    }
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let field = SPEC.child("podSelector");
    label_selector::validate(errors, &field, &spec["podSelector"]);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let field = SPEC.child(direction);
        for (index, rule) in list(spec, direction).iter().enumerate() {
            let field = field.index(index);
            validate_ports(errors, &field.child("ports"), rule);
            let field = field.child(peers);
            for (index, item) in list(rule, peers).iter().enumerate() {
                validate_peer(errors, &field.index(index), item);
            }
        }
    }
    let field = SPEC.child("policyTypes");
    let types = list(spec, "policyTypes");
    if types.len() > 2 {
        let detail = "may not specify more than two policyTypes";
        errors.push(Error::invalid(&field, &spec["policyTypes"], detail));
        return;
    }
    for (index, type_) in texts(types).enumerate() {
        validate_enum(errors, &field.index(index), type_, &["Ingress", "Egress"]);
    }
}

fn validate_ports(errors: &mut Vec<Error>, path: &Path<'_>, rule: &Value) {
    for (index, port) in list(rule, "ports").iter().enumerate() {
        let field = path.index(index);
        let protocols = ["TCP", "UDP", "SCTP"];
        validate_optional_enum(
            errors,
            &field.child("protocol"),
            &port["protocol"],
            &protocols,
        );
        let (first, last) = (&port["port"], port["endPort"].as_i64());
        let on_last = field.child("endPort");
        if first.is_null() {
            if let Some(last) = last {
                let detail = "may not be specified when `port` is not specified";
                errors.push(Error::invalid(&on_last, last, detail));
            }
            continue;
        }
        validate_port_num_or_name(errors, &field.child("port"), first);
        let (Some(last), Some(first)) = (last, first.as_i64()) else {
            continue;
        };
        if last < first {
            // kube-apiserver shows `port` here.
            let detail = "must be greater than or equal to `port`";
            errors.push(Error::invalid(&on_last, first, detail));
        }
    }
}

fn validate_peer(errors: &mut Vec<Error>, path: &Path<'_>, peer: &Value) {
    let mut has_one = false;
    for key in ["podSelector", "namespaceSelector"] {
        if peer[key].is_object() {
            has_one = true;
            label_selector::validate(errors, &path.child(key), &peer[key]);
        }
    }
    let block = &peer["ipBlock"];
    if block.is_object() {
        let field = path.child("ipBlock");
        validate_ip_block(errors, &field, block);
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

fn validate_ip_block(errors: &mut Vec<Error>, path: &Path<'_>, block: &Value) {
    let range = text(block, "cidr");
    if range.is_empty() {
        errors.push(Error::required(&path.child("cidr"), ""));
        return;
    }
    if !validate_cidr(errors, &path.child("cidr"), range) {
        return;
    }
    let field = path.child("except");
    for (index, except) in texts(list(block, "except")).enumerate() {
        let field = field.index(index);
        if validate_cidr(errors, &field, except) && !is_strict_subset(except, range) {
            let detail = "must be a strict subset of `cidr`";
            errors.push(Error::invalid(&field, except, detail));
        }
    }
}

fn is_strict_subset(inner: &str, outer: &str) -> bool {
    use std::net::IpAddr;
    let (Some(inner), Some(outer)) = (parse_cidr(inner), parse_cidr(outer)) else {
        return false;
    };
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
        IpAddr::V6(address) => u128::from(address),
    };
    let same_family = inner.0.is_ipv4() == outer.0.is_ipv4();
    let mask = 128_u32
        .checked_sub(outer.1)
        .and_then(|hosts| u128::MAX.checked_shl(hosts))
        .unwrap_or(0);
    same_family && inner.1 > outer.1 && bits(inner.0) & mask == bits(outer.0) & mask
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let chosen = &object["spec"]["podSelector"];
    vec![
        name(object),
        format_selector(chosen).into(),
        age(object, now),
    ]
}
