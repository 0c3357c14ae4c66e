//! Parses schemas: the `openAPIV3Schema` of a custom resource version, or OpenAPI definitions that refer to each other.

use std::collections::HashMap;

use outrigger_gostd::regexp::CachedRegexp;
use serde_json::{Map, Value};

use super::{
    AdditionalProperties, ListKey, ListType, Node, NodeId, OBJECT_META, PatchMeta, Pattern, Schema,
    Type, UNTYPED_ATOMIC, UNTYPED_DEDUCED, ValidationRule, ValueValidation, object_meta, rules,
};

/// The maximum nesting depth of schemas and objects.
pub const MAX_DEPTH: usize = 100;

/// Why a schema cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("schema is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("schema must be an object")]
    NotAnObject,
    #[error("unknown type {0:?}")]
    UnknownType(String),
    #[error("no definition named {0:?}")]
    NoDefinition(String),
}

impl Schema {
    /// Parses the `openAPIV3Schema` of a custom resource version.
    pub fn structural(schema: &Value) -> Result<Self, Error> {
        let definitions = Map::new();
        let mut parser = Parser::new(&definitions);
        let metadata = parser.node(&object_meta::schema(), false, 0)?;
        parser.nodes[OBJECT_META] = parser.nodes[metadata].clone();
        parser.name_metadata();
        let root = parser.node(schema, false, 0)?;
        parser.nodes[root].is_resource = true;
        rules::compile(&mut parser.nodes, root);
        parser.finish(root)
    }

    /// The schema of objects without one: maps are merged, everything else is replaced.
    pub fn untyped() -> Self {
        Self {
            nodes: predefined_nodes().into(),
            root: UNTYPED_DEDUCED,
        }
    }

    /// Parses a definition and all definitions that it refers to.
    pub(super) fn definition(name: &str, definitions: &Map<String, Value>) -> Result<Self, Error> {
        let mut parser = Parser::new(definitions);
        let root = parser.reference(name)?;
        parser.finish(root)
    }
}

struct Parser<'d> {
    nodes: Vec<Node>,
    definitions: &'d Map<String, Value>,
    ids: HashMap<String, NodeId>,
    unresolved: Vec<(String, NodeId)>,
    /// Nodes that are copies of another node with some fields replaced.
    variants: Vec<Variant>,
}

struct Variant {
    node: NodeId,
    of: NodeId,
    atomic_map: Option<bool>,
    patch: PatchMeta,
}

impl<'d> Parser<'d> {
    fn new(definitions: &'d Map<String, Value>) -> Self {
        Self {
            nodes: predefined_nodes(),
            definitions,
            ids: HashMap::new(),
            unresolved: Vec::new(),
            variants: Vec::new(),
        }
    }

    fn finish(mut self, root: NodeId) -> Result<Schema, Error> {
        while let Some((name, id)) = self.unresolved.pop() {
            let definition = self.definitions.get(&name);
            let definition = definition.ok_or_else(|| Error::NoDefinition(name.clone()))?;
            let parsed = self.node(definition, false, 0)?;
            self.nodes[id] = self.nodes[parsed].clone();
            if name.ends_with(".resource.Quantity") {
                self.nodes[id].type_ = Type::Scalar;
            }
            self.nodes[id].name = Some(name.into());
        }
        for variant in &self.variants {
            let mut node = self.nodes[variant.of].clone();
            node.atomic_map = variant.atomic_map.unwrap_or(node.atomic_map);
            node.patch = variant.patch.clone();
            self.nodes[variant.node] = node;
        }
        fill_list_key_defaults(&mut self.nodes);
        Ok(Schema {
            nodes: self.nodes.into(),
            root,
        })
    }

    /// Names the types of the metadata as in the definitions of built-in kinds.
    fn name_metadata(&mut self) {
        let name = |name: &str| Some(format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}").into());
        let items = |parser: &Self, list: &str| {
            let list = parser.nodes[OBJECT_META].properties.get(list)?;
            parser.nodes[*list].items
        };
        for (list, kind) in [
            ("ownerReferences", "OwnerReference"),
            ("managedFields", "ManagedFieldsEntry"),
        ] {
            if let Some(id) = items(self, list) {
                self.nodes[id].name = name(kind);
            }
        }
        self.nodes[OBJECT_META].name = name("ObjectMeta");
    }

    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The node of a definition, which is resolved later.
    fn reference(&mut self, name: &str) -> Result<NodeId, Error> {
        if name == "io.k8s.apimachinery.pkg.runtime.RawExtension" {
            return Ok(UNTYPED_ATOMIC);
        }
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        if !self.definitions.contains_key(name) {
            return Err(Error::NoDefinition(name.to_owned()));
        }
        let id = self.add(Node::default());
        self.ids.insert(name.to_owned(), id);
        self.unresolved.push((name.to_owned(), id));
        Ok(id)
    }

    fn node(&mut self, schema: &Value, inherited: bool, depth: usize) -> Result<NodeId, Error> {
        let schema = schema.as_object().ok_or(Error::NotAnObject)?;
        if depth > MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        if let Some(name) = reference_in(schema) {
            return self.variant(name, schema);
        }
        let preserve_unknown_fields = flag(schema, "x-kubernetes-preserve-unknown-fields");
        let inherited = inherited || preserve_unknown_fields;
        let mut node = Node {
            type_: type_of(schema)?,
            format: string(schema, "format"),
            nullable: flag(schema, "nullable"),
            default: schema.get("default").filter(|v| !v.is_null()).cloned(),
            list_type: list_type(schema),
            atomic_map: schema.get("x-kubernetes-map-type").and_then(Value::as_str)
                == Some("atomic"),
            preserve_unknown_fields,
            inherits_preserve_unknown_fields: inherited,
            embedded_resource: flag(schema, "x-kubernetes-embedded-resource"),
            int_or_string: flag(schema, "x-kubernetes-int-or-string")
                || string(schema, "format") == "int-or-string",
            is_resource: flag(schema, "x-kubernetes-embedded-resource"),
            patch: patch_meta(schema),
            validations: validation_rules(schema),
            ..Node::default()
        };
        if let Some(Value::Object(properties)) = schema.get("properties") {
            for (name, property) in properties {
                let id = self.node(property, inherited, depth + 1)?;
                node.properties.insert(name.clone(), id);
            }
        }
        node.additional = match schema.get("additionalProperties") {
            None | Some(Value::Null) => AdditionalProperties::Unspecified,
            Some(Value::Bool(true)) => AdditionalProperties::Allowed,
            Some(Value::Bool(false)) => AdditionalProperties::Forbidden,
            Some(schema) => {
                AdditionalProperties::Schema(self.node(schema, inherited, depth + 1)?)
            }
        };
        if let Some(items) = schema.get("items").filter(|v| v.is_object()) {
            node.items = Some(self.node(items, inherited, depth + 1)?);
        }
        node.value_validation = self.value_validation(schema, depth)?;
        Ok(self.add(node))
    }

    /// A reference, with the extensions beside it.
    fn variant(&mut self, name: &str, schema: &Map<String, Value>) -> Result<NodeId, Error> {
        let of = self.reference(name)?;
        let patch = patch_meta(schema);
        let map_type = schema.get("x-kubernetes-map-type").and_then(Value::as_str);
        if map_type.is_none() && patch == PatchMeta::default() {
            return Ok(of);
        }
        let node = self.add(Node::default());
        self.variants.push(Variant {
            node,
            of,
            atomic_map: map_type.map(|map_type| map_type == "atomic"),
            patch,
        });
        Ok(node)
    }

    fn value_validation(
        &mut self,
        schema: &Map<String, Value>,
        depth: usize,
    ) -> Result<Option<Box<ValueValidation>>, Error> {
        let float = |name: &str| schema.get(name).and_then(Value::as_f64);
        let integer = |name: &str| schema.get(name).and_then(Value::as_i64);
        let mut validation = ValueValidation {
            maximum: float("maximum"),
            exclusive_maximum: flag(schema, "exclusiveMaximum"),
            minimum: float("minimum"),
            exclusive_minimum: flag(schema, "exclusiveMinimum"),
            multiple_of: float("multipleOf"),
            max_length: integer("maxLength"),
            min_length: integer("minLength"),
            pattern: pattern(schema),
            max_items: integer("maxItems"),
            min_items: integer("minItems"),
            unique_items: flag(schema, "uniqueItems"),
            max_properties: integer("maxProperties"),
            min_properties: integer("minProperties"),
            required: strings(schema, "required"),
            enum_: list(schema, "enum").to_vec(),
            ..ValueValidation::default()
        };
        for (name, into) in [
            ("allOf", &mut validation.all_of),
            ("anyOf", &mut validation.any_of),
            ("oneOf", &mut validation.one_of),
        ] {
            for schema in list(schema, name) {
                into.push(self.node(schema, false, depth + 1)?);
            }
        }
        if let Some(not) = schema.get("not").filter(|v| v.is_object()) {
            validation.not = Some(self.node(not, false, depth + 1)?);
        }
        Ok(validation.has_constraints().then(|| Box::new(validation)))
    }
}

impl ValueValidation {
    fn has_constraints(&self) -> bool {
        let numbers = [self.maximum, self.minimum, self.multiple_of];
        let counts = [
            self.max_length,
            self.min_length,
            self.max_items,
            self.min_items,
            self.max_properties,
            self.min_properties,
        ];
        numbers.iter().any(Option::is_some)
            || counts.iter().any(Option::is_some)
            || self.pattern.is_some()
            || self.unique_items
            || self.not.is_some()
            || !(self.required.is_empty()
                && self.enum_.is_empty()
                && self.all_of.is_empty()
                && self.any_of.is_empty()
                && self.one_of.is_empty())
    }
}

/// `$ref`, also as the only member of `allOf`.
fn reference_in(schema: &Map<String, Value>) -> Option<&str> {
    let reference = match (schema.get("$ref"), list(schema, "allOf")) {
        (Some(reference), _) => reference.as_str(),
        (None, [only]) => only.get("$ref").and_then(Value::as_str),
        (None, _) => None,
    };
    reference.and_then(|reference| reference.rsplit('/').next())
}

fn type_of(schema: &Map<String, Value>) -> Result<Type, Error> {
    let name = match schema.get("type") {
        Some(Value::String(name)) => name.as_str(),
        _ => "",
    };
    Ok(match name {
        "" => Type::Any,
        "object" => Type::Object,
        "array" => Type::Array,
        "string" => Type::String,
        "integer" => Type::Integer,
        "number" => Type::Number,
        "boolean" => Type::Boolean,
        other => return Err(Error::UnknownType(other.to_owned())),
    })
}

fn list_type(schema: &Map<String, Value>) -> ListType {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(
            strings(schema, "x-kubernetes-list-map-keys")
                .into_iter()
                .map(|name| ListKey {
                    name,
                    default: None,
                })
                .collect(),
        ),
        _ => ListType::Atomic,
    }
}

fn patch_meta(schema: &Map<String, Value>) -> PatchMeta {
    let strategy = string(schema, "x-kubernetes-patch-strategy");
    PatchMeta {
        merge: strategy.split(',').any(|part| part == "merge"),
        replace: strategy == "replace",
        merge_key: schema
            .get("x-kubernetes-patch-merge-key")
            .and_then(Value::as_str)
            .map(str::to_owned),
    }
}

fn validation_rules(schema: &Map<String, Value>) -> Vec<ValidationRule> {
    let rules = list(schema, "x-kubernetes-validations").iter();
    rules
        .filter_map(Value::as_object)
        .map(|rule| ValidationRule {
            expression: string(rule, "rule"),
            message: string(rule, "message"),
            message_expression: string(rule, "messageExpression"),
            reason: rule
                .get("reason")
                .and_then(Value::as_str)
                .map(str::to_owned),
            field_path: string(rule, "fieldPath"),
            optional_old_self: flag(rule, "optionalOldSelf"),
        })
        .collect()
}

fn pattern(schema: &Map<String, Value>) -> Option<Pattern> {
    let text = string(schema, "pattern");
    (!text.is_empty()).then(|| Pattern {
        regex: CachedRegexp::new(&text),
        text,
    })
}

/// Items that omit a key are identified by the default of the key.
fn fill_list_key_defaults(nodes: &mut [Node]) {
    for id in 0..nodes.len() {
        let ListType::Map(mut keys) = nodes[id].list_type.clone() else {
            continue;
        };
        let Some(items) = nodes[id].items else {
            continue;
        };
        for key in &mut keys {
            let property = nodes[items].properties.get(&key.name);
            key.default = property.and_then(|id| nodes[*id].default.clone());
        }
        nodes[id].list_type = ListType::Map(keys);
    }
}

/// The nodes that every arena starts with, at the indices of their constants. `ObjectMeta` is parsed later.
fn predefined_nodes() -> Vec<Node> {
    let untyped = |maps_of| Node {
        atomic_map: maps_of == UNTYPED_ATOMIC,
        additional: AdditionalProperties::Schema(maps_of),
        items: Some(UNTYPED_ATOMIC),
        preserve_unknown_fields: true,
        ..Node::default()
    };
    let string = Node {
        type_: Type::String,
        ..Node::default()
    };
    vec![
        untyped(UNTYPED_ATOMIC),
        untyped(UNTYPED_DEDUCED),
        string,
        Node::default(),
    ]
}

fn flag(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn string(schema: &Map<String, Value>, name: &str) -> String {
    schema
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn list<'v>(schema: &'v Map<String, Value>, name: &str) -> &'v [Value] {
    schema
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn strings(schema: &Map<String, Value>, name: &str) -> Vec<String> {
    list(schema, name)
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
