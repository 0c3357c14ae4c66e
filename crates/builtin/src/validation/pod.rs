//! Pods, and the templates of Pods.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{address, each, in_range, labels, list, one_of, text, texts};

mod container;
mod probe;
mod resources;
mod scheduling;
mod security;
mod volume;

const SPEC: Path<'static> = Path::root("spec");
const GRACE: &str = "terminationGracePeriodSeconds";

pub(super) fn check(pod: &Value, errors: &mut Vec<Error>) {
    spec(errors, &SPEC, &pod["spec"]);
}

/// What is wrong only when a Pod is created.
pub(super) fn create_only(pod: &Value, errors: &mut Vec<Error>) {
    if !list(&pod["spec"], "ephemeralContainers").is_empty() {
        let place = SPEC.child("ephemeralContainers");
        errors.push(Error::forbidden(&place, "cannot be set on create"));
    }
}

/// The specification of a Pod or of a template.
pub(super) fn spec(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    let volumes = volume::check_all(errors, &path.child("volumes"), spec);
    container::check_all(errors, path, spec, &volumes);
    let policies = ["Always", "OnFailure", "Never"];
    let policy = text(spec, "restartPolicy");
    one_of(errors, &path.child("restartPolicy"), policy, &policies);
    dns(errors, path, spec);
    let place = path.child("nodeSelector");
    labels(errors, &place, &spec["nodeSelector"]);
    security::of_pod(errors, &path.child("securityContext"), spec);
    scheduling::affinity(errors, &path.child("affinity"), &spec["affinity"]);
    scheduling::spread(errors, &path.child("topologySpreadConstraints"), spec);
    names(errors, path, spec);
    scheduling::tolerations(errors, &path.child("tolerations"), spec);
    host_aliases(errors, &path.child("hostAliases"), spec);
    for key in ["priorityClassName", "runtimeClassName"] {
        let name = text(spec, key);
        if !name.is_empty() {
            each(
                errors,
                &path.child(key),
                name,
                syntax::dns1123_subdomain(name),
            );
        }
    }
}

fn dns(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    let policy = text(spec, "dnsPolicy");
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    one_of(errors, &path.child("dnsPolicy"), policy, &policies);
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
    let place = config.child("nameservers");
    for (index, server) in texts(servers).enumerate() {
        address(errors, &place.index(index), server);
    }
}

fn names(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    for (key, syntax) in [
        (
            "serviceAccountName",
            syntax::dns1123_subdomain as fn(&str) -> Vec<String>,
        ),
        ("nodeName", syntax::dns1123_subdomain),
    ] {
        let name = text(spec, key);
        if !name.is_empty() {
            each(errors, &path.child(key), name, syntax(name));
        }
    }
    let place = path.child("activeDeadlineSeconds");
    let seconds = &spec["activeDeadlineSeconds"];
    in_range(errors, &place, seconds, 1, i64::from(i32::MAX));
    for key in ["hostname", "subdomain"] {
        let name = text(spec, key);
        if !name.is_empty() {
            each(errors, &path.child(key), name, syntax::dns1123_label(name));
        }
    }
}

fn host_aliases(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    for (index, alias) in list(spec, "hostAliases").iter().enumerate() {
        let place = path.index(index);
        address(errors, &place.child("ip"), text(alias, "ip"));
        let names = place.child("hostnames");
        for (index, name) in texts(list(alias, "hostnames")).enumerate() {
            each(
                errors,
                &names.index(index),
                name,
                syntax::dns1123_subdomain(name),
            );
        }
    }
}

/// A template: its labels and annotations are named without their metadata.
pub(super) fn template(errors: &mut Vec<Error>, path: &Path<'_>, template: &Value) {
    let metadata = &template["metadata"];
    labels(errors, &path.child("labels"), &metadata["labels"]);
    super::metadata::annotations(errors, &path.child("annotations"), metadata);
    spec(errors, &path.child("spec"), &template["spec"]);
}

/// Little of a Pod can be changed: images, tolerations, and how long it may run.
pub(super) fn update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
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
    // A Pod with a wrong grace period may be given the shortest.
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

/// The source of a volume of the cluster. Tells whether there is one.
pub(super) fn volume_source(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) -> bool {
    volume::source(errors, path, spec)
}

/// Whether a field of a volume says what it is made of.
pub(super) fn is_volume_source(key: &str) -> bool {
    volume::is_source(key) || key == "local"
}

/// A selector of nodes, as volumes have it too.
pub(super) fn node_selector(errors: &mut Vec<Error>, path: &Path<'_>, selector: &Value) {
    scheduling::node_selector(errors, path, selector);
}
