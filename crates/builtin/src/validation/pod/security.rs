//! Security contexts of Pods and containers.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use serde_json::Value;

use super::super::field_checks::{in_range, list, one_of, text};

const MAX_ID: i64 = i32::MAX as i64;

pub(super) fn of_pod(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    let context = &spec["securityContext"];
    for key in ["fsGroup", "runAsUser", "runAsGroup"] {
        in_range(errors, &path.child(key), &context[key], 0, MAX_ID);
    }
    let place = path.child("supplementalGroups");
    for (index, group) in list(context, "supplementalGroups").iter().enumerate() {
        in_range(errors, &place.index(index), group, 0, MAX_ID);
    }
    let place = path.child("sysctls");
    let mut names = Vec::new();
    for (index, setting) in list(context, "sysctls").iter().enumerate() {
        let name = text(setting, "name");
        let place = place.index(index);
        let place = place.child("name");
        if name.is_empty() {
            errors.push(Error::required(&place, ""));
        } else if !is_setting(name) {
            let detail = r"must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            errors.push(Error::invalid(&place, name, detail));
        } else if names.contains(&name) {
            errors.push(Error::duplicate(&place, name));
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
    if one_of(errors, &path.child("type"), type_, &types) {
        let file = &profile["localhostProfile"];
        let place = path.child("localhostProfile");
        if type_ == "Localhost" && file.is_null() {
            let detail = "must be set when seccomp type is Localhost";
            errors.push(Error::required(&place, detail));
        } else if type_ != "Localhost" && !file.is_null() {
            let detail = "can only be set when seccomp type is Localhost";
            errors.push(Error::invalid(&place, file, detail));
        }
    }
}

pub(super) fn of_container(errors: &mut Vec<Error>, path: &Path<'_>, context: &Value) {
    for key in ["runAsUser", "runAsGroup"] {
        in_range(errors, &path.child(key), &context[key], 0, MAX_ID);
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

/// A context in the inner form that the real server shows.
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
