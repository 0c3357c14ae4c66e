//! Definitions of custom resources: names, versions, columns. Their schemas are checked where schemas are read.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{list, one_of, required, text, texts, unchanged};

mod selectable;

const SPEC: Path<'static> = Path::root("spec");
const NAMES: Path<'static> = SPEC.child("names");

pub(super) fn check(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let name = text(&object["metadata"], "name");
    let plural = text(&spec["names"], "plural");
    let group = text(spec, "group");
    if name != format!("{plural}.{group}") {
        let place = Path::root("metadata");
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(Error::invalid(&place.child("name"), name, detail));
    }
    check_group(errors, group);
    let scope = text(spec, "scope");
    if required(errors, &SPEC.child("scope"), scope) {
        let scopes = ["Cluster", "Namespaced"];
        one_of(errors, &SPEC.child("scope"), scope, &scopes);
    }
    if spec["preserveUnknownFields"] == true {
        let place = SPEC.child("preserveUnknownFields");
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(Error::invalid(&place, true, detail));
    }
    let versions = list(spec, "versions");
    each_version(errors, versions);
    let stored = versions.iter().filter(|version| version["storage"] == true);
    let stored = stored.count();
    storage(errors, spec, stored);
    names(errors, &spec["names"]);
    of_versions(errors, versions);
    conversion(errors, &spec["conversion"]);
    stored_versions(errors, object);
    approval(errors, object, group);
}

fn check_group(errors: &mut Vec<Error>, group: &str) {
    let place = SPEC.child("group");
    if !required(errors, &place, group) {
        return;
    }
    let problems = syntax::dns1123_subdomain(group);
    if !problems.is_empty() {
        errors.push(Error::invalid(&place, group, problems.join(",")));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(Error::invalid(&place, group, detail));
    }
}

fn each_version(errors: &mut Vec<Error>, versions: &[Value]) {
    let path = SPEC.child("versions");
    for (index, version) in versions.iter().enumerate() {
        let name = text(version, "name");
        let problems = syntax::dns1035_label(name);
        if !problems.is_empty() {
            let place = path.index(index);
            let place = place.child("name");
            errors.push(Error::invalid(&place, name, problems.join(",")));
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

fn storage(errors: &mut Vec<Error>, spec: &Value, stored: usize) {
    if stored == 1 {
        return;
    }
    let path = SPEC.child("versions");
    let detail = "must have exactly one version marked as storage version";
    let shown = match spec["versions"].as_array() {
        Some(versions) => shown(versions),
        None => BadValue::verbatim("null"),
    };
    errors.push(Error::invalid(&path, shown, detail));
}

/// Versions in the inner form that the real server shows. Schemas are left out there when they are all the same.
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

fn names(errors: &mut Vec<Error>, names: &Value) {
    const MIXED: &str = "may have mixed case, but should otherwise match: ";
    for (key, is_mixed) in [
        ("plural", false),
        ("singular", false),
        ("kind", true),
        ("listKind", true),
    ] {
        let name = text(names, key);
        let place = NAMES.child(key);
        if name.is_empty() {
            errors.push(Error::required(&place, ""));
            continue;
        }
        let problems = if is_mixed {
            syntax::dns1035_label(&name.to_lowercase())
        } else {
            syntax::dns1035_label(name)
        };
        if !problems.is_empty() {
            let prefix = if is_mixed { MIXED } else { "" };
            let detail = format!("{prefix}{}", problems.join(","));
            errors.push(Error::invalid(&place, name, detail));
        }
    }
    for key in ["shortNames", "categories"] {
        let place = NAMES.child(key);
        for (index, name) in texts(list(names, key)).enumerate() {
            let problems = syntax::dns1035_label(name);
            if !problems.is_empty() {
                let place = place.index(index);
                errors.push(Error::invalid(&place, name, problems.join(",")));
            }
        }
    }
    let (kind, list_kind) = (text(names, "kind"), text(names, "listKind"));
    if !kind.is_empty() && kind == list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(Error::invalid(&NAMES.child("listKind"), list_kind, detail));
    }
}

/// What a version has beside its name. With a single version the real server names the old fields of the
/// definition itself.
fn of_versions(errors: &mut Vec<Error>, versions: &[Value]) {
    let path = SPEC.child("versions");
    let is_single = versions.len() == 1;
    for (index, version) in versions.iter().enumerate() {
        let in_list = path.index(index);
        let place = if is_single { &SPEC } else { &in_list };
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let place = in_list.child("schema");
            errors.push(Error::required(&place.child("openAPIV3Schema"), ""));
        }
        if is_single {
            let name = text(version, "name");
            let problems = syntax::dns1035_label(name);
            if !problems.is_empty() {
                let place = SPEC.child("version");
                errors.push(Error::invalid(&place, name, problems.join(",")));
            }
        }
        scale(errors, &place.child("subresources"), version);
        columns(errors, &place.child("additionalPrinterColumns"), version);
        selectable::check(errors, place, version, is_single);
    }
}

fn scale(errors: &mut Vec<Error>, path: &Path<'_>, version: &Value) {
    let scale = &version["subresources"]["scale"];
    if !scale.is_object() {
        return;
    }
    let place = path.child("scale");
    for (key, root) in [
        ("specReplicasPath", ".spec."),
        ("statusReplicasPath", ".status."),
    ] {
        let route = text(scale, key);
        let place = place.child(key);
        if !required(errors, &place, route) {
            continue;
        }
        if !route.starts_with('.') {
            let detail = "must be a simple json path starting with .";
            errors.push(Error::invalid(&place, route, detail));
        } else if !route.starts_with(root) {
            let root = root.trim_end_matches('.');
            let detail = format!("should be a json path under {root}");
            errors.push(Error::invalid(&place, route, detail));
        }
    }
}

fn columns(errors: &mut Vec<Error>, path: &Path<'_>, version: &Value) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    for (index, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
        let place = path.index(index);
        required(errors, &place.child("name"), text(column, "name"));
        let type_ = text(column, "type");
        if !TYPES.contains(&type_) {
            let detail = format!("must be one of {}", TYPES.join(","));
            errors.push(Error::invalid(&place.child("type"), type_, detail));
        }
        required(errors, &place.child("JSONPath"), text(column, "jsonPath"));
    }
}

fn conversion(errors: &mut Vec<Error>, conversion: &Value) {
    if let Some(strategy) = conversion["strategy"].as_str() {
        let place = SPEC.child("conversion");
        let strategies = ["None", "Webhook"];
        one_of(errors, &place.child("strategy"), strategy, &strategies);
    }
}

fn stored_versions(errors: &mut Vec<Error>, object: &Value) {
    let place = Path::root("status");
    let place = place.child("storedVersions");
    if list(&object["status"], "storedVersions").is_empty() {
        let shown = BadValue::verbatim("null");
        let detail = "must have at least one stored version";
        errors.push(Error::invalid(&place, shown, detail));
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
            errors.push(Error::invalid(&place.index(index), *name, detail));
        }
    }
    let last = versions.iter().rfind(|version| version["storage"] == true);
    let last = last
        .map(|version| text(version, "name"))
        .unwrap_or_default();
    if !last.is_empty() && !stored.contains(&last) {
        let shown = serde_json::json!(stored);
        let detail = format!("must have the storage version {last}");
        errors.push(Error::invalid(&place, &shown, detail));
    }
}

/// Groups of Kubernetes itself need a review that says so.
fn approval(errors: &mut Vec<Error>, object: &Value, group: &str) {
    const APPROVAL: &str = "api-approved.kubernetes.io";
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|suffix| group == *suffix || group.ends_with(&format!(".{suffix}")));
    let approval = text(&object["metadata"]["annotations"], APPROVAL);
    if is_protected && approval.is_empty() {
        let place = Path::root("metadata");
        let place = place.child("annotations");
        let detail = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111";
        errors.push(Error::required(&place.key(APPROVAL), detail));
    }
}

pub(super) fn update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let is_established = list(&old["status"], "conditions")
        .iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    let (new, old) = (&new["spec"], &old["spec"]);
    unchanged(errors, &SPEC.child("group"), &new["group"], &old["group"]);
    if is_established {
        unchanged(errors, &SPEC.child("scope"), &new["scope"], &old["scope"]);
    }
    for key in ["plural", "kind"] {
        if key == "plural" || is_established {
            let place = NAMES.child(key);
            unchanged(errors, &place, &new["names"][key], &old["names"][key]);
        }
    }
}
