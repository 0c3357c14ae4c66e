//! Operations: parameters, request bodies and responses.

use outrigger_builtin::kinds::Kind;
use serde_json::{Map, Value, json};

use super::REFERENCE;

/// Parameters with their types.
type Parameters = &'static [(&'static str, &'static str)];

const LIST: Parameters = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("shardSelector", "string"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
const WRITE: Parameters = &[
    ("dryRun", "string"),
    ("fieldManager", "string"),
    ("fieldValidation", "string"),
];
const DELETE: Parameters = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
    ),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];
const LOG: Parameters = &[
    ("container", "string"),
    ("follow", "boolean"),
    ("insecureSkipTLSVerifyBackend", "boolean"),
    ("limitBytes", "integer"),
    ("previous", "boolean"),
    ("sinceSeconds", "integer"),
    ("stream", "string"),
    ("tailLines", "integer"),
    ("timestamps", "boolean"),
];

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Get,
    List,
    Create,
    Replace,
    Patch,
    Delete,
    DeleteCollection,
    Log,
}

impl Action {
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Get | Self::List | Self::Log => "get",
            Self::Create => "post",
            Self::Replace => "put",
            Self::Patch => "patch",
            Self::Delete | Self::DeleteCollection => "delete",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Get | Self::Log => "get",
            Self::List => "list",
            Self::Create => "post",
            Self::Replace => "put",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// The prefix of the operation id.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Get | Self::Log => "read",
            Self::List => "list",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Patch => "patch",
            Self::Delete | Self::DeleteCollection => "delete",
        }
    }
}

pub(super) struct Target<'a> {
    pub(super) kind: &'a Kind,
    /// The names of the definitions of the object and of its list.
    pub(super) object: String,
    pub(super) list: String,
    /// `x-kubernetes-group-version-kind`.
    pub(super) tag: [&'a str; 3],
    pub(super) operation_id: String,
}

/// An operation and its parameters, without those of the path.
pub(super) fn operation(action: Action, target: &Target<'_>) -> (Value, Vec<Value>) {
    let [group, version, kind] = target.tag;
    let mut operation = json!({
        "tags": [super::paths::tag(target.kind)],
        "operationId": target.operation_id,
        "responses": responses(action, target),
        "x-kubernetes-action": action.name(),
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    });
    if let Some(body) = body(action, target) {
        operation["requestBody"] = body;
    }
    (operation, parameters(action, target))
}

pub(super) fn parameter(name: &str, place: &str, type_: &str) -> Value {
    let mut parameter = json!({
        "name": name,
        "in": place,
        "schema": {"type": type_, "uniqueItems": true},
    });
    if place == "path" {
        parameter["required"] = json!(true);
    }
    parameter
}

fn parameters(action: Action, target: &Target<'_>) -> Vec<Value> {
    let is_custom = target.kind.custom.is_some();
    let mut names: Vec<(&str, &str)> = Vec::new();
    match action {
        Action::Get if is_custom => names.push(("resourceVersion", "string")),
        Action::Get => {}
        Action::Log => names.extend(LOG),
        Action::List => names.extend(LIST),
        Action::Create | Action::Replace => names.extend(WRITE),
        Action::Patch => {
            names.extend(WRITE);
            names.push(("force", "boolean"));
        }
        Action::Delete => names.extend(DELETE),
        Action::DeleteCollection if is_custom => names.extend(LIST),
        Action::DeleteCollection => {
            let is_of_watch = |name: &str| matches!(name, "allowWatchBookmarks" | "watch");
            names.extend(LIST.iter().filter(|(name, _)| !is_of_watch(name)));
            names.extend(DELETE);
        }
    }
    names
        .into_iter()
        .map(|(name, type_)| parameter(name, "query", type_))
        .collect()
}

fn body(action: Action, target: &Target<'_>) -> Option<Value> {
    let is_custom = target.kind.custom.is_some();
    let any: &[&str] = if is_custom {
        &["application/json", "application/yaml"]
    } else {
        &["*/*"]
    };
    match action {
        Action::Create | Action::Replace => {
            Some(json!({"content": content(any, &target.object), "required": true}))
        }
        Action::Patch => {
            let mut types = vec![
                "application/apply-patch+yaml",
                "application/json-patch+json",
                "application/merge-patch+json",
            ];
            if !is_custom {
                types.push("application/strategic-merge-patch+json");
            }
            let patch = format!("{META}Patch");
            Some(json!({"content": content(&types, &patch), "required": true}))
        }
        Action::Delete => Some(json!({"content": content(any, &format!("{META}DeleteOptions"))})),
        Action::DeleteCollection if !is_custom => {
            Some(json!({"content": content(any, &format!("{META}DeleteOptions"))}))
        }
        _ => None,
    }
}

fn responses(action: Action, target: &Target<'_>) -> Value {
    let is_custom = target.kind.custom.is_some();
    let mut types = vec!["application/json", "application/yaml"];
    if !is_custom {
        types.push("application/vnd.kubernetes.protobuf");
        if action == Action::List {
            types.push("application/json;stream=watch");
            types.push("application/vnd.kubernetes.protobuf;stream=watch");
        }
    }
    let status = format!("{META}Status");
    let definition = match action {
        Action::List => &target.list,
        Action::Delete if !returns_object(target.kind) => &status,
        Action::DeleteCollection => &status,
        _ => &target.object,
    };
    let codes: &[&str] = match action {
        Action::Create => &["200", "201", "202"],
        Action::Patch if is_custom => &["200"],
        Action::Replace | Action::Patch => &["200", "201"],
        Action::Delete => &["200", "202"],
        _ => &["200"],
    };
    let mut responses = Map::new();
    for code in codes {
        let description = match *code {
            "201" => "Created",
            "202" => "Accepted",
            _ => "OK",
        };
        let mut content = content(&types, definition);
        if action == Action::Log {
            content = Map::new();
            for type_ in types.iter().chain(&["text/plain"]) {
                content.insert((*type_).to_owned(), json!({"schema": {"type": "string"}}));
            }
        }
        let response = json!({"description": description, "content": content});
        responses.insert((*code).to_owned(), response);
    }
    responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
    responses.into()
}

/// Whether the document declares the object as the response to a deletion, which it does not for namespaces.
fn returns_object(kind: &Kind) -> bool {
    kind.deletion.returns_object && kind.kind != "Namespace"
}

fn content(types: &[&str], definition: &str) -> Map<String, Value> {
    let schema = json!({"schema": {"$ref": format!("{REFERENCE}{definition}")}});
    let types = types.iter();
    types
        .map(|type_| ((*type_).to_owned(), schema.clone()))
        .collect()
}
