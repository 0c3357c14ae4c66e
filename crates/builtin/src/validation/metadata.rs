//! Validation of `ObjectMeta`.

use outrigger_apimachinery::GroupVersion;
use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, map, text, texts};
use crate::kinds::Kind;
use crate::validation::field_checks::{push_invalid, validate_immutable, validate_labels};

const METADATA: Path<'static> = Path::root("metadata");
/// Finalizers without a domain prefix.
const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
const MAX_ANNOTATIONS: usize = 256 * 1024;

type Syntax = fn(&str) -> Vec<String>;

/// The name syntax of a kind. `None` if its strategy does not validate names.
fn name_syntax(kind: &Kind) -> Option<Syntax> {
    Some(match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Event") | ("events.k8s.io", _) | ("policy", "PodDisruptionBudget") => return None,
        ("", "Namespace" | "Service") | ("apps", "StatefulSet") => syntax::dns1123_label,
        ("networking.k8s.io", "IPAddress") => syntax::ip_address,
        ("rbac.authorization.k8s.io" | "apiregistration.k8s.io", _) => syntax::path_segment,
        _ => syntax::dns1123_subdomain,
    })
}

/// Validates the metadata of a new object by the rules of its kind.
pub(super) fn create(kind: &Kind, object: &Value, errors: &mut Vec<Error>) {
    if let Some(syntax) = name_syntax(kind) {
        check(kind, object, syntax, errors);
    }
}

/// Validates the metadata by the rules of all kinds, once everything else is valid.
pub(super) fn create_generic(kind: &Kind, object: &Value, errors: &mut Vec<Error>) {
    check(kind, object, syntax::path_segment, errors);
}

fn check(kind: &Kind, object: &Value, syntax: Syntax, errors: &mut Vec<Error>) {
    let metadata = &object["metadata"];
    let prefix = text(metadata, "generateName");
    if !prefix.is_empty() {
        // The generated suffix makes a trailing dash valid.
        let masked = match prefix.strip_suffix('-') {
            Some(start) if prefix.len() > 1 => format!("{start}a"),
            _ => prefix.to_owned(),
        };
        let field = METADATA.child("generateName");
        push_invalid(errors, &field, prefix, syntax(&masked));
    }
    let name = text(metadata, "name");
    let field = METADATA.child("name");
    if name.is_empty() {
        let detail = "name or generateName is required";
        errors.push(Error::required(&field, detail));
    } else {
        push_invalid(errors, &field, name, syntax(name));
    }
    let namespace = METADATA.child("namespace");
    match (kind.namespaced, text(metadata, "namespace")) {
        (true, "") => errors.push(Error::required(&namespace, "")),
        (false, set) if !set.is_empty() => {
            errors.push(Error::forbidden(&namespace, "not allowed on this type"));
        }
        _ => {}
    }
    validate_common(kind, metadata, errors);
}

/// Validates everything but names.
fn validate_common(kind: &Kind, metadata: &Value, errors: &mut Vec<Error>) {
    if let Some(generation) = metadata["generation"].as_i64().filter(|n| *n < 0) {
        let detail = "must be greater than or equal to 0";
        errors.push(Error::invalid(
            &METADATA.child("generation"),
            generation,
            detail,
        ));
    }
    validate_labels(errors, &METADATA.child("labels"), &metadata["labels"]);
    annotations(errors, &METADATA.child("annotations"), metadata);
    owners(metadata, errors);
    finalizers(kind, metadata, errors);
}

/// `ValidateAnnotations`, for objects and templates.
pub(crate) fn annotations(errors: &mut Vec<Error>, path: &Path<'_>, metadata: &Value) {
    let mut size = 0;
    for (key, value) in map(metadata, "annotations") {
        push_invalid(errors, path, key, syntax::label_key(&key.to_lowercase()));
        let length = value.as_str().unwrap_or_default().len();
        size = key.len().saturating_add(length).saturating_add(size);
    }
    if size > MAX_ANNOTATIONS {
        errors.push(Error::too_long(path, MAX_ANNOTATIONS));
    }
}

fn owners(metadata: &Value, errors: &mut Vec<Error>) {
    let field = METADATA.child("ownerReferences");
    let mut controller: Option<&Value> = None;
    for owner in list(metadata, "ownerReferences") {
        let version = GroupVersion::parse(text(owner, "apiVersion"));
        if version.version.is_empty() {
            let field = field.child("apiVersion");
            let api_version = text(owner, "apiVersion");
            errors.push(Error::invalid(
                &field,
                api_version,
                "version must not be empty",
            ));
        }
        for key in ["kind", "name", "uid"] {
            if text(owner, key).is_empty() {
                errors.push(Error::invalid(&field.child(key), "", "must not be empty"));
            }
        }
        if version == GroupVersion::new("", "v1") && owner["kind"] == "Event" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(Error::invalid(&field, owner_shown(owner), detail));
        }
        if owner["controller"] != true {
            continue;
        }
        if let Some(first) = controller {
            let all: Vec<_> = list(metadata, "ownerReferences")
                .iter()
                .map(owner_text)
                .collect();
            let detail = format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {}/{} and {}/{}",
                text(first, "kind"),
                text(first, "name"),
                text(owner, "kind"),
                text(owner, "name"),
            );
            let bad_value = BadValue::verbatim(format!("[{}]", all.join(",")));
            errors.push(Error::invalid(&field, bad_value, detail));
        } else {
            controller = Some(owner);
        }
    }
}

fn owner_shown(owner: &Value) -> BadValue {
    BadValue::verbatim(owner_text(owner))
}

fn owner_text(owner: &Value) -> String {
    let keys = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let parts: Vec<_> = keys
        .iter()
        .filter(|key| !owner[**key].is_null())
        .map(|key| format!("\"{key}\":{}", owner[*key]))
        .collect();
    format!("{{{}}}", parts.join(","))
}

fn finalizers(kind: &Kind, metadata: &Value, errors: &mut Vec<Error>) {
    let field = METADATA.child("finalizers");
    let all = list(metadata, "finalizers");
    for finalizer in texts(all) {
        push_invalid(errors, &field, finalizer, syntax::label_key(finalizer));
    }
    let has = |name: &str| all.iter().any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(Error::invalid(&field, &metadata["finalizers"], detail));
    }
    // The strategies of apiextensions do not require a domain.
    let is_extension = kind.custom.is_some() || kind.group == "apiextensions.k8s.io";
    for (index, finalizer) in texts(all).enumerate().filter(|_| !is_extension) {
        if !finalizer.contains('/') && !STANDARD.contains(&finalizer) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(Error::invalid(&field.index(index), finalizer, detail));
        }
    }
}

/// `ValidateObjectMetaUpdate`.
pub(super) fn update(kind: &Kind, new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let metadata = &new["metadata"];
    let before = &old["metadata"];
    if before["deletionTimestamp"].is_string() {
        let known = list(before, "finalizers");
        let added: Vec<_> = list(metadata, "finalizers")
            .iter()
            .filter(|finalizer| !known.contains(finalizer))
            .map(ToString::to_string)
            .collect();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            errors.push(Error::forbidden(&METADATA.child("finalizers"), detail));
        }
    }
    for key in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        validate_immutable(errors, &METADATA.child(key), &metadata[key], &before[key]);
    }
    validate_common(kind, metadata, errors);
}
