//! The paths of a kind and their operations.

use outrigger_builtin::kinds::{Kind, Subresource};
use serde_json::{Map, Value, json};

use super::operation::{Action, Target, operation, parameter};
use super::schemas::{definition_name, list_definition_name};

/// Connect subresources.
const CONNECTING: [&str; 4] = ["attach", "exec", "portforward", "proxy"];

/// All paths of a kind.
pub(super) fn of_kind(kind: &Kind) -> Map<String, Value> {
    let mut paths = Map::new();
    let root = match kind.group.as_str() {
        "" => format!("/api/{}", kind.version),
        group => format!("/apis/{group}/{}", kind.version),
    };
    let plural = &kind.plural;
    let mut add = |path: String, item: Option<Value>| {
        if let Some(item) = item {
            paths.insert(path, item);
        }
    };
    let collection = if kind.namespaced {
        let all_namespaces = collection(kind, &[("list", Action::List)], true);
        add(format!("{root}/{plural}"), all_namespaces);
        format!("{root}/namespaces/{{namespace}}/{plural}")
    } else {
        format!("{root}/{plural}")
    };
    let verbs = [
        ("list", Action::List),
        ("create", Action::Create),
        ("deletecollection", Action::DeleteCollection),
    ];
    add(collection.clone(), self::collection(kind, &verbs, false));
    let object = format!("{collection}/{{name}}");
    add(object.clone(), item(kind));
    for subresource in &kind.subresources {
        if !CONNECTING.contains(&subresource.name) {
            let path = format!("{object}/{}", subresource.name);
            add(path, endpoint(kind, subresource));
        }
    }
    paths
}

/// The tag of the operations, such as `apps_v1`.
pub(super) fn tag(kind: &Kind) -> String {
    format!("{}_{}", group_words(kind, false), kind.version)
}

/// The group in camel case: `stableExampleCom`, or `StableExampleCom`.
fn group_words(kind: &Kind, is_capital: bool) -> String {
    let group = kind.group.strip_suffix(".k8s.io").unwrap_or(&kind.group);
    let group = if group.is_empty() { "core" } else { group };
    let mut words = String::new();
    for (index, word) in group.split(['.', '-']).enumerate() {
        if index == 0 && !is_capital {
            words.push_str(word);
        } else {
            words.push_str(&capitalized(word));
        }
    }
    words
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The operation id.
fn operation_id(kind: &Kind, action: Action, suffix: &str) -> String {
    let version = format!("{}{}", group_words(kind, true), capitalized(&kind.version));
    let scope = if kind.namespaced && suffix != "ForAllNamespaces" {
        "Namespaced"
    } else {
        ""
    };
    let many = if action == Action::DeleteCollection {
        "Collection"
    } else {
        ""
    };
    format!(
        "{}{version}{many}{scope}{}{suffix}",
        action.prefix(),
        kind.kind
    )
}

fn target<'a>(kind: &'a Kind, action: Action, suffix: &str) -> Target<'a> {
    Target {
        kind,
        object: definition_name(
            &kind.group,
            &kind.version,
            &kind.kind,
            kind.custom.is_some(),
        ),
        list: list_definition_name(kind),
        tag: [&kind.group, &kind.version, &kind.kind],
        operation_id: operation_id(kind, action, suffix),
    }
}

fn collection(kind: &Kind, verbs: &[(&str, Action)], all_namespaces: bool) -> Option<Value> {
    let suffix = if all_namespaces {
        "ForAllNamespaces"
    } else {
        ""
    };
    let operations = verbs
        .iter()
        .filter(|(verb, _)| kind.has_verb(verb))
        .map(|(_, action)| (*action, operation(*action, &target(kind, *action, suffix))));
    let scoped = kind.namespaced && !all_namespaces;
    let names: &[&str] = if scoped { &["namespace"] } else { &[] };
    path_item(operations.collect(), names)
}

fn item(kind: &Kind) -> Option<Value> {
    let operations = [
        ("get", Action::Get),
        ("update", Action::Replace),
        ("patch", Action::Patch),
        ("delete", Action::Delete),
    ]
    .into_iter()
    .filter(|(verb, _)| kind.has_verb(verb))
    .map(|(_, action)| (action, operation(action, &target(kind, action, ""))));
    path_item(operations.collect(), path_names(kind))
}

fn path_names(kind: &Kind) -> &'static [&'static str] {
    if kind.namespaced {
        &["name", "namespace"]
    } else {
        &["name"]
    }
}

fn endpoint(kind: &Kind, subresource: &Subresource) -> Option<Value> {
    let suffix = match subresource.name {
        "ephemeralcontainers" => "Ephemeralcontainers".to_owned(),
        name => capitalized(name),
    };
    let is_custom = kind.custom.is_some();
    let (group, version) = subresource
        .group_version
        .unwrap_or((&kind.group, &kind.version));
    let is_foreign = subresource.group_version.is_some();
    let operations = subresource.verbs.iter().filter_map(|verb| {
        let action = match *verb {
            "get" if subresource.name == "log" => Action::Log,
            "get" => Action::Get,
            "create" => Action::Create,
            "update" => Action::Replace,
            "patch" => Action::Patch,
            _ => return None,
        };
        let mut target = target(kind, action, &suffix);
        let exchanged = is_custom && !is_foreign;
        target.object = definition_name(group, version, &subresource.kind, exchanged);
        // Operations of custom resources always have the kind of the resource.
        if !is_custom {
            target.tag = [group, version, &subresource.kind];
        }
        Some((action, operation(action, &target)))
    });
    path_item(operations.collect(), path_names(kind))
}

/// A path item. Parameters of all its operations are listed once.
fn path_item(operations: Vec<(Action, (Value, Vec<Value>))>, names: &[&str]) -> Option<Value> {
    let shared: Vec<Value> = operations
        .first()?
        .1
        .1
        .iter()
        .filter(|parameter| {
            operations
                .iter()
                .all(|(_, (_, own))| own.contains(parameter))
        })
        .cloned()
        .collect();
    let mut item = Map::new();
    for (action, (mut operation, mut own)) in operations {
        own.retain(|parameter| !shared.contains(parameter));
        if !own.is_empty() {
            operation["parameters"] = sorted(own).into();
        }
        item.insert(action.method().to_owned(), operation);
    }
    let names = names.iter().map(|name| parameter(name, "path", "string"));
    let pretty = parameter("pretty", "query", "string");
    let all = shared.into_iter().chain(names).chain([pretty]);
    item.insert("parameters".to_owned(), json!(sorted(all.collect())));
    Some(item.into())
}

fn sorted(mut parameters: Vec<Value>) -> Vec<Value> {
    parameters.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
    parameters
}
