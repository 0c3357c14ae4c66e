//! The schemas of the built-in kinds, generated on first use.
//!
//! `k8s-openapi` has the types and their fields. The tables beside this file have what it lacks: list types, map types
//! and patch strategies, and which fields Go encodes even if they are empty.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use k8s_openapi::Resource;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::Schema;

mod kinds;
mod list_types;
mod patch_strategies;

/// The prefix of all definition names, which the tables omit.
const PREFIX: &str = "io.k8s.";

struct BuiltIn {
    api_version: &'static str,
    kind: &'static str,
    definition: fn() -> String,
    generate: fn(&mut SchemaGenerator),
    schema: OnceLock<Option<Schema>>,
}

impl BuiltIn {
    const fn of<T: Resource + JsonSchema>() -> Self {
        Self {
            api_version: T::API_VERSION,
            kind: T::KIND,
            definition: || T::schema_name().into_owned(),
            generate: |generator| {
                generator.subschema_for::<T>();
            },
            schema: OnceLock::new(),
        }
    }
}

static INDEX: LazyLock<HashMap<(&'static str, &'static str), &'static BuiltIn>> =
    LazyLock::new(|| {
        let kinds = kinds::BUILT_IN.iter();
        kinds
            .map(|kind| ((kind.api_version, kind.kind), kind))
            .collect()
    });

/// All built-in kinds, as `apiVersion` and `kind`.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    kinds::BUILT_IN
        .iter()
        .map(|kind| (kind.api_version, kind.kind))
}

/// The schema of a built-in kind.
pub fn schema(api_version: &str, kind: &str) -> Option<&'static Schema> {
    let built_in = INDEX.get(&(api_version, kind))?;
    let schema = built_in.schema.get_or_init(|| {
        let mut definitions = definitions_of(built_in);
        add_key_defaults(&mut definitions);
        Schema::definition(&(built_in.definition)(), &definitions).ok()
    });
    schema.as_ref()
}

/// The OpenAPI definitions of a built-in kind and of all types that it refers to, with the `x-kubernetes` extensions.
/// References have the form `#/components/schemas/NAME`.
pub fn definitions(api_version: &str, kind: &str) -> Option<Map<String, Value>> {
    INDEX
        .get(&(api_version, kind))
        .map(|kind| definitions_of(kind))
}

/// The name of the definition of a built-in kind.
pub fn definition_name(api_version: &str, kind: &str) -> Option<String> {
    INDEX
        .get(&(api_version, kind))
        .map(|kind| (kind.definition)())
}

fn definitions_of(kind: &BuiltIn) -> Map<String, Value> {
    let settings = SchemaSettings::openapi3().with(|settings| settings.transforms.clear());
    let mut generator = settings.into_generator();
    (kind.generate)(&mut generator);
    let mut definitions = generator.take_definitions(false);
    annotate(&mut definitions);
    definitions
}

/// Adds the extensions of the tables.
fn annotate(definitions: &mut Map<String, Value>) {
    for (name, schema) in custom_encodings() {
        if let Some(Value::Object(definition)) = definitions.get_mut(&format!("{PREFIX}{name}")) {
            definition.retain(|name, _| name == "description");
            definition.extend(schema);
        }
    }
    for (definition, property, keys) in list_types::MAP_LISTS {
        if let Some(list) = property_of(definitions, definition, property) {
            let keys: Vec<_> = keys.iter().map(|(name, _)| *name).collect();
            list.insert("x-kubernetes-list-type".to_owned(), "map".into());
            list.insert("x-kubernetes-list-map-keys".to_owned(), json!(keys));
        }
    }
    for (definition, property) in list_types::SETS {
        if let Some(list) = property_of(definitions, definition, property) {
            list.insert("x-kubernetes-list-type".to_owned(), "set".into());
        }
    }
    for name in list_types::ATOMIC_OBJECTS {
        if let Some(Value::Object(object)) = definitions.get_mut(&format!("{PREFIX}{name}")) {
            object.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
        }
    }
    for (definition, property, atomic) in list_types::ATOMIC_MAPS {
        if let Some(map) = property_of(definitions, definition, property) {
            let map_type = if *atomic { "atomic" } else { "granular" };
            map.insert("x-kubernetes-map-type".to_owned(), map_type.into());
        }
    }
    for (definition, property, strategy, merge_key) in patch_strategies::PATCH_STRATEGIES {
        if let Some(field) = property_of(definitions, definition, property) {
            field.insert("x-kubernetes-patch-strategy".to_owned(), (*strategy).into());
            if !merge_key.is_empty() {
                field.insert(
                    "x-kubernetes-patch-merge-key".to_owned(),
                    (*merge_key).into(),
                );
            }
        }
    }
}

/// The schemas that kube-apiserver publishes for types with a custom JSON encoding.
fn custom_encodings() -> [(&'static str, Map<String, Value>); 6] {
    let any = Map::new();
    let one_of = |types: [&str; 2]| {
        let types = types.map(|type_| json!({"type": type_}));
        Map::from_iter([("oneOf".to_owned(), Value::from(types.to_vec()))])
    };
    let mut int_or_string = one_of(["integer", "string"]);
    int_or_string.insert("format".to_owned(), "int-or-string".into());
    let json = "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON";
    let [array, boolean, strings] = [
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
    ];
    [
        (json, any.clone()),
        (array, any.clone()),
        (boolean, any.clone()),
        (strings, any),
        (
            "apimachinery.pkg.api.resource.Quantity",
            one_of(["string", "number"]),
        ),
        ("apimachinery.pkg.util.intstr.IntOrString", int_or_string),
    ]
}

/// Adds the defaults of list map keys to the schemas of the items, where the parser expects them.
fn add_key_defaults(definitions: &mut Map<String, Value>) {
    for (definition, property, keys) in list_types::MAP_LISTS {
        let list = property_of(definitions, definition, property);
        let items = list.and_then(|list| list.get("items")?.get("$ref")?.as_str());
        let Some(items) = items.and_then(|items| items.rsplit('/').next()) else {
            continue;
        };
        let items = items.trim_start_matches(PREFIX).to_owned();
        for (name, default) in *keys {
            let Some(default) = default.value() else {
                continue;
            };
            if let Some(field) = property_of(definitions, &items, name) {
                field.insert("default".to_owned(), default);
            }
        }
    }
}

fn property_of<'d>(
    definitions: &'d mut Map<String, Value>,
    definition: &str,
    property: &str,
) -> Option<&'d mut Map<String, Value>> {
    definitions
        .get_mut(&format!("{PREFIX}{definition}"))?
        .get_mut("properties")?
        .get_mut(property)?
        .as_object_mut()
}

#[cfg(test)]
mod tests;
