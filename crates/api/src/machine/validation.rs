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
    let has_inline = access.credentials().can_log_in();
    check_credentials(has_inline, access.secret_ref.is_some(), field, errors);
    if access.passphrase.is_some() && access.private_key.is_none() {
        errors.add(format!("{field}.passPhrase"), "requires privateKey");
    }
    if let Some(proxy) = &access.proxy {
        let field = format!("{field}.proxy");
        check_ip(&proxy.ip, &format!("{field}.ip"), errors);
        let has_inline = proxy.credentials().can_log_in();
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
        Ok(ip) if !is_of_machine(ip.to_canonical()) => {
            errors.add(field, format!("{ip} is not the address of a machine"));
        }
        Ok(ip) if ip.to_canonical() != ip => {
            let canonical = ip.to_canonical();
            let message = format!("{ip} is the IPv4 address {canonical}; write {canonical}");
            errors.add(field, message);
        }
        Ok(_) => {}
        Err(_) => errors.add(field, format!("{ip:?} is not an IP address")),
    }
}

fn is_of_machine(ip: IpAddr) -> bool {
    !ip.is_unspecified() && !ip.is_multicast()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn errors(access: &serde_json::Value) -> Vec<String> {
        let mut spec = json!({"cluster": "a", "password": "eA=="});
        if let (Some(spec), Some(access)) = (spec.as_object_mut(), access.as_object()) {
            spec.extend(access.clone());
        }
        let machine = Machine::new("m", serde_json::from_value(spec).unwrap());
        validate(&machine).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_ipv4_address_is_not_written_as_an_ipv6_address() {
        let text = "is the IPv4 address 10.0.0.1; write 10.0.0.1";
        let mapped = errors(&json!({"ip": "::ffff:10.0.0.1"}));
        assert_eq!(mapped, [format!("spec.ip: ::ffff:10.0.0.1 {text}")]);
        let jump = json!({"ip": "fd00::1", "proxy": {"ip": "::FFFF:a00:1", "password": "eA=="}});
        let jump = errors(&jump);
        assert_eq!(jump, [format!("spec.proxy.ip: ::ffff:10.0.0.1 {text}")]);
        let unspecified = errors(&json!({"ip": "::ffff:0.0.0.0"}));
        assert!(unspecified[0].ends_with("is not the address of a machine"));
        assert!(errors(&json!({"ip": "fd00::ffff:10.0.0.1"})).is_empty());
    }

    #[test]
    fn notations_of_one_address_are_one_address() {
        let address = |ip: &str| MachineAccess {
            ip: ip.to_owned(),
            ..MachineAccess::default()
        };
        let address = |ip| address(ip).address();
        assert_eq!(address("::ffff:10.0.0.1"), address("10.0.0.1"));
        assert_eq!(address("fd00:0::1"), "[fd00::1]:22");
    }
}
