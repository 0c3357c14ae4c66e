//! Ingress: validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, text, texts};
use crate::table::cells::{age, name, text_or};
use crate::table::moment::Now;
use crate::validation::field_checks::{push_invalid, require, validate_enum, validate_port_num};

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let rules = list(spec, "rules");
    if rules.is_empty() && !spec["defaultBackend"].is_object() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(Error::invalid(&SPEC, &spec["rules"], detail));
    }
    if spec["defaultBackend"].is_object() {
        let field = SPEC.child("defaultBackend");
        validate_backend(errors, &field, &spec["defaultBackend"]);
    }
    let field = SPEC.child("rules");
    for (index, rule) in rules.iter().enumerate() {
        validate_rule(errors, &field.index(index), rule);
    }
    let field = SPEC.child("tls");
    for (index, tls) in list(spec, "tls").iter().enumerate() {
        let field = field.index(index);
        let field = field.child("hosts");
        for (index, name) in texts(list(tls, "hosts")).enumerate() {
            validate_host(errors, &field.index(index), name);
        }
    }
    validate_class(errors, object);
}

fn validate_class(errors: &mut Vec<Error>, object: &Value) {
    const ANNOTATION: &str = "kubernetes.io/ingress.class";
    let Some(class) = object["spec"]["ingressClassName"].as_str() else {
        return;
    };
    let field = SPEC.child("ingressClassName");
    push_invalid(errors, &field, class, syntax::dns1123_subdomain(class));
    let old = text(&object["metadata"]["annotations"], ANNOTATION);
    if !old.is_empty() && old != class {
        let field = Path::root("annotations");
        let detail = "must match `ingressClassName` when both are specified";
        errors.push(Error::invalid(&field.child(ANNOTATION), old, detail));
    }
}

fn validate_host(errors: &mut Vec<Error>, path: &Path<'_>, host: &str) {
    let messages = if host.contains('*') {
        syntax::wildcard_dns1123_subdomain(host)
    } else {
        syntax::dns1123_subdomain(host)
    };
    push_invalid(errors, path, host, messages);
}

fn validate_rule(errors: &mut Vec<Error>, path: &Path<'_>, rule: &Value) {
    let name = text(rule, "host");
    if !name.is_empty() {
        let field = path.child("host");
        if name.parse::<std::net::IpAddr>().is_ok() {
            let detail = "must be a DNS name, not an IP address";
            errors.push(Error::invalid(&field, name, detail));
        } else {
            validate_host(errors, &field, name);
        }
    }
    if !rule["http"].is_object() {
        return;
    }
    let field = path.child("http");
    let field = field.child("paths");
    let paths = list(&rule["http"], "paths");
    if paths.is_empty() {
        errors.push(Error::required(&field, ""));
    }
    for (index, item) in paths.iter().enumerate() {
        validate_path(errors, &field.index(index), item);
    }
}

fn validate_path(errors: &mut Vec<Error>, path: &Path<'_>, item: &Value) {
    let field = path.child("pathType");
    let Some(type_) = item["pathType"].as_str() else {
        errors.push(Error::required(&field, "pathType must be specified"));
        return;
    };
    let route = text(item, "path");
    let on_path = path.child("path");
    match type_ {
        "Exact" | "Prefix" => {
            if route.starts_with('/') {
                validate_path_segments(errors, &on_path, route);
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
            validate_enum(errors, &field, type_, &types);
        }
    }
    validate_backend(errors, &path.child("backend"), &item["backend"]);
}

fn validate_path_segments(errors: &mut Vec<Error>, path: &Path<'_>, route: &str) {
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

fn validate_backend(errors: &mut Vec<Error>, path: &Path<'_>, backend: &Value) {
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
        (true, false) => validate_service_backend(errors, path, &backend["service"]),
        (false, true) => {
            let field = path.child("resource");
            for key in ["kind", "name"] {
                require(errors, &field.child(key), text(&backend["resource"], key));
            }
        }
    }
}

fn validate_service_backend(errors: &mut Vec<Error>, path: &Path<'_>, service: &Value) {
    let field = path.child("service");
    let name = text(service, "name");
    if require(errors, &field.child("name"), name) {
        push_invalid(
            errors,
            &field.child("name"),
            name,
            syntax::dns1123_label(name),
        );
    }
    let port = &service["port"];
    let (name, number) = (
        text(port, "name"),
        port["number"].as_i64().unwrap_or_default(),
    );
    let field = field.child("port");
    match (name.is_empty(), number) {
        (false, 1..) => {
            let detail = "cannot set both port name & port number";
            errors.push(Error::invalid(path, "", detail));
        }
        (true, 0) => errors.push(Error::required(path, "port name or number is required")),
        (false, _) => push_invalid(errors, &field.child("name"), name, syntax::port_name(name)),
        (true, number) => validate_port_num(errors, &field.child("number"), number),
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let has_tls = !list(spec, "tls").is_empty();
    vec![
        name(object),
        text_or(spec, "ingressClassName", "<none>").into(),
        hosts_cell(list(spec, "rules")).into(),
        crate::core::service::table::load_balancer_addresses(&object["status"]).into(),
        if has_tls { "80, 443" } else { "80" }.into(),
        age(object, now),
    ]
}

/// The first three hosts. The number of further ones counts rules, with hosts or without.
fn hosts_cell(rules: &[Value]) -> String {
    const MOST: usize = 3;
    let mut shown = Vec::new();
    let mut has_more = false;
    for rule in rules {
        has_more |= shown.len() == MOST;
        let host = text(rule, "host");
        if !has_more && !host.is_empty() {
            shown.push(host);
        }
    }
    match (shown.is_empty(), has_more) {
        (true, _) => "*".to_owned(),
        (false, false) => shown.join(","),
        (false, true) => format!(
            "{} + {} more...",
            shown.join(","),
            rules.len().saturating_sub(MOST)
        ),
    }
}
