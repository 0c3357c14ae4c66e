//! `CustomResourceDefinition`: defaults, and validation of everything but the schemas, which `structural` validates.

use outrigger_apimachinery::status::field::{BadValue, Error, Path, quote};
use outrigger_apimachinery::syntax;
use outrigger_gostd::unicode;
use serde_json::{Map, Value, json};

use crate::fields::{list, object_mut, set_missing, str_field, text, texts};
use crate::kinds::is_builtin;
use crate::validation::field_checks::{require, validate_enum, validate_immutable};

mod selectable_fields;
pub(crate) mod strategy;

const SPEC: Path<'static> = Path::root("spec");
const NAMES: Path<'static> = SPEC.child("names");

pub(crate) fn set_defaults(definition: &mut Map<String, Value>) {
    let Some(spec) = object_mut(definition, "spec") else {
        return;
    };
    set_missing(spec, [("conversion", json!({"strategy": "None"}))]);
    if let Some(names) = object_mut(spec, "names") {
        let kind = str_field(names, "kind").to_owned();
        if !kind.is_empty() {
            set_missing(
                names,
                [
                    ("singular", json!(kind.to_lowercase())),
                    ("listKind", json!(format!("{kind}List"))),
                ],
            );
        }
    }
    let versions = spec.get("versions").and_then(Value::as_array);
    let stored = versions
        .into_iter()
        .flatten()
        .find(|version| version["storage"] == true)
        .map(|version| version["name"].clone());
    if let Some(status) = object_mut(definition, "status")
        && let Some(stored) = stored
    {
        set_missing(status, [("storedVersions", json!([stored]))]);
    }
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let name = text(&object["metadata"], "name");
    let plural = text(&spec["names"], "plural");
    let group = text(spec, "group");
    if name != format!("{plural}.{group}") {
        let field = Path::root("metadata");
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(Error::invalid(&field.child("name"), name, detail));
    }
    validate_group(errors, group);
    let scope = text(spec, "scope");
    if require(errors, &SPEC.child("scope"), scope) {
        let scopes = ["Cluster", "Namespaced"];
        validate_enum(errors, &SPEC.child("scope"), scope, &scopes);
    }
    if spec["preserveUnknownFields"] == true {
        let field = SPEC.child("preserveUnknownFields");
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(Error::invalid(&field, true, detail));
    }
    let versions = list(spec, "versions");
    validate_version_names(errors, versions);
    let stored = versions.iter().filter(|version| version["storage"] == true);
    let stored = stored.count();
    validate_storage_version(errors, spec, stored);
    validate_names(errors, &spec["names"]);
    validate_versions(errors, versions);
    validate_conversion(errors, &spec["conversion"]);
    validate_stored_versions(errors, object);
    validate_approval(errors, object, group);
}

fn validate_group(errors: &mut Vec<Error>, group: &str) {
    let field = SPEC.child("group");
    if !require(errors, &field, group) {
        return;
    }
    let messages = syntax::dns1123_subdomain(group);
    if !messages.is_empty() {
        errors.push(Error::invalid(&field, group, messages.join(",")));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(Error::invalid(&field, group, detail));
    }
}

fn validate_version_names(errors: &mut Vec<Error>, versions: &[Value]) {
    let path = SPEC.child("versions");
    for (index, version) in versions.iter().enumerate() {
        let name = text(version, "name");
        let messages = syntax::dns1035_label(name);
        if !messages.is_empty() {
            let field = path.index(index);
            let field = field.child("name");
            errors.push(Error::invalid(&field, name, messages.join(",")));
        }
    }
    let mut names: Vec<_> = versions
        .iter()
        .map(|version| text(version, "name"))
        .collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        let detail = "must contain unique version names";
        errors.push(Error::invalid(&path, shown(versions), detail));
    }
}

fn validate_storage_version(errors: &mut Vec<Error>, spec: &Value, stored: usize) {
    if stored == 1 {
        return;
    }
    let path = SPEC.child("versions");
    let detail = "must have exactly one version marked as storage version";
    let bad_value = match spec["versions"].as_array() {
        Some(versions) => shown(versions),
        None => BadValue::verbatim("null"),
    };
    errors.push(Error::invalid(&path, bad_value, detail));
}

/// Versions in the internal form that kube-apiserver shows, which omits schemas that are the same in all versions.
fn shown(versions: &[Value]) -> BadValue {
    let all: Vec<_> = versions
        .iter()
        .map(|version| {
            let flag = |key: &str| version[key] == true;
            format!(
                "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}",
                version["name"],
                flag("served"),
                flag("storage"),
                flag("deprecated"),
                version["deprecationWarning"],
            )
        })
        .collect();
    BadValue::verbatim(format!("[{}]", all.join(",")))
}

fn validate_names(errors: &mut Vec<Error>, names: &Value) {
    const MIXED: &str = "may have mixed case, but should otherwise match: ";
    for (key, is_mixed) in [
        ("plural", false),
        ("singular", false),
        ("kind", true),
        ("listKind", true),
    ] {
        let name = text(names, key);
        let field = NAMES.child(key);
        if name.is_empty() {
            errors.push(Error::required(&field, ""));
            continue;
        }
        let messages = if is_mixed {
            syntax::dns1035_label(&name.to_lowercase())
        } else {
            syntax::dns1035_label(name)
        };
        if !messages.is_empty() {
            let prefix = if is_mixed { MIXED } else { "" };
            let detail = format!("{prefix}{}", messages.join(","));
            errors.push(Error::invalid(&field, name, detail));
        }
    }
    for key in ["shortNames", "categories"] {
        let field = NAMES.child(key);
        for (index, name) in texts(list(names, key)).enumerate() {
            let messages = syntax::dns1035_label(name);
            if !messages.is_empty() {
                let field = field.index(index);
                errors.push(Error::invalid(&field, name, messages.join(",")));
            }
        }
    }
    let (kind, list_kind) = (text(names, "kind"), text(names, "listKind"));
    if !kind.is_empty() && kind == list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(Error::invalid(&NAMES.child("listKind"), list_kind, detail));
    }
}

/// Validates each version. With a single version, kube-apiserver reports the deprecated top-level fields.
fn validate_versions(errors: &mut Vec<Error>, versions: &[Value]) {
    let path = SPEC.child("versions");
    let is_single = versions.len() == 1;
    for (index, version) in versions.iter().enumerate() {
        let in_list = path.index(index);
        let field = if is_single { &SPEC } else { &in_list };
        validate_deprecation_warning(errors, &in_list.child("deprecationWarning"), version);
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let field = in_list.child("schema");
            errors.push(Error::required(&field.child("openAPIV3Schema"), ""));
        }
        if is_single {
            let name = text(version, "name");
            let messages = syntax::dns1035_label(name);
            if !messages.is_empty() {
                let field = SPEC.child("version");
                errors.push(Error::invalid(&field, name, messages.join(",")));
            }
        }
        validate_scale(errors, &field.child("subresources"), version);
        validate_printer_columns(errors, &field.child("additionalPrinterColumns"), version);
        selectable_fields::validate(errors, field, version, is_single);
    }
}

fn validate_deprecation_warning(errors: &mut Vec<Error>, path: &Path<'_>, version: &Value) {
    let Some(warning) = version["deprecationWarning"].as_str() else {
        return;
    };
    let mut push = |detail: String| errors.push(Error::invalid(path, warning, detail));
    if version["deprecated"] != true {
        push("can only be set for deprecated versions".to_owned());
        return;
    }
    if warning.len() > 256 {
        push("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        push("must not be an empty string".to_owned());
    }
    let mut characters = warning.char_indices();
    if let Some((at, _)) = characters.find(|(_, c)| !unicode::is_print(*c)) {
        push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
}

fn validate_scale(errors: &mut Vec<Error>, path: &Path<'_>, version: &Value) {
    let scale = &version["subresources"]["scale"];
    if !scale.is_object() {
        return;
    }
    let field = path.child("scale");
    for (key, root) in [
        ("specReplicasPath", ".spec."),
        ("statusReplicasPath", ".status."),
    ] {
        let route = text(scale, key);
        let field = field.child(key);
        if !require(errors, &field, route) {
            continue;
        }
        if !route.starts_with('.') {
            let detail = "must be a simple json path starting with .";
            errors.push(Error::invalid(&field, route, detail));
        } else if !route.starts_with(root) {
            let root = root.trim_end_matches('.');
            let detail = format!("should be a json path under {root}");
            errors.push(Error::invalid(&field, route, detail));
        }
    }
}

fn validate_printer_columns(errors: &mut Vec<Error>, path: &Path<'_>, version: &Value) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    for (index, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
        let field = path.index(index);
        require(errors, &field.child("name"), text(column, "name"));
        let type_ = text(column, "type");
        if !TYPES.contains(&type_) {
            let detail = format!("must be one of {}", TYPES.join(","));
            errors.push(Error::invalid(&field.child("type"), type_, detail));
        }
        require(errors, &field.child("JSONPath"), text(column, "jsonPath"));
    }
}

fn validate_conversion(errors: &mut Vec<Error>, conversion: &Value) {
    if let Some(strategy) = conversion["strategy"].as_str() {
        let field = SPEC.child("conversion");
        let strategies = ["None", "Webhook"];
        validate_enum(errors, &field.child("strategy"), strategy, &strategies);
    }
}

fn validate_stored_versions(errors: &mut Vec<Error>, object: &Value) {
    let field = Path::root("status");
    let field = field.child("storedVersions");
    if list(&object["status"], "storedVersions").is_empty() {
        let bad_value = BadValue::verbatim("null");
        let detail = "must have at least one stored version";
        errors.push(Error::invalid(&field, bad_value, detail));
        return;
    }
    let stored: Vec<&str> = texts(list(&object["status"], "storedVersions")).collect();
    let versions = list(&object["spec"], "versions");
    for (index, name) in stored.iter().enumerate() {
        if !versions
            .iter()
            .any(|version| text(version, "name") == *name)
        {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            errors.push(Error::invalid(&field.index(index), *name, detail));
        }
    }
    let last = versions.iter().rfind(|version| version["storage"] == true);
    let last = last
        .map(|version| text(version, "name"))
        .unwrap_or_default();
    if !last.is_empty() && !stored.contains(&last) {
        let bad_value = serde_json::json!(stored);
        let detail = format!("must have the storage version {last}");
        errors.push(Error::invalid(&field, &bad_value, detail));
    }
}

/// Groups of Kubernetes itself require an approval annotation.
fn validate_approval(errors: &mut Vec<Error>, object: &Value, group: &str) {
    const APPROVAL: &str = "api-approved.kubernetes.io";
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|suffix| group == *suffix || group.ends_with(&format!(".{suffix}")));
    let approval = text(&object["metadata"]["annotations"], APPROVAL);
    if is_protected && approval.is_empty() {
        let field = Path::root("metadata");
        let field = field.child("annotations");
        let detail = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111";
        errors.push(Error::required(&field.key(APPROVAL), detail));
    }
}

/// Rejects a definition of a built-in resource, whose objects it would share. kube-apiserver accepts and ignores it.
pub(crate) fn validate_create(object: &Value, errors: &mut Vec<Error>) {
    let group = text(&object["spec"], "group");
    let plural = text(&object["spec"]["names"], "plural");
    if is_builtin(group, plural) {
        let detail = format!("is a built-in resource of the group {}", quote(group));
        errors.push(Error::invalid(&NAMES.child("plural"), plural, detail));
    }
}

pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let is_established = list(&old["status"], "conditions")
        .iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    let (new, old) = (&new["spec"], &old["spec"]);
    validate_immutable(errors, &SPEC.child("group"), &new["group"], &old["group"]);
    if is_established {
        validate_immutable(errors, &SPEC.child("scope"), &new["scope"], &old["scope"]);
    }
    for key in ["plural", "kind"] {
        if key == "plural" || is_established {
            let field = NAMES.child(key);
            validate_immutable(errors, &field, &new["names"][key], &old["names"][key]);
        }
    }
}
