//! Services.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{
    PROTOCOLS, address, each, labels, list, network, one_of, one_of_if_set, port_number,
    port_or_name, required, text, texts,
};

const SPEC: Path<'static> = Path::root("spec");
const PORTS: Path<'static> = SPEC.child("ports");
const MAX_AFFINITY_SECONDS: i64 = 86400;

pub(super) fn check(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let type_ = text(spec, "type");
    let is_headless = text(spec, "clusterIP") == "None";
    if list(spec, "ports").is_empty() && !is_headless && type_ != "ExternalName" {
        errors.push(Error::required(&PORTS, ""));
    }
    by_type(errors, spec, type_, is_headless);
    ports(errors, spec);
    labels(errors, &SPEC.child("selector"), &spec["selector"]);
    affinity(errors, spec);
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    one_of(errors, &SPEC.child("type"), type_, &types);
    port_conflicts(errors, spec, type_);
    let place = SPEC.child("externalIPs");
    for (index, ip) in texts(list(spec, "externalIPs")).enumerate() {
        address(errors, &place.index(index), ip);
    }
    load_balancer(errors, spec, type_);
    traffic(errors, spec, type_);
    cluster_ips(errors, spec, type_);
}

fn by_type(errors: &mut Vec<Error>, spec: &Value, type_: &str, is_headless: bool) {
    match type_ {
        "LoadBalancer" | "NodePort" if is_headless => {
            let place = SPEC.child("clusterIPs");
            let detail = format!("may not be set to 'None' for {type_} services");
            errors.push(Error::invalid(&place.index(0), "None", detail));
        }
        "ExternalName" => {
            if !text(spec, "clusterIP").is_empty() || !list(spec, "clusterIPs").is_empty() {
                let detail = "may not be set for ExternalName services";
                errors.push(Error::forbidden(&SPEC.child("clusterIPs"), detail));
            }
            let name = text(spec, "externalName");
            let place = SPEC.child("externalName");
            // The dot at the end of a full name is fine.
            let plain = name.strip_suffix('.').unwrap_or(name);
            if plain.is_empty() {
                errors.push(Error::required(&place, ""));
            } else {
                each(errors, &place, plain, syntax::dns1123_subdomain(plain));
            }
        }
        _ => {}
    }
}

fn ports(errors: &mut Vec<Error>, spec: &Value) {
    let all = list(spec, "ports");
    let mut names = Vec::new();
    for (index, port) in all.iter().enumerate() {
        let place = PORTS.index(index);
        let name = text(port, "name");
        if name.is_empty() {
            if all.len() > 1 {
                errors.push(Error::required(&place.child("name"), ""));
            }
        } else {
            each(
                errors,
                &place.child("name"),
                name,
                syntax::dns1123_label(name),
            );
            if names.contains(&name) {
                errors.push(Error::duplicate(&place.child("name"), name));
            }
            names.push(name);
        }
        let number = port["port"].as_i64().unwrap_or_default();
        port_number(errors, &place.child("port"), number);
        let protocol = text(port, "protocol");
        if required(errors, &place.child("protocol"), protocol) {
            one_of(errors, &place.child("protocol"), protocol, PROTOCOLS);
        }
        port_or_name(errors, &place.child("targetPort"), &port["targetPort"]);
        let application = text(port, "appProtocol");
        if !application.is_empty() {
            let problems = syntax::label_key(application);
            each(errors, &place.child("appProtocol"), application, problems);
        }
    }
}

fn affinity(errors: &mut Vec<Error>, spec: &Value) {
    let affinity = text(spec, "sessionAffinity");
    let place = SPEC.child("sessionAffinity");
    if required(errors, &place, affinity) {
        one_of(errors, &place, affinity, &["ClientIP", "None"]);
    }
    if affinity != "ClientIP" {
        return;
    }
    let seconds = &spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
    let seconds = seconds.as_i64().unwrap_or_default();
    if seconds <= 0 || seconds > MAX_AFFINITY_SECONDS {
        let place = SPEC.child("sessionAffinityConfig");
        let place = place.child("clientIP");
        let detail = format!("must be greater than 0 and less than {MAX_AFFINITY_SECONDS}");
        errors.push(Error::invalid(
            &place.child("timeoutSeconds"),
            seconds,
            detail,
        ));
    }
}

fn port_conflicts(errors: &mut Vec<Error>, spec: &Value, type_: &str) {
    if type_ == "ClusterIP" {
        for (index, port) in list(spec, "ports").iter().enumerate() {
            if port["nodePort"].as_i64().unwrap_or_default() != 0 {
                let place = PORTS.index(index);
                let detail = "may not be used when `type` is 'ClusterIP'";
                errors.push(Error::forbidden(&place.child("nodePort"), detail));
            }
        }
    }
    let mut taken = Vec::new();
    for (index, port) in list(spec, "ports").iter().enumerate() {
        let key = (text(port, "protocol"), port["port"].as_i64());
        if taken.contains(&key) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                port["protocol"], port["port"]
            );
            errors.push(Error::duplicate(
                &PORTS.index(index),
                BadValue::verbatim(shown),
            ));
        }
        taken.push(key);
    }
}

fn load_balancer(errors: &mut Vec<Error>, spec: &Value, type_: &str) {
    const ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
    let is_balanced = type_ == "LoadBalancer";
    // The capital letter is the real server's.
    let ranges = SPEC.child("LoadBalancerSourceRanges");
    let all = list(spec, "loadBalancerSourceRanges");
    if !all.is_empty() && !is_balanced {
        errors.push(Error::forbidden(&ranges, ONLY));
    }
    for (index, range) in texts(all).enumerate() {
        network(errors, &ranges.index(index), range.trim());
    }
    for key in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        if !spec[key].is_null() && !is_balanced {
            errors.push(Error::forbidden(&SPEC.child(key), ONLY));
        }
    }
    let class = text(spec, "loadBalancerClass");
    if is_balanced && !class.is_empty() {
        let place = SPEC.child("loadBalancerClass");
        each(errors, &place, class, syntax::label_key(class));
    }
}

fn traffic(errors: &mut Vec<Error>, spec: &Value, type_: &str) {
    let place = SPEC.child("internalTrafficPolicy");
    let policies = ["Cluster", "Local"];
    one_of_if_set(errors, &place, &spec["internalTrafficPolicy"], &policies);
    let is_outside = matches!(type_, "LoadBalancer" | "NodePort")
        || (type_ == "ClusterIP" && !list(spec, "externalIPs").is_empty());
    let policy = text(spec, "externalTrafficPolicy");
    let place = SPEC.child("externalTrafficPolicy");
    if !policy.is_empty() && !is_outside {
        let detail = "may only be set for externally-accessible services";
        errors.push(Error::invalid(&place, policy, detail));
    } else if !policy.is_empty() {
        one_of(errors, &place, policy, &policies);
    }
    let check = spec["healthCheckNodePort"].as_i64().unwrap_or_default();
    if check != 0 && !(type_ == "LoadBalancer" && policy == "Local") {
        let place = SPEC.child("healthCheckNodePort");
        let detail =
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(Error::invalid(&place, check, detail));
    }
    let place = SPEC.child("trafficDistribution");
    let kinds = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    one_of_if_set(errors, &place, &spec["trafficDistribution"], &kinds);
}

fn cluster_ips(errors: &mut Vec<Error>, spec: &Value, type_: &str) {
    if type_ == "ExternalName" {
        return;
    }
    let place = SPEC.child("clusterIPs");
    let given = list(spec, "clusterIPs");
    let single = [spec["clusterIP"].clone()];
    let all = if given.is_empty() { &single } else { given };
    for (index, ip) in texts(all).enumerate() {
        if !matches!(ip, "" | "None") {
            address(errors, &place.index(index), ip);
        }
    }
    let first = text(spec, "clusterIP");
    if !given.is_empty() && !first.is_empty() && given[0] != first {
        let place = SPEC.child("clusterIP");
        let detail = "must be the same as clusterIPs[0]";
        errors.push(Error::invalid(&place, first, detail));
    }
}

/// The address of a Service stays, unless the Service gets or loses one with its type.
pub(super) fn update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let (new, old) = (&new["spec"], &old["spec"]);
    let has_address = |spec: &Value| text(spec, "type") != "ExternalName";
    if !has_address(new) || !has_address(old) {
        return;
    }
    let (ip, before) = (text(new, "clusterIP"), text(old, "clusterIP"));
    // What is left out is taken over from the old.
    if !ip.is_empty() && !before.is_empty() && ip != before {
        let place = SPEC.child("clusterIPs");
        let place = place.index(0);
        let shown = BadValue::verbatim(format!("[\"{ip}\"]"));
        errors.push(Error::invalid(&place, shown, "may not change once set"));
    }
}
