//! Validation that a schema cannot express.

use std::net::IpAddr;

use outrigger_apimachinery::syntax;

use super::{Machine, MachineAccess};
use crate::field_error::{FieldError, FieldErrors};

/// Returns the invalid fields of a machine.
pub fn validate(machine: &Machine) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    let name = machine.metadata.name.as_deref();
    let problems = name.map(syntax::dns1123_subdomain).unwrap_or_default();
    if let (Some(name), Some(problem)) = (name, problems.first()) {
        errors.add("metadata.name", format!("{name:?}: {problem}"));
    }
    check_access(&machine.spec.access, "spec", &mut errors);
    errors.list
}

/// Checks how a machine is reached. `field` is the path of the object that has these fields.
pub(crate) fn check_access(access: &MachineAccess, field: &str, errors: &mut FieldErrors) {
    check_ip(&access.ip, &format!("{field}.ip"), errors);
    if access.port == 0 {
        errors.add(format!("{field}.port"), "must be between 1 and 65535");
    }
    if access.username.is_empty() || access.username.contains(char::is_control) {
        errors.add(format!("{field}.username"), "is not a user name");
    }
    check_labels(access, field, errors);
    let has_inline = access.password.is_some() || access.private_key.is_some();
    check_credentials(has_inline, access.secret_ref.is_some(), field, errors);
    if access.passphrase.is_some() && access.private_key.is_none() {
        errors.add(format!("{field}.passPhrase"), "requires privateKey");
    }
    if let Some(proxy) = &access.proxy {
        let field = format!("{field}.proxy");
        check_ip(&proxy.ip, &format!("{field}.ip"), errors);
        let has_inline = proxy.password.is_some() || proxy.private_key.is_some();
        check_credentials(has_inline, proxy.secret_ref.is_some(), &field, errors);
    }
}

/// Labels and taints become those of the node, which the API server checks.
fn check_labels(access: &MachineAccess, field: &str, errors: &mut FieldErrors) {
    for (key, value) in &access.labels {
        let problems = syntax::label_key(key).into_iter();
        if let Some(problem) = problems.chain(syntax::label_value(value)).next() {
            let label = format!("{key}={value}");
            errors.add(format!("{field}.labels"), format!("{label:?}: {problem}"));
        }
    }
    for (index, taint) in access.taints.iter().enumerate() {
        let problems = syntax::label_key(&taint.key).into_iter();
        if let Some(problem) = problems.chain(syntax::label_value(&taint.value)).next() {
            errors.add(format!("{field}.taints[{index}]"), problem);
        }
    }
}

fn check_ip(ip: &str, field: &str, errors: &mut FieldErrors) {
    match ip.parse::<IpAddr>() {
        Ok(ip) if ip.is_unspecified() || ip.is_multicast() => {
            errors.add(field, format!("{ip} is not the address of a machine"));
        }
        Ok(_) => {}
        Err(_) => errors.add(field, format!("{ip:?} is not an IP address")),
    }
}

fn check_credentials(has_inline: bool, has_reference: bool, field: &str, errors: &mut FieldErrors) {
    if has_inline && has_reference {
        errors.add(
            format!("{field}.secretRef"),
            "cannot be combined with password or privateKey",
        );
    }
    if !has_inline && !has_reference {
        errors.add(
            format!("{field}.secretRef"),
            "is missing; set secretRef, password or privateKey",
        );
    }
}
