//! Validation of security contexts.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use serde_json::Value;

use crate::fields::{list, text};
use crate::validation::field_checks::{validate_enum, validate_in_range};

const MAX_ID: i64 = i32::MAX as i64;

pub(super) fn of_pod(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    let context = &spec["securityContext"];
    for key in ["fsGroup", "runAsUser", "runAsGroup"] {
        validate_in_range(errors, &path.child(key), &context[key], 0, MAX_ID);
    }
    let field = path.child("supplementalGroups");
    for (index, group) in list(context, "supplementalGroups").iter().enumerate() {
        validate_in_range(errors, &field.index(index), group, 0, MAX_ID);
    }
    let field = path.child("sysctls");
    let mut names = Vec::new();
    for (index, setting) in list(context, "sysctls").iter().enumerate() {
        let name = text(setting, "name");
        let field = field.index(index);
        let field = field.child("name");
        if name.is_empty() {
            errors.push(Error::required(&field, ""));
        } else if !is_setting(name) {
            let detail = r"must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            errors.push(Error::invalid(&field, name, detail));
        } else if names.contains(&name) {
            errors.push(Error::duplicate(&field, name));
        }
        names.push(name);
    }
    seccomp(errors, &path.child("seccompProfile"), context);
}

fn is_setting(name: &str) -> bool {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_part = |part: &str| {
        part.starts_with(is_end)
            && part.ends_with(is_end)
            && part.chars().all(|c| is_end(c) || c == '-' || c == '_')
    };
    name.len() <= 253 && name.split(['.', '/']).all(is_part)
}

fn seccomp(errors: &mut Vec<Error>, path: &Path<'_>, context: &Value) {
    let profile = &context["seccompProfile"];
    if !profile.is_object() {
        return;
    }
    let types = ["Localhost", "RuntimeDefault", "Unconfined"];
    let type_ = text(profile, "type");
    if validate_enum(errors, &path.child("type"), type_, &types) {
        let file = &profile["localhostProfile"];
        let field = path.child("localhostProfile");
        if type_ == "Localhost" && file.is_null() {
            let detail = "must be set when seccomp type is Localhost";
            errors.push(Error::required(&field, detail));
        } else if type_ != "Localhost" && !file.is_null() {
            let detail = "can only be set when seccomp type is Localhost";
            errors.push(Error::invalid(&field, file, detail));
        }
    }
}

pub(super) fn of_container(errors: &mut Vec<Error>, path: &Path<'_>, context: &Value) {
    for key in ["runAsUser", "runAsGroup"] {
        validate_in_range(errors, &path.child(key), &context[key], 0, MAX_ID);
    }
    seccomp(errors, &path.child("seccompProfile"), context);
    if context["allowPrivilegeEscalation"] == false {
        if context["privileged"] == true {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            errors.push(Error::invalid(path, shown(context), detail));
        }
        let added = list(&context["capabilities"], "add");
        if added.iter().any(|capability| capability == "CAP_SYS_ADMIN") {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            errors.push(Error::invalid(path, shown(context), detail));
        }
    }
}

/// A context in the internal form that kube-apiserver shows.
fn shown(context: &Value) -> BadValue {
    let fields = [
        ("Capabilities", "capabilities"),
        ("Privileged", "privileged"),
        ("SELinuxOptions", "seLinuxOptions"),
        ("WindowsOptions", "windowsOptions"),
        ("RunAsUser", "runAsUser"),
        ("RunAsGroup", "runAsGroup"),
        ("RunAsNonRoot", "runAsNonRoot"),
        ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem"),
        ("AllowPrivilegeEscalation", "allowPrivilegeEscalation"),
        ("ProcMount", "procMount"),
        ("SeccompProfile", "seccompProfile"),
        ("AppArmorProfile", "appArmorProfile"),
    ];
    let parts: Vec<_> = fields
        .iter()
        .map(|(name, key)| format!("\"{name}\":{}", context[*key]))
        .collect();
    BadValue::verbatim(format!("{{{}}}", parts.join(",")))
}
