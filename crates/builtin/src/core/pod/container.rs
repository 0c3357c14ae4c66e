//! Validation of containers.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::{probe, resources, security};
use crate::fields::{list, text};
use crate::validation::field_checks::{
    PROTOCOLS, push_invalid, require, validate_enum, validate_port_num,
};

/// Validates all containers of a Pod spec. `volumes` are the names of its valid volumes.
pub(super) fn check_all(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value, volumes: &[&str]) {
    let field = path.child("containers");
    let containers = list(spec, "containers");
    if containers.is_empty() {
        errors.push(Error::required(&field, ""));
    }
    let is_on_host = spec["hostNetwork"] == true;
    let mut names = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let field = field.index(index);
        common(errors, &field, container, volumes);
        unique_name(errors, &field, container, &mut names);
        lifecycle(errors, &field, container);
        probes(errors, &field, container);
        if is_on_host {
            ports_on_host(errors, &field.child("ports"), container);
        }
    }
    host_port_conflicts(errors, &field, containers);
    let field = path.child("initContainers");
    for (index, container) in list(spec, "initContainers").iter().enumerate() {
        let field = field.index(index);
        common(errors, &field, container, volumes);
        let is_sidecar = container["restartPolicy"] == "Always";
        unique_name(errors, &field, container, &mut names);
        if is_sidecar {
            lifecycle(errors, &field, container);
            probes(errors, &field, container);
        } else {
            init_only(errors, &field, container);
        }
    }
}

fn unique_name<'a>(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    container: &'a Value,
    names: &mut Vec<&'a str>,
) {
    let name = text(container, "name");
    if !name.is_empty() && names.contains(&name) {
        errors.push(Error::duplicate(&path.child("name"), name));
    }
    names.push(name);
}

/// Validates what containers, init containers and ephemeral containers share.
fn common(errors: &mut Vec<Error>, path: &Path<'_>, container: &Value, volumes: &[&str]) {
    let name = text(container, "name");
    if require(errors, &path.child("name"), name) {
        push_invalid(
            errors,
            &path.child("name"),
            name,
            syntax::dns1123_label(name),
        );
    }
    let image = text(container, "image");
    let field = path.child("image");
    if require(errors, &field, image) && image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        errors.push(Error::invalid(&field, image, detail));
    }
    validate_enum(
        errors,
        &path.child("terminationMessagePolicy"),
        text(container, "terminationMessagePolicy"),
        &["File", "FallbackToLogsOnError"],
    );
    ports(errors, &path.child("ports"), container);
    environment(errors, &path.child("env"), container);
    environment_sources(errors, &path.child("envFrom"), container);
    mounts(errors, &path.child("volumeMounts"), container, volumes);
    validate_enum(
        errors,
        &path.child("imagePullPolicy"),
        text(container, "imagePullPolicy"),
        &["Always", "IfNotPresent", "Never"],
    );
    resources::check(errors, &path.child("resources"), &container["resources"]);
    let field = path.child("securityContext");
    security::of_container(errors, &field, &container["securityContext"]);
}

fn ports(errors: &mut Vec<Error>, path: &Path<'_>, container: &Value) {
    let mut names = Vec::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let field = path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            let messages = syntax::port_name(name);
            let is_right = messages.is_empty();
            push_invalid(errors, &field.child("name"), name, messages);
            if is_right && names.contains(&name) {
                errors.push(Error::duplicate(&field.child("name"), name));
            }
            names.push(name);
        }
        match port["containerPort"].as_i64().unwrap_or_default() {
            0 => errors.push(Error::required(&field.child("containerPort"), "")),
            number => validate_port_num(errors, &field.child("containerPort"), number),
        }
        if let Some(number) = port["hostPort"].as_i64()
            && number != 0
        {
            validate_port_num(errors, &field.child("hostPort"), number);
        }
        let protocol = text(port, "protocol");
        let field = field.child("protocol");
        if require(errors, &field, protocol) {
            validate_enum(errors, &field, protocol, PROTOCOLS);
        }
    }
}

/// With `hostNetwork`, host ports must equal container ports.
fn ports_on_host(errors: &mut Vec<Error>, path: &Path<'_>, container: &Value) {
    for (index, port) in list(container, "ports").iter().enumerate() {
        let host = port["hostPort"].as_i64().unwrap_or_default();
        if host != port["containerPort"].as_i64().unwrap_or_default() && host != 0 {
            let detail = "must match `containerPort` when `hostNetwork` is true";
            let field = path.index(index);
            errors.push(Error::invalid(&field.child("hostPort"), host, detail));
        }
    }
}

fn host_port_conflicts(errors: &mut Vec<Error>, path: &Path<'_>, containers: &[Value]) {
    let mut taken = Vec::new();
    for (outer, container) in containers.iter().enumerate() {
        for (inner, port) in list(container, "ports").iter().enumerate() {
            let number = port["hostPort"].as_i64().unwrap_or_default();
            if number == 0 {
                continue;
            }
            let (protocol, address) = (text(port, "protocol"), text(port, "hostIP"));
            let key = format!("{protocol}/{address}/{number}");
            if taken.contains(&key) {
                let field = path.index(outer);
                let field = field.child("ports");
                let field = field.index(inner);
                errors.push(Error::duplicate(&field.child("hostPort"), key.as_str()));
            }
            taken.push(key);
        }
    }
}

fn environment(errors: &mut Vec<Error>, path: &Path<'_>, container: &Value) {
    for (index, variable) in list(container, "env").iter().enumerate() {
        let field = path.index(index);
        let name = text(variable, "name");
        if require(errors, &field.child("name"), name) {
            push_invalid(
                errors,
                &field.child("name"),
                name,
                syntax::env_var_name(name),
            );
        }
        if variable["valueFrom"].is_object() {
            value_source(errors, &field.child("valueFrom"), variable);
        }
    }
}

fn value_source(errors: &mut Vec<Error>, path: &Path<'_>, variable: &Value) {
    let source = &variable["valueFrom"];
    let one_of = [
        "fieldRef",
        "resourceFieldRef",
        "configMapKeyRef",
        "secretKeyRef",
        "fileKeyRef",
    ];
    let count = one_of
        .iter()
        .filter(|key| source[**key].is_object())
        .count();
    if source["fieldRef"].is_object() {
        field_reference(errors, &path.child("fieldRef"), &source["fieldRef"]);
    }
    if source["resourceFieldRef"].is_object() {
        let field = path.child("resourceFieldRef");
        resources::reference(errors, &field, &source["resourceFieldRef"]);
    }
    for key in ["configMapKeyRef", "secretKeyRef"] {
        if source[key].is_object() {
            key_reference(errors, &path.child(key), &source[key]);
        }
    }
    if !text(variable, "value").is_empty() {
        if count > 0 {
            let detail = "may not be specified when `value` is not empty";
            errors.push(Error::invalid(path, "", detail));
        }
    } else if count > 1 {
        let detail = "may not have more than one field specified at a time";
        errors.push(Error::invalid(path, "", detail));
    }
    if count == 0 {
        let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        errors.push(Error::invalid(path, "", detail));
    }
}

/// `ObjectFieldSelector`.
pub(super) fn field_reference(errors: &mut Vec<Error>, path: &Path<'_>, reference: &Value) {
    const KNOWN: [&str; 9] = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    let field_path = text(reference, "fieldPath");
    let field = path.child("fieldPath");
    if !require(errors, &field, field_path) {
        return;
    }
    let is_subscripted = ["metadata.labels", "metadata.annotations"]
        .iter()
        .any(|map| field_path.starts_with(map));
    if !is_subscripted && !KNOWN.contains(&field_path) {
        let detail = format!("error converting fieldPath: field label not supported: {field_path}");
        errors.push(Error::invalid(&field, field_path, detail));
    }
}

fn key_reference(errors: &mut Vec<Error>, path: &Path<'_>, reference: &Value) {
    let name = text(reference, "name");
    push_invalid(
        errors,
        &path.child("name"),
        name,
        syntax::dns1123_subdomain(name),
    );
    let key = text(reference, "key");
    if require(errors, &path.child("key"), key) {
        push_invalid(errors, &path.child("key"), key, syntax::config_map_key(key));
    }
}

fn environment_sources(errors: &mut Vec<Error>, path: &Path<'_>, container: &Value) {
    for (index, source) in list(container, "envFrom").iter().enumerate() {
        let field = path.index(index);
        let prefix = text(source, "prefix");
        if !prefix.is_empty() {
            push_invalid(
                errors,
                &field.child("prefix"),
                prefix,
                syntax::env_var_name(prefix),
            );
        }
        let one_of = ["configMapRef", "secretRef"];
        let count = one_of
            .iter()
            .filter(|key| source[**key].is_object())
            .count();
        for key in one_of {
            if source[key].is_object() {
                let field = field.child(key);
                let name = text(&source[key], "name");
                if require(errors, &field.child("name"), name) {
                    push_invalid(
                        errors,
                        &field.child("name"),
                        name,
                        syntax::dns1123_subdomain(name),
                    );
                }
            }
        }
        let detail = match count {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        errors.push(Error::invalid(path, "", detail));
    }
}

fn mounts(errors: &mut Vec<Error>, path: &Path<'_>, container: &Value, volumes: &[&str]) {
    let mut paths = Vec::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let field = path.index(index);
        let name = text(mount, "name");
        require(errors, &field.child("name"), name);
        if !volumes.contains(&name) {
            errors.push(Error::not_found(&field.child("name"), name));
        }
        let mount_path = text(mount, "mountPath");
        let target = field.child("mountPath");
        require(errors, &target, mount_path);
        if paths.contains(&mount_path) {
            errors.push(Error::invalid(&target, mount_path, "must be unique"));
        }
        paths.push(mount_path);
        for key in ["subPath", "subPathExpr"] {
            let below = text(mount, key);
            if !below.is_empty() {
                // kube-apiserver omits the index here.
                descending(errors, &path.child(key), below);
            }
        }
    }
}

/// Requires a relative path without `..`.
pub(super) fn descending(errors: &mut Vec<Error>, path: &Path<'_>, value: &str) {
    if value.starts_with('/') {
        errors.push(Error::invalid(path, value, "must be a relative path"));
    }
    no_parent(errors, path, value);
}

pub(super) fn no_parent(errors: &mut Vec<Error>, path: &Path<'_>, value: &str) {
    if value.split('/').any(|part| part == "..") {
        errors.push(Error::invalid(path, value, "must not contain '..'"));
    }
}

fn lifecycle(errors: &mut Vec<Error>, path: &Path<'_>, container: &Value) {
    let field = path.child("lifecycle");
    for key in ["postStart", "preStop"] {
        let handler = &container["lifecycle"][key];
        if handler.is_object() {
            probe::handler(errors, &field.child(key), handler);
        }
    }
}

fn probes(errors: &mut Vec<Error>, path: &Path<'_>, container: &Value) {
    for (key, succeeds_once) in [
        ("livenessProbe", true),
        ("readinessProbe", false),
        ("startupProbe", true),
    ] {
        let probe = &container[key];
        if probe.is_object() {
            probe::check(errors, &path.child(key), probe, succeeds_once);
        }
    }
}

/// Probes and lifecycle hooks are only allowed for restartable init containers.
fn init_only(errors: &mut Vec<Error>, path: &Path<'_>, container: &Value) {
    for key in [
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    ] {
        if container[key].is_object() {
            let detail = "may not be set for init containers without restartPolicy=Always";
            errors.push(Error::forbidden(&path.child(key), detail));
        }
    }
}
