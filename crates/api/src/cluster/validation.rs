//! Validation that a schema cannot express. The controller and the command line run it before any machine is touched.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use outrigger_apimachinery::syntax;
use outrigger_gostd::semver::Version;

use super::{ALL_REGISTRIES, Cluster, ClusterType, Features};
use crate::field_error::{FieldError, FieldErrors};
use crate::hook::Hook;
use crate::machine::check_access;
use crate::{duration, step};

mod paths;

pub(crate) use paths::{SYSTEM_PATHS, SYSTEM_TREES};
pub use paths::{check_destination, is_system_path};

/// Leaves room in the name of a machine for its address.
pub(super) const MAX_NAME: usize = 200;

/// Returns the invalid fields of a cluster, in the order of the fields.
pub fn validate(cluster: &Cluster) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    check_name(cluster, &mut errors);
    check_type(cluster, &mut errors);
    check_network(cluster, &mut errors);
    check_registries(cluster, &mut errors);
    check_machines(cluster, &mut errors);
    check_files(&cluster.spec.features, &mut errors);
    check_hooks(&cluster.spec.features, &mut errors);
    check_steps(&cluster.spec.features, &mut errors);
    errors.list
}

fn check_name(cluster: &Cluster, errors: &mut FieldErrors) {
    let Some(name) = &cluster.metadata.name else {
        return;
    };
    let problems = syntax::dns1123_subdomain(name);
    if let Some(problem) = problems.first() {
        errors.add("metadata.name", format!("{name:?}: {problem}"));
    } else if name.len() > MAX_NAME {
        errors.add(
            "metadata.name",
            format!("has more than {MAX_NAME} characters; the names of machines begin with it"),
        );
    }
}

fn check_type(cluster: &Cluster, errors: &mut FieldErrors) {
    let spec = &cluster.spec;
    match spec.kind {
        ClusterType::Baremetal => {
            if spec.version.is_empty() {
                errors.add("spec.version", "is missing");
            } else if Version::parse(&spec.version).is_err() {
                errors.add(
                    "spec.version",
                    format!("{:?} is not a version such as 1.34.1", spec.version),
                );
            }
            if spec.machines.is_empty() {
                errors.add("spec.machines", "must have at least one machine");
            }
        }
        ClusterType::Imported => {
            if !spec.machines.is_empty() {
                errors.add("spec.machines", "an Imported cluster has no machines");
            }
        }
        ClusterType::Embedded | ClusterType::Aws => errors.add(
            "spec.type",
            format!(
                "{} clusters are not supported yet; use Baremetal or Imported",
                if spec.kind == ClusterType::Aws {
                    "AWS"
                } else {
                    "Embedded"
                }
            ),
        ),
    }
}

fn check_network(cluster: &Cluster, errors: &mut FieldErrors) {
    let spec = &cluster.spec;
    let mut parsed = Vec::new();
    let fields = [
        ("spec.clusterCIDR", &spec.cluster_cidr),
        ("spec.serviceCIDR", &spec.service_cidr),
    ];
    for (field, text) in fields {
        let Some(text) = text else { continue };
        match parse_cidr(text) {
            Some(cidr) => parsed.push(cidr),
            None => errors.add(
                field,
                format!("{text:?} is not a range of addresses such as 10.244.0.0/16"),
            ),
        }
    }
    if let [pods, services] = parsed[..]
        && overlap(pods, services)
    {
        errors.add("spec.serviceCIDR", "overlaps with clusterCIDR");
    }
}

fn check_registries(cluster: &Cluster, errors: &mut FieldErrors) {
    let mut registries = BTreeSet::new();
    for (index, mirror) in cluster.spec.registry_mirrors.iter().enumerate() {
        let field = |name: &str| format!("spec.registryMirrors[{index}].{name}");
        let registry = &mirror.registry;
        if registry != ALL_REGISTRIES && !is_registry(registry) {
            let message = format!("{registry:?} is not a registry such as registry.k8s.io, or *");
            errors.add(field("registry"), message);
        }
        if !registries.insert(registry) {
            errors.add(field("registry"), format!("{registry} is listed twice"));
        }
        let host = ["https://", "http://"].iter();
        let mut rest = host.filter_map(|scheme| mirror.url.strip_prefix(scheme));
        if !rest.next().is_some_and(is_host_and_path) {
            let message = format!(
                "{:?} is not a URL such as https://registry.example.com",
                mirror.url
            );
            errors.add(field("url"), message);
        }
        let certificate = mirror.ca_certificate.as_deref();
        if certificate.is_some_and(|text| !text.contains("-----BEGIN CERTIFICATE-----")) {
            errors.add(field("caCertificate"), "has no certificate in PEM format");
        }
    }
}

/// Host and port, as the name of an image begins with them.
fn is_registry(text: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    !text.is_empty() && !text.starts_with(['.', '-']) && text.bytes().all(is_valid)
}

fn is_host_and_path(text: &str) -> bool {
    let (host, path) = text.split_once('/').unwrap_or((text, ""));
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    is_registry(host) && path.bytes().all(is_valid)
}

/// The first address as a number, the prefix length, and the length of addresses.
fn parse_cidr(text: &str) -> Option<(u128, u32, u32)> {
    let (address, length) = text.split_once('/')?;
    let (bits, width) = match address.parse().ok()? {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let length: u32 = length.parse().ok().filter(|length| *length <= width)?;
    Some((bits, length, width))
}

fn overlap(a: (u128, u32, u32), b: (u128, u32, u32)) -> bool {
    let shift = a.2 - a.1.min(b.1).min(a.2);
    a.2 == b.2 && a.0.checked_shr(shift) == b.0.checked_shr(shift)
}

fn check_machines(cluster: &Cluster, errors: &mut FieldErrors) {
    let mut addresses = BTreeSet::new();
    for (index, machine) in cluster.spec.machines.iter().enumerate() {
        let field = format!("spec.machines[{index}]");
        check_access(machine, &field, errors);
        if !addresses.insert(machine.address()) {
            errors.add(
                format!("{field}.ip"),
                format!("{} is listed twice", machine.address()),
            );
        }
    }
}

fn check_files(features: &Features, errors: &mut FieldErrors) {
    let mut destinations = BTreeSet::new();
    for (index, file) in features.files.iter().enumerate() {
        let field = |name: &str| format!("spec.features.files[{index}].{name}");
        if !paths::is_inside(&file.src) {
            errors.add(
                field("src"),
                format!("{:?} must be a path inside the files root", file.src),
            );
        }
        if let Err(message) = check_destination(&file.dst, file.force) {
            errors.add(field("dst"), format!("{:?} {message}", file.dst));
        }
        if !destinations.insert(file.dst.trim_end_matches('/')) {
            errors.add(field("dst"), format!("{:?} is listed twice", file.dst));
        }
    }
}

fn check_hooks(features: &Features, errors: &mut FieldErrors) {
    for (name, path) in &features.hooks {
        let field = format!("spec.features.hooks.{name}");
        if Hook::of_cluster(name).is_none() {
            errors.add(&field, unknown("hook", Hook::nearest(name)));
        }
        if !features.files.iter().any(|file| file.contains(path)) {
            errors.add(
                &field,
                format!("{path:?} is not among the destinations of spec.features.files"),
            );
        }
    }
    let timeout = features.hook_timeout.as_deref();
    check_timeout("spec.features.hookTimeout", timeout, errors);
    if features.hook_attempts == Some(0) {
        errors.add("spec.features.hookAttempts", "must be at least 1");
    }
}

/// A year, the maximum duration of a step.
const MAX_TIMEOUT: Duration = Duration::from_hours(8760);

fn check_timeout(field: &str, text: Option<&str>, errors: &mut FieldErrors) {
    errors.check_duration(field, text);
    let timeout = text.and_then(duration::parse);
    if timeout.is_some_and(|timeout| timeout > MAX_TIMEOUT) {
        errors.add(field, "must be at most 8760h");
    }
}

fn check_steps(features: &Features, errors: &mut FieldErrors) {
    let mut skipped = BTreeSet::new();
    for (index, name) in features.skip_conditions.iter().enumerate() {
        let field = format!("spec.features.skipConditions[{index}]");
        skipped.extend(check_step(name, field, errors));
    }
    for (index, name) in features.delegate_conditions.iter().enumerate() {
        let field = format!("spec.features.delegateConditions[{index}]");
        let Some(id) = check_step(name, field.clone(), errors) else {
            continue;
        };
        if !step::is_delegable(id) {
            errors.add(&field, format!("{id} cannot be delegated"));
        }
        if skipped.contains(id) {
            errors.add(field, format!("{id} is also in skipConditions"));
        }
    }
    if let Some(delegation) = &features.delegation {
        let timeout = delegation.timeout.as_deref();
        check_timeout("spec.features.delegation.timeout", timeout, errors);
    }
}

fn check_step(name: &str, field: String, errors: &mut FieldErrors) -> Option<&'static str> {
    let id = step::find(name);
    if id.is_none() {
        let message = format!("{name}: {}", unknown("step", step::nearest_id(name)));
        errors.add(field, message);
    }
    id
}

fn unknown(what: &str, nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("unknown {what}; did you mean {nearest}?"),
        None => format!("unknown {what}"),
    }
}

#[cfg(test)]
mod tests;
