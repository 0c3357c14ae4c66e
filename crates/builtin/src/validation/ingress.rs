//! Ingresses.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{each, list, one_of, port_number, required, text, texts};

const SPEC: Path<'static> = Path::root("spec");

pub(super) fn check(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let rules = list(spec, "rules");
    if rules.is_empty() && !spec["defaultBackend"].is_object() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(Error::invalid(&SPEC, &spec["rules"], detail));
    }
    if spec["defaultBackend"].is_object() {
        let place = SPEC.child("defaultBackend");
        backend(errors, &place, &spec["defaultBackend"]);
    }
    let place = SPEC.child("rules");
    for (index, rule) in rules.iter().enumerate() {
        check_rule(errors, &place.index(index), rule);
    }
    let place = SPEC.child("tls");
    for (index, tls) in list(spec, "tls").iter().enumerate() {
        let place = place.index(index);
        let place = place.child("hosts");
        for (index, name) in texts(list(tls, "hosts")).enumerate() {
            host(errors, &place.index(index), name);
        }
    }
    class(errors, object);
}

fn class(errors: &mut Vec<Error>, object: &Value) {
    const ANNOTATION: &str = "kubernetes.io/ingress.class";
    let Some(class) = object["spec"]["ingressClassName"].as_str() else {
        return;
    };
    let place = SPEC.child("ingressClassName");
    each(errors, &place, class, syntax::dns1123_subdomain(class));
    let old = text(&object["metadata"]["annotations"], ANNOTATION);
    if !old.is_empty() && old != class {
        let place = Path::root("annotations");
        let detail = "must match `ingressClassName` when both are specified";
        errors.push(Error::invalid(&place.child(ANNOTATION), old, detail));
    }
}

fn host(errors: &mut Vec<Error>, path: &Path<'_>, host: &str) {
    let problems = if host.contains('*') {
        syntax::wildcard_dns1123_subdomain(host)
    } else {
        syntax::dns1123_subdomain(host)
    };
    each(errors, path, host, problems);
}

fn check_rule(errors: &mut Vec<Error>, path: &Path<'_>, rule: &Value) {
    let name = text(rule, "host");
    if !name.is_empty() {
        let place = path.child("host");
        if name.parse::<std::net::IpAddr>().is_ok() {
            let detail = "must be a DNS name, not an IP address";
            errors.push(Error::invalid(&place, name, detail));
        } else {
            host(errors, &place, name);
        }
    }
    if !rule["http"].is_object() {
        return;
    }
    let place = path.child("http");
    let place = place.child("paths");
    let paths = list(&rule["http"], "paths");
    if paths.is_empty() {
        errors.push(Error::required(&place, ""));
    }
    for (index, item) in paths.iter().enumerate() {
        check_path(errors, &place.index(index), item);
    }
}

fn check_path(errors: &mut Vec<Error>, path: &Path<'_>, item: &Value) {
    let place = path.child("pathType");
    let Some(type_) = item["pathType"].as_str() else {
        errors.push(Error::required(&place, "pathType must be specified"));
        return;
    };
    let route = text(item, "path");
    let on_path = path.child("path");
    match type_ {
        "Exact" | "Prefix" => {
            if route.starts_with('/') {
                bad_parts(errors, &on_path, route);
            } else {
                let detail = "must be an absolute path";
                errors.push(Error::invalid(&on_path, route, detail));
            }
        }
        "ImplementationSpecific" => {
            if !route.is_empty() && !route.starts_with('/') {
                let detail = "must be an absolute path";
                errors.push(Error::invalid(&on_path, route, detail));
            }
        }
        _ => {
            let types = ["Exact", "ImplementationSpecific", "Prefix"];
            one_of(errors, &place, type_, &types);
        }
    }
    backend(errors, &path.child("backend"), &item["backend"]);
}

fn bad_parts(errors: &mut Vec<Error>, path: &Path<'_>, route: &str) {
    let lower = route.to_lowercase();
    for part in ["//", "/./", "/../", "%2f"] {
        if lower.contains(part) {
            let detail = format!("must not contain '{part}'");
            errors.push(Error::invalid(path, route, detail));
        }
    }
    for end in ["/..", "/."] {
        if route.ends_with(end) {
            let detail = format!("cannot end with '{end}'");
            errors.push(Error::invalid(path, route, detail));
        }
    }
}

fn backend(errors: &mut Vec<Error>, path: &Path<'_>, backend: &Value) {
    let (has_service, has_resource) = (
        backend["service"].is_object(),
        backend["resource"].is_object(),
    );
    match (has_service, has_resource) {
        (true, true) => {
            let detail = "cannot set both resource and service backends";
            errors.push(Error::invalid(path, "", detail));
        }
        (false, false) => {
            let detail = "resource or service backend is required";
            errors.push(Error::invalid(path, "", detail));
        }
        (true, false) => service(errors, path, &backend["service"]),
        (false, true) => {
            let place = path.child("resource");
            for key in ["kind", "name"] {
                required(errors, &place.child(key), text(&backend["resource"], key));
            }
        }
    }
}

fn service(errors: &mut Vec<Error>, path: &Path<'_>, service: &Value) {
    let place = path.child("service");
    let name = text(service, "name");
    if required(errors, &place.child("name"), name) {
        each(
            errors,
            &place.child("name"),
            name,
            syntax::dns1123_label(name),
        );
    }
    let port = &service["port"];
    let (name, number) = (
        text(port, "name"),
        port["number"].as_i64().unwrap_or_default(),
    );
    let place = place.child("port");
    match (name.is_empty(), number) {
        (false, 1..) => {
            let detail = "cannot set both port name & port number";
            errors.push(Error::invalid(path, "", detail));
        }
        (true, 0) => errors.push(Error::required(path, "port name or number is required")),
        (false, _) => each(errors, &place.child("name"), name, syntax::port_name(name)),
        (true, number) => port_number(errors, &place.child("number"), number),
    }
}
