//! The component schemas of a document.

use outrigger_apimachinery::GroupVersion;
use outrigger_builtin::kinds::{Custom, Kind};
use serde_json::{Map, Value, json};

use super::{Definitions, REFERENCE};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const TAG: &str = "x-kubernetes-group-version-kind";

/// The upstream name of a definition.
pub(super) fn definition_name(group: &str, version: &str, kind: &str, is_custom: bool) -> String {
    if is_custom {
        let mut parts: Vec<_> = group.split('.').collect();
        parts.reverse();
        return format!("{}.{version}.{kind}", parts.join("."));
    }
    let package = match group {
        "" => "api.core".to_owned(),
        "apiextensions.k8s.io" => "apiextensions-apiserver.pkg.apis.apiextensions".to_owned(),
        "apiregistration.k8s.io" => "kube-aggregator.pkg.apis.apiregistration".to_owned(),
        group => format!("api.{}", group.split('.').next().unwrap_or_default()),
    };
    format!("io.k8s.{package}.{version}.{kind}")
}

pub(super) fn list_definition_name(kind: &Kind) -> String {
    let is_custom = kind.custom.is_some();
    definition_name(&kind.group, &kind.version, &kind.list_kind, is_custom)
}

/// Collects the schemas of one document.
pub(super) struct Schemas<'a> {
    definitions: &'a Definitions<'a>,
    collected: Map<String, Value>,
    /// The definition of a built-in kind, for the descriptions of common fields.
    known: Value,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(definitions: &'a Definitions<'a>) -> Self {
        let name = definition_name("", "v1", "ConfigMap", false);
        let known = definitions("v1", "ConfigMap");
        let known = known.and_then(|mut known| known.remove(&name));
        let mut schemas = Schemas {
            definitions,
            collected: Map::new(),
            known: known.unwrap_or_default(),
        };
        let patch = json!({
            "description": "Patch is provided to give a concrete name and type to the Kubernetes PATCH request body.",
            "type": "object",
        });
        schemas.collected.insert(format!("{META}Patch"), patch);
        // Any kind includes the metadata of objects and lists.
        schemas.add_definitions("v1", "ConfigMap", false);
        schemas.add_definitions("v1", "Status", false);
        schemas
    }

    pub(super) fn add_kind(&mut self, kind: &Kind) {
        if let Some(custom) = &kind.custom {
            self.add_custom(kind, custom);
        } else {
            self.add_definitions(&kind.api_version(), &kind.kind, true);
            let name = definition_name(&kind.group, &kind.version, &kind.kind, false);
            self.tag(&name, kind.group_version(), &kind.kind);
        }
        for subresource in &kind.subresources {
            let own = (kind.group.as_str(), kind.version.as_str());
            let (group, version) = subresource.group_version.unwrap_or(own);
            if kind.custom.is_none() || subresource.group_version.is_some() {
                let version = GroupVersion::new(group, version);
                self.add_definitions(&version.to_string(), &subresource.kind, true);
                let name = definition_name(group, version.version, &subresource.kind, false);
                self.tag(&name, version, &subresource.kind);
            }
        }
        if kind.has_verb("list") {
            self.add_list(kind);
        }
    }

    /// Adds the definitions of a built-in kind, or only those that it references.
    fn add_definitions(&mut self, api_version: &str, kind: &str, with_itself: bool) {
        let Some(definitions) = (self.definitions)(api_version, kind) else {
            return;
        };
        let version = GroupVersion::parse(api_version);
        let own = definition_name(version.group, version.version, kind, false);
        for (name, schema) in definitions {
            if with_itself || name != own {
                self.collected.entry(name).or_insert(schema);
            }
        }
    }

    /// Adds `x-kubernetes-group-version-kind` to a definition; a missing one becomes an untyped object.
    fn tag(&mut self, name: &str, version: GroupVersion<'_>, kind: &str) {
        let schema = self.collected.entry(name);
        let schema = schema.or_insert_with(|| json!({"type": "object"}));
        if let Value::Object(schema) = schema {
            schema
                .entry(TAG)
                .or_insert_with(|| json!([tag_of(version, kind)]));
        }
    }

    fn add_custom(&mut self, kind: &Kind, custom: &Custom) {
        let mut schema = match &custom.schema {
            Value::Object(schema) => schema.clone(),
            _ => Map::new(),
        };
        schema.entry("type").or_insert_with(|| json!("object"));
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            for key in ["apiVersion", "kind"] {
                let described = self.described(key, json!({"type": "string"}));
                properties.insert(key.to_owned(), described);
            }
            let reference = json!({"$ref": format!("{REFERENCE}{META}ObjectMeta")});
            let metadata = self.described("metadata", json!({"allOf": [reference]}));
            properties.insert("metadata".to_owned(), metadata);
        }
        schema.insert(
            TAG.to_owned(),
            json!([tag_of(kind.group_version(), &kind.kind)]),
        );
        let selectable = selectable_fields(kind);
        if !selectable.is_empty() {
            let key = "x-kubernetes-selectable-fields".to_owned();
            schema.insert(key, selectable.into());
        }
        let name = definition_name(&kind.group, &kind.version, &kind.kind, true);
        self.collected.insert(name, schema.into());
    }

    /// A common field with the description of the built-in kinds.
    fn described(&self, key: &str, mut schema: Value) -> Value {
        let description = &self.known["properties"][key]["description"];
        if description.is_string() {
            schema["description"] = description.clone();
        }
        schema
    }

    fn add_list(&mut self, kind: &Kind) {
        let is_custom = kind.custom.is_some();
        let item = definition_name(&kind.group, &kind.version, &kind.kind, is_custom);
        let text = json!({"type": "string"});
        let mut list = json!({
            "description": format!("{} is a list of {}", kind.list_kind, kind.kind),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": self.described("apiVersion", text.clone()),
                "kind": self.described("kind", text),
                "metadata": {"allOf": [{"$ref": format!("{REFERENCE}{META}ListMeta")}]},
                "items": {"type": "array", "items": {"$ref": format!("{REFERENCE}{item}")}},
            },
        });
        list[TAG] = json!([tag_of(kind.group_version(), &kind.list_kind)]);
        let selectable = selectable_fields(kind);
        if is_custom && !selectable.is_empty() {
            list["x-kubernetes-selectable-fields"] = selectable.into();
        }
        self.collected.insert(list_definition_name(kind), list);
    }

    /// All schemas. Missing references become untyped objects.
    pub(super) fn finish(self) -> Map<String, Value> {
        let mut schemas = self.collected;
        let mut missing = Vec::new();
        for schema in schemas.values() {
            references(schema, &mut missing, 0);
        }
        let known = ["DeleteOptions", "Status", "ListMeta", "ObjectMeta"];
        missing.extend(known.map(|name| format!("{META}{name}")));
        for name in missing {
            schemas
                .entry(name)
                .or_insert_with(|| json!({"type": "object"}));
        }
        schemas
    }
}

fn tag_of(version: GroupVersion<'_>, kind: &str) -> Value {
    json!({"group": version.group, "kind": kind, "version": version.version})
}

fn selectable_fields(kind: &Kind) -> Vec<Value> {
    let fields = kind.fields.iter();
    let own = fields.filter(|field| !field.label.starts_with("metadata."));
    own.map(|field| json!({"fieldPath": field.label})).collect()
}

/// The names of the definitions that a schema references.
fn references(schema: &Value, found: &mut Vec<String>, depth: usize) {
    const MAX_DEPTH: usize = 128;
    if depth > MAX_DEPTH {
        return;
    }
    match schema {
        Value::Object(map) => {
            if let Some(name) = map.get("$ref").and_then(Value::as_str)
                && let Some(name) = name.strip_prefix(REFERENCE)
            {
                found.push(name.to_owned());
            }
            for value in map.values() {
                references(value, found, depth.saturating_add(1));
            }
        }
        Value::Array(items) => {
            for item in items {
                references(item, found, depth.saturating_add(1));
            }
        }
        _ => {}
    }
}
