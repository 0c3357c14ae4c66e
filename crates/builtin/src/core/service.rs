//! Service: validation, with defaults and table cells in submodules.

pub mod allocation;
pub(crate) mod defaults;
pub(crate) mod table;

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, text, texts};
use crate::validation::field_checks::{
    PROTOCOLS, push_invalid, require, validate_cidr, validate_enum, validate_ip, validate_labels,
    validate_optional_enum, validate_port_num, validate_port_num_or_name,
};

const SPEC: Path<'static> = Path::root("spec");
const PORTS: Path<'static> = SPEC.child("ports");
const MAX_AFFINITY_SECONDS: i64 = 86400;

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let type_ = text(spec, "type");
    let is_headless = text(spec, "clusterIP") == "None";
    if list(spec, "ports").is_empty() && !is_headless && type_ != "ExternalName" {
        errors.push(Error::required(&PORTS, ""));
    }
    validate_type(errors, spec, type_, is_headless);
    validate_ports(errors, spec);
    validate_labels(errors, &SPEC.child("selector"), &spec["selector"]);
    validate_session_affinity(errors, spec);
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    validate_enum(errors, &SPEC.child("type"), type_, &types);
    validate_node_ports(errors, spec, type_);
    let field = SPEC.child("externalIPs");
    for (index, ip) in texts(list(spec, "externalIPs")).enumerate() {
        validate_ip(errors, &field.index(index), ip);
    }
    validate_load_balancer(errors, spec, type_);
    validate_traffic_policies(errors, spec, type_);
    validate_cluster_ips(errors, spec, type_);
}

fn validate_type(errors: &mut Vec<Error>, spec: &Value, type_: &str, is_headless: bool) {
    match type_ {
        "LoadBalancer" | "NodePort" if is_headless => {
            let field = SPEC.child("clusterIPs");
            let detail = format!("may not be set to 'None' for {type_} services");
            errors.push(Error::invalid(&field.index(0), "None", detail));
        }
        "ExternalName" => {
            if !text(spec, "clusterIP").is_empty() || !list(spec, "clusterIPs").is_empty() {
                let detail = "may not be set for ExternalName services";
                errors.push(Error::forbidden(&SPEC.child("clusterIPs"), detail));
            }
            let name = text(spec, "externalName");
            let field = SPEC.child("externalName");
            // A trailing dot is allowed.
            let plain = name.strip_suffix('.').unwrap_or(name);
            if plain.is_empty() {
                errors.push(Error::required(&field, ""));
            } else {
                push_invalid(errors, &field, plain, syntax::dns1123_subdomain(plain));
            }
        }
        _ => {}
    }
}

fn validate_ports(errors: &mut Vec<Error>, spec: &Value) {
    let all = list(spec, "ports");
    let mut names = Vec::new();
    for (index, port) in all.iter().enumerate() {
        let field = PORTS.index(index);
        let name = text(port, "name");
        if name.is_empty() {
            if all.len() > 1 {
                errors.push(Error::required(&field.child("name"), ""));
            }
        } else {
            push_invalid(
                errors,
                &field.child("name"),
                name,
                syntax::dns1123_label(name),
            );
            if names.contains(&name) {
                errors.push(Error::duplicate(&field.child("name"), name));
            }
            names.push(name);
        }
        let number = port["port"].as_i64().unwrap_or_default();
        validate_port_num(errors, &field.child("port"), number);
        let protocol = text(port, "protocol");
        if require(errors, &field.child("protocol"), protocol) {
            validate_enum(errors, &field.child("protocol"), protocol, PROTOCOLS);
        }
        validate_port_num_or_name(errors, &field.child("targetPort"), &port["targetPort"]);
        let application = text(port, "appProtocol");
        if !application.is_empty() {
            let messages = syntax::label_key(application);
            push_invalid(errors, &field.child("appProtocol"), application, messages);
        }
    }
}

fn validate_session_affinity(errors: &mut Vec<Error>, spec: &Value) {
    let affinity = text(spec, "sessionAffinity");
    let field = SPEC.child("sessionAffinity");
    if require(errors, &field, affinity) {
        validate_enum(errors, &field, affinity, &["ClientIP", "None"]);
    }
    if affinity != "ClientIP" {
        return;
    }
    let seconds = &spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
    let seconds = seconds.as_i64().unwrap_or_default();
    if seconds <= 0 || seconds > MAX_AFFINITY_SECONDS {
        let field = SPEC.child("sessionAffinityConfig");
        let field = field.child("clientIP");
        let detail = format!("must be greater than 0 and less than {MAX_AFFINITY_SECONDS}");
        errors.push(Error::invalid(
            &field.child("timeoutSeconds"),
            seconds,
            detail,
        ));
    }
}

fn validate_node_ports(errors: &mut Vec<Error>, spec: &Value, type_: &str) {
    if type_ == "ClusterIP" {
        for (index, port) in list(spec, "ports").iter().enumerate() {
            if port["nodePort"].as_i64().unwrap_or_default() != 0 {
                let field = PORTS.index(index);
                let detail = "may not be used when `type` is 'ClusterIP'";
                errors.push(Error::forbidden(&field.child("nodePort"), detail));
            }
        }
    }
    let mut seen = Vec::new();
    for (index, port) in list(spec, "ports").iter().enumerate() {
        let key = (text(port, "protocol"), port["port"].as_i64());
        if seen.contains(&key) {
            let bad_value = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                port["protocol"], port["port"]
            );
            errors.push(Error::duplicate(
                &PORTS.index(index),
                BadValue::verbatim(bad_value),
            ));
        }
        seen.push(key);
    }
}

fn validate_load_balancer(errors: &mut Vec<Error>, spec: &Value, type_: &str) {
    const ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
    let is_load_balancer = type_ == "LoadBalancer";
    // The capital letter is kube-apiserver's.
    let ranges = SPEC.child("LoadBalancerSourceRanges");
    let all = list(spec, "loadBalancerSourceRanges");
    if !all.is_empty() && !is_load_balancer {
        errors.push(Error::forbidden(&ranges, ONLY));
    }
    for (index, range) in texts(all).enumerate() {
        validate_cidr(errors, &ranges.index(index), range.trim());
    }
    for key in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        if !spec[key].is_null() && !is_load_balancer {
            errors.push(Error::forbidden(&SPEC.child(key), ONLY));
        }
    }
    let class = text(spec, "loadBalancerClass");
    if is_load_balancer && !class.is_empty() {
        let field = SPEC.child("loadBalancerClass");
        push_invalid(errors, &field, class, syntax::label_key(class));
    }
}

fn validate_traffic_policies(errors: &mut Vec<Error>, spec: &Value, type_: &str) {
    let field = SPEC.child("internalTrafficPolicy");
    let policies = ["Cluster", "Local"];
    validate_optional_enum(errors, &field, &spec["internalTrafficPolicy"], &policies);
    let is_externally_accessible = matches!(type_, "LoadBalancer" | "NodePort")
        || (type_ == "ClusterIP" && !list(spec, "externalIPs").is_empty());
    let policy = text(spec, "externalTrafficPolicy");
    let field = SPEC.child("externalTrafficPolicy");
    if !policy.is_empty() && !is_externally_accessible {
        let detail = "may only be set for externally-accessible services";
        errors.push(Error::invalid(&field, policy, detail));
    } else if !policy.is_empty() {
        validate_enum(errors, &field, policy, &policies);
    }
    let check = spec["healthCheckNodePort"].as_i64().unwrap_or_default();
    if check != 0 && !(type_ == "LoadBalancer" && policy == "Local") {
        let field = SPEC.child("healthCheckNodePort");
        let detail =
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(Error::invalid(&field, check, detail));
    }
    let field = SPEC.child("trafficDistribution");
    let kinds = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    validate_optional_enum(errors, &field, &spec["trafficDistribution"], &kinds);
}

fn validate_cluster_ips(errors: &mut Vec<Error>, spec: &Value, type_: &str) {
    if type_ == "ExternalName" {
        return;
    }
    let field = SPEC.child("clusterIPs");
    let given = list(spec, "clusterIPs");
    let single = [spec["clusterIP"].clone()];
    let all = if given.is_empty() { &single } else { given };
    for (index, ip) in texts(all).enumerate() {
        if !matches!(ip, "" | "None") {
            validate_ip(errors, &field.index(index), ip);
        }
    }
    let first = text(spec, "clusterIP");
    if !given.is_empty() && !first.is_empty() && given[0] != first {
        let field = SPEC.child("clusterIP");
        let detail = "must be the same as clusterIPs[0]";
        errors.push(Error::invalid(&field, first, detail));
    }
}

/// The cluster IP is immutable, unless the type changes from or to `ExternalName`.
pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let (new, old) = (&new["spec"], &old["spec"]);
    let has_address = |spec: &Value| text(spec, "type") != "ExternalName";
    if !has_address(new) || !has_address(old) {
        return;
    }
    let (ip, before) = (text(new, "clusterIP"), text(old, "clusterIP"));
    // An omitted cluster IP is copied from the old object later.
    if !ip.is_empty() && !before.is_empty() && ip != before {
        let field = SPEC.child("clusterIPs");
        let field = field.index(0);
        let bad_value = BadValue::verbatim(format!("[\"{ip}\"]"));
        errors.push(Error::invalid(&field, bad_value, "may not change once set"));
    }
}
