//! Checks what machines are logged in to with, before they are connected to: trying again does not help.

use outrigger_api::FieldError;
use outrigger_api::machine::{InlineCredentials, MachineAccess};
use outrigger_node::HostKey;

use crate::remote::credentials;

/// Returns the invalid fields. `field` is the path of the object that has these fields.
pub fn check_access(access: &MachineAccess, field: &str) -> Vec<FieldError> {
    // What a Secret has is not known here.
    let mut errors = check(access.host_key.as_deref(), access.credentials(), field);
    if let Some(proxy) = &access.proxy {
        let field = format!("{field}.proxy");
        let host_key = proxy.host_key.as_deref();
        errors.extend(check(host_key, proxy.credentials(), &field));
    }
    errors
}

fn check(host_key: Option<&str>, inline: InlineCredentials<'_>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut add = |name: &str, message: String| {
        let field = format!("{path}{name}");
        errors.push(FieldError { field, message });
    };
    if let Some(Err(error)) = host_key.map(str::parse::<HostKey>) {
        add(".hostKey", error.to_string());
    }
    match credentials(inline) {
        Ok(credentials) => {
            if let Err(error) = credentials.check_private_key() {
                add(".privateKey", error.to_string());
            }
        }
        Err(error) => add("", error.to_string()),
    }
    errors
}

#[cfg(test)]
mod tests {
    use outrigger_api::RedactedBytes;
    use outrigger_api::machine::JumpHost;

    use super::*;

    fn errors(access: &MachineAccess) -> Vec<String> {
        let errors = check_access(access, "spec.machines[0]");
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn host_keys_and_private_keys_are_checked_also_of_jump_hosts() {
        let proxy = JumpHost {
            host_key: Some("foo".to_owned()),
            password: Some(RedactedBytes::new("x")),
            ..JumpHost::default()
        };
        let access = MachineAccess {
            private_key: Some(RedactedBytes::new("ssh-ed25519 AAAA")),
            proxy: Some(proxy),
            ..MachineAccess::default()
        };
        let errors = errors(&access);
        assert_eq!(errors[0], "spec.machines[0].privateKey: is a public key");
        let expected = "spec.machines[0].proxy.hostKey: host key \"foo\" is neither";
        assert!(errors[1].starts_with(expected), "{errors:?}");
    }
}
