//! `RoleBinding` and `ClusterRoleBinding`.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, text};
use crate::table::cells::{age, name};
use crate::table::moment::Now;
use crate::validation::field_checks::{push_invalid, require, validate_enum};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(crate) fn validate_role_binding(object: &Value, errors: &mut Vec<Error>) {
    validate_role_ref(errors, object, &["Role", "ClusterRole"]);
    validate_subjects(errors, object, true);
}

pub(crate) fn validate_cluster_role_binding(object: &Value, errors: &mut Vec<Error>) {
    validate_role_ref(errors, object, &["ClusterRole"]);
    validate_subjects(errors, object, false);
}

fn validate_role_ref(errors: &mut Vec<Error>, object: &Value, kinds: &[&str]) {
    let reference = &object["roleRef"];
    let path = Path::root("roleRef");
    let group = text(reference, "apiGroup");
    validate_enum(errors, &path.child("apiGroup"), group, &[GROUP]);
    validate_enum(errors, &path.child("kind"), text(reference, "kind"), kinds);
    let name = text(reference, "name");
    if require(errors, &path.child("name"), name) {
        push_invalid(
            errors,
            &path.child("name"),
            name,
            syntax::path_segment(name),
        );
    }
}

fn validate_subjects(errors: &mut Vec<Error>, object: &Value, is_namespaced: bool) {
    let path = Path::root("subjects");
    for (index, subject) in list(object, "subjects").iter().enumerate() {
        let field = path.index(index);
        let name = text(subject, "name");
        require(errors, &field.child("name"), name);
        let group = text(subject, "apiGroup");
        let on_group = field.child("apiGroup");
        match text(subject, "kind") {
            "ServiceAccount" => {
                if !name.is_empty() {
                    let messages = syntax::dns1123_subdomain(name);
                    push_invalid(errors, &field.child("name"), name, messages);
                }
                if !group.is_empty() {
                    errors.push(Error::not_supported(&on_group, group, &[""]));
                }
                if !is_namespaced && text(subject, "namespace").is_empty() {
                    errors.push(Error::required(&field.child("namespace"), ""));
                }
            }
            "User" | "Group" => {
                if group != GROUP {
                    errors.push(Error::not_supported(&on_group, group, &[GROUP]));
                }
            }
            other => {
                let kinds = ["ServiceAccount", "User", "Group"];
                errors.push(Error::not_supported(&field.child("kind"), other, &kinds));
            }
        }
    }
}

/// The role reference is immutable.
pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let (new, old) = (&new["roleRef"], &old["roleRef"]);
    if new != old {
        let bad_value = format!(
            "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
            new["apiGroup"], new["kind"], new["name"]
        );
        let bad_value = BadValue::verbatim(bad_value);
        let detail = "cannot change roleRef";
        errors.push(Error::invalid(&Path::root("roleRef"), bad_value, detail));
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let role = &object["roleRef"];
    let subjects = |kind: &str| {
        let subjects = list(object, "subjects").iter();
        let of_kind = subjects.filter(|subject| subject["kind"] == kind);
        let names = of_kind.map(|subject| match kind {
            "ServiceAccount" => {
                format!("{}/{}", text(subject, "namespace"), text(subject, "name"))
            }
            _ => text(subject, "name").to_owned(),
        });
        names.collect::<Vec<_>>().join(", ")
    };
    vec![
        name(object),
        format!("{}/{}", text(role, "kind"), text(role, "name")).into(),
        age(object, now),
        subjects("User").into(),
        subjects("Group").into(),
        subjects("ServiceAccount").into(),
    ]
}
