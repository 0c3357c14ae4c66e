//! Parses a `CustomResourceDefinition` into kinds, one for each served version.
//!
//! The object must be valid; missing fields count as empty. The kinds have the accepted names.

use std::sync::Arc;

use serde_json::Value;

use super::acceptance::Taken;
use super::builtin::storage_hash;
use super::kind::{
    Custom, Deletion, Kind, NAME_PREFIX, PrinterColumn, Scale, SelectableField, Storage,
    Subresource, Writes,
};

/// In kube-apiserver's order for custom resources, which differs from that for built-in kinds.
const VERBS: &[&str] = &[
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
const VERBS_WHEN_TERMINATING: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];
const READ_WRITE: &[&str] = &["get", "patch", "update"];

/// The description of the default column.
const AGE: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// `CustomResourceDefinitionNames`.
#[expect(clippy::struct_field_names, reason = "the names are those of the API")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Names {
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub kind: String,
    pub list_kind: String,
    pub categories: Vec<String>,
}

impl Names {
    pub(super) fn parse(names: &Value) -> Self {
        Self {
            plural: text(names, "plural"),
            singular: text(names, "singular"),
            short_names: texts(names, "shortNames"),
            kind: text(names, "kind"),
            list_kind: text(names, "listKind"),
            categories: texts(names, "categories"),
        }
    }
}

/// The parts of a `CustomResourceDefinition` that the registry needs.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) group: String,
    pub(super) requested: Names,
    pub(super) accepted: Names,
    pub(super) name_prefix: Option<String>,
    /// The served kinds; empty until the definition is established, and if it has a name of a built-in kind.
    pub(super) kinds: Vec<Kind>,
}

impl Definition {
    pub(super) fn parse(object: &Value) -> Self {
        let spec = &object["spec"];
        let status = &object["status"];
        let accepted = Names::parse(&status["acceptedNames"]);
        let mut definition = Self {
            name: text(&object["metadata"], "name"),
            group: text(spec, "group"),
            requested: Names::parse(&spec["names"]),
            accepted,
            name_prefix: object["metadata"]["annotations"][NAME_PREFIX]
                .as_str()
                .map(str::to_owned),
            kinds: Vec::new(),
        };
        let is_own = definition.accepted.plural == definition.requested.plural
            && !Taken::by_builtin(&definition.group).has_any(&definition.accepted);
        if is_own && condition_is_true(status, "Established") {
            definition.kinds = served_kinds(&definition, spec, status);
        }
        definition
    }
}

pub(super) fn condition_is_true(status: &Value, type_: &str) -> bool {
    list(&status["conditions"])
        .iter()
        .any(|condition| condition["type"] == type_ && condition["status"] == "True")
}

fn served_kinds(definition: &Definition, spec: &Value, status: &Value) -> Vec<Kind> {
    let versions = list(&spec["versions"]);
    let stored = versions.iter().find(|version| version["storage"] == true);
    let stored = stored.map_or_else(String::new, |version| text(version, "name"));
    let terminating = condition_is_true(status, "Terminating");
    versions
        .iter()
        .filter(|version| version["served"] == true)
        .map(|version| served_kind(definition, spec, version, &stored, terminating))
        .collect()
}

fn served_kind(
    definition: &Definition,
    spec: &Value,
    version: &Value,
    stored: &str,
    terminating: bool,
) -> Kind {
    let names = definition.accepted.clone();
    let group = definition.group.clone();
    let verbs = if terminating {
        VERBS_WHEN_TERMINATING
    } else {
        VERBS
    };
    // Only a storage version that is served has a hash.
    let stored_is_served = list(&spec["versions"])
        .iter()
        .any(|version| version["storage"] == true && version["served"] == true);
    Kind {
        storage: Storage {
            group: group.clone(),
            version: stored.to_owned(),
            hash: if stored_is_served {
                storage_hash(&group, stored, &definition.requested.kind)
            } else {
                String::new()
            },
        },
        version: text(version, "name"),
        namespaced: spec["scope"] == "Namespaced",
        verbs: verbs.to_vec(),
        subresources: subresources(version, &names.kind),
        writes: Writes {
            generation: true,
            create_on_update: false,
            unconditional_update: false,
        },
        deletion: Deletion::default(),
        strategy: &crate::strategy::Generic,
        fields: fields(version),
        deprecation: deprecation(definition, list(&spec["versions"]), version),
        custom: Some(Arc::new(custom(definition, version, terminating))),
        kind: names.kind,
        list_kind: names.list_kind,
        plural: names.plural,
        singular: names.singular,
        short_names: names.short_names,
        categories: names.categories,
        group,
    }
}

fn subresources(version: &Value, kind: &str) -> Vec<Subresource> {
    let declared = &version["subresources"];
    let mut subresources = Vec::new();
    if declared["status"].is_object() {
        subresources.push(Subresource {
            name: "status",
            group_version: None,
            kind: kind.to_owned(),
            verbs: READ_WRITE,
        });
    }
    if declared["scale"].is_object() {
        subresources.push(Subresource {
            name: "scale",
            group_version: Some(("autoscaling", "v1")),
            kind: "Scale".to_owned(),
            verbs: READ_WRITE,
        });
    }
    subresources
}

fn fields(version: &Value) -> Vec<SelectableField> {
    let own = list(&version["selectableFields"])
        .iter()
        .map(|field| text(field, "jsonPath").trim_start_matches('.').to_owned());
    ["metadata.name".to_owned(), "metadata.namespace".to_owned()]
        .into_iter()
        .chain(own)
        .map(|path| SelectableField {
            label: path.clone(),
            paths: vec![path],
            missing: "",
        })
        .collect()
}

fn custom(definition: &Definition, version: &Value, terminating: bool) -> Custom {
    Custom {
        definition: definition.name.clone(),
        schema: version["schema"]["openAPIV3Schema"].clone(),
        scale: scale(&version["subresources"]["scale"]),
        columns: columns(list(&version["additionalPrinterColumns"])),
        name_prefix: definition.name_prefix.clone(),
        terminating,
    }
}

fn scale(declared: &Value) -> Option<Scale> {
    declared.is_object().then(|| Scale {
        spec_replicas: text(declared, "specReplicasPath"),
        status_replicas: text(declared, "statusReplicasPath"),
        label_selector: Some(text(declared, "labelSelectorPath")).filter(|path| !path.is_empty()),
    })
}

/// The default printer column is the age.
fn columns(declared: &[Value]) -> Vec<PrinterColumn> {
    if declared.is_empty() {
        return vec![PrinterColumn {
            name: "Age".to_owned(),
            type_: "date".to_owned(),
            format: String::new(),
            description: AGE.to_owned(),
            priority: 0,
            json_path: ".metadata.creationTimestamp".to_owned(),
        }];
    }
    declared.iter().map(column).collect()
}

fn column(declared: &Value) -> PrinterColumn {
    PrinterColumn {
        name: text(declared, "name"),
        type_: text(declared, "type"),
        format: text(declared, "format"),
        description: text(declared, "description"),
        priority: declared["priority"].as_i64().unwrap_or_default(),
        json_path: text(declared, "jsonPath"),
    }
}

/// The preferred served version that replaces a deprecated one.
fn better_version(versions: &[Value], deprecated: &str) -> Option<String> {
    let good = versions
        .iter()
        .filter(|version| version["served"] == true && version["deprecated"] != true);
    let mut names: Vec<String> = good.map(|version| text(version, "name")).collect();
    names.sort_by(|a, b| super::version_order::compare(a, b));
    let best = names.into_iter().next()?;
    let is_before = super::version_order::compare(&best, deprecated).is_lt();
    is_before.then_some(best)
}

fn deprecation(definition: &Definition, versions: &[Value], version: &Value) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(warning) = version["deprecationWarning"].as_str() {
        return Some(warning.to_owned());
    }
    let (group, kind) = (&definition.group, &definition.requested.kind);
    let mut warning = format!("{group}/{} {kind} is deprecated", text(version, "name"));
    if let Some(better) = better_version(versions, &text(version, "name")) {
        warning.push_str(&format!("; use {group}/{better} {kind}"));
    }
    Some(warning)
}

fn text(object: &Value, key: &str) -> String {
    object[key].as_str().unwrap_or_default().to_owned()
}

fn texts(object: &Value, key: &str) -> Vec<String> {
    list(&object[key])
        .iter()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
