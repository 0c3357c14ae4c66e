//! Pod, and Pod templates.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, text, texts};
use crate::validation::field_checks::{
    push_invalid, validate_enum, validate_in_range, validate_ip, validate_labels,
};

pub(crate) mod binding;
mod container;
pub(crate) mod defaults;
mod probe;
mod resources;
mod scheduling;
mod security;
pub(crate) mod status;
pub(crate) mod table;
mod volume;

const SPEC: Path<'static> = Path::root("spec");
const GRACE: &str = "terminationGracePeriodSeconds";

pub(crate) fn validate(pod: &Value, errors: &mut Vec<Error>) {
    validate_spec(errors, &SPEC, &pod["spec"]);
}

/// Validates what only applies to creation.
pub(crate) fn validate_create(pod: &Value, errors: &mut Vec<Error>) {
    if !list(&pod["spec"], "ephemeralContainers").is_empty() {
        let field = SPEC.child("ephemeralContainers");
        errors.push(Error::forbidden(&field, "cannot be set on create"));
    }
}

/// Validates the spec of a Pod or of a template.
pub(crate) fn validate_spec(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    let volumes = volume::check_all(errors, &path.child("volumes"), spec);
    container::check_all(errors, path, spec, &volumes);
    let policies = ["Always", "OnFailure", "Never"];
    let policy = text(spec, "restartPolicy");
    validate_enum(errors, &path.child("restartPolicy"), policy, &policies);
    validate_dns(errors, path, spec);
    let field = path.child("nodeSelector");
    validate_labels(errors, &field, &spec["nodeSelector"]);
    security::of_pod(errors, &path.child("securityContext"), spec);
    scheduling::affinity(errors, &path.child("affinity"), &spec["affinity"]);
    scheduling::spread(errors, &path.child("topologySpreadConstraints"), spec);
    validate_names(errors, path, spec);
    scheduling::tolerations(errors, &path.child("tolerations"), spec);
    validate_host_aliases(errors, &path.child("hostAliases"), spec);
    for key in ["priorityClassName", "runtimeClassName"] {
        let name = text(spec, key);
        if !name.is_empty() {
            push_invalid(
                errors,
                &path.child(key),
                name,
                syntax::dns1123_subdomain(name),
            );
        }
    }
}

fn validate_dns(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    let policy = text(spec, "dnsPolicy");
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    validate_enum(errors, &path.child("dnsPolicy"), policy, &policies);
    let config = path.child("dnsConfig");
    let servers = list(&spec["dnsConfig"], "nameservers");
    if policy == "None" {
        if !spec["dnsConfig"].is_object() {
            let detail = "must provide `dnsConfig` when `dnsPolicy` is None";
            errors.push(Error::required(&config, detail));
        } else if servers.is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(Error::required(&config.child("nameservers"), detail));
        }
    }
    let field = config.child("nameservers");
    for (index, server) in texts(servers).enumerate() {
        validate_ip(errors, &field.index(index), server);
    }
}

fn validate_names(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    for (key, syntax) in [
        (
            "serviceAccountName",
            syntax::dns1123_subdomain as fn(&str) -> Vec<String>,
        ),
        ("nodeName", syntax::dns1123_subdomain),
    ] {
        let name = text(spec, key);
        if !name.is_empty() {
            push_invalid(errors, &path.child(key), name, syntax(name));
        }
    }
    let field = path.child("activeDeadlineSeconds");
    let seconds = &spec["activeDeadlineSeconds"];
    validate_in_range(errors, &field, seconds, 1, i64::from(i32::MAX));
    for key in ["hostname", "subdomain"] {
        let name = text(spec, key);
        if !name.is_empty() {
            push_invalid(errors, &path.child(key), name, syntax::dns1123_label(name));
        }
    }
}

fn validate_host_aliases(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    for (index, alias) in list(spec, "hostAliases").iter().enumerate() {
        let field = path.index(index);
        validate_ip(errors, &field.child("ip"), text(alias, "ip"));
        let names = field.child("hostnames");
        for (index, name) in texts(list(alias, "hostnames")).enumerate() {
            push_invalid(
                errors,
                &names.index(index),
                name,
                syntax::dns1123_subdomain(name),
            );
        }
    }
}

/// Validates a template. kube-apiserver omits `metadata` from the paths of labels and annotations.
pub(crate) fn validate_template(errors: &mut Vec<Error>, path: &Path<'_>, template: &Value) {
    let metadata = &template["metadata"];
    validate_labels(errors, &path.child("labels"), &metadata["labels"]);
    crate::validation::metadata::annotations(errors, &path.child("annotations"), metadata);
    validate_spec(errors, &path.child("spec"), &template["spec"]);
}

/// Only images, tolerations and deadlines can be changed.
pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let (mut after, before) = (new["spec"].clone(), &old["spec"]);
    for key in ["containers", "initContainers"] {
        let (new_list, old_list) = (list(&new["spec"], key), list(before, key));
        if new_list.len() != old_list.len() {
            let detail = "pod updates may not add or remove containers";
            errors.push(Error::forbidden(&SPEC.child(key), detail));
            return;
        }
        if let Some(items) = after.get_mut(key).and_then(Value::as_array_mut) {
            for (item, old) in items.iter_mut().zip(old_list) {
                keep(item, old, "image");
            }
        }
    }
    for key in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        keep(&mut after, before, key);
    }
    // A negative grace period may be changed to 1.
    if before[GRACE].as_i64() < Some(0) && after[GRACE] == 1 {
        keep(&mut after, before, GRACE);
    }
    if after != *before {
        let detail = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        errors.push(Error::forbidden(&SPEC, detail));
    }
}

fn keep(object: &mut Value, old: &Value, key: &str) {
    if let Some(object) = object.as_object_mut() {
        match old.get(key) {
            Some(value) => object.insert(key.to_owned(), value.clone()),
            None => object.remove(key),
        };
    }
}

/// Validates the volume source of a `PersistentVolume`. Returns whether there is one.
pub(crate) fn volume_source(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) -> bool {
    volume::source(errors, path, spec)
}

/// Whether a field of a `PersistentVolume` is a volume source.
pub(crate) fn is_volume_source(key: &str) -> bool {
    volume::is_source(key) || key == "local"
}

/// Validates a node selector, which `PersistentVolumes` have too.
pub(crate) fn node_selector(errors: &mut Vec<Error>, path: &Path<'_>, selector: &Value) {
    scheduling::node_selector(errors, path, selector);
}
