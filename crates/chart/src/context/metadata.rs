//! `.Chart`: a struct in Helm 3, where an unknown field is an error, and a map in Helm 4, where it is empty.

use std::any::Any;
use std::rc::Rc;

use outrigger_gotmpl::value::{Kind, Map, MapType, Object, Str, Value};

use crate::chart_tree::{ChartTree, NodeId, Requirement};
use crate::metadata::{Maintainer, Metadata};
use crate::profile::Profile;
use outrigger_gotmpl::fmt::display_text;

/// The metadata of a chart in its templates, after dependencies are processed.
pub(super) fn of(tree: &ChartTree<'_>, id: NodeId, profile: Profile) -> Value {
    let node = tree.node(id);
    let requirements: Vec<&Requirement> = tree
        .requirements_of(id)
        .unwrap_or_default()
        .iter()
        .map(|&requirement| tree.requirement(requirement))
        .collect();
    let is_map = profile.rules().chart_is_map;
    let mut fields = fields(&node.chart.metadata, tree.name(id), &requirements, is_map);
    let is_root = Value::Bool(node.parent.is_none());
    if is_map {
        fields.push(field("IsRoot", "IsRoot", is_root));
        return map_of(fields);
    }
    let metadata = Struct {
        type_name: "chart.Metadata",
        is_pointer: false,
        fields: fields.clone(),
    };
    let display = format!("{{{} {}}}", metadata.display(), display_text(&is_root));
    fields.push(field("IsRoot", "IsRoot", is_root));
    Value::Object(Rc::new(ChartStruct {
        fields: Struct {
            type_name: "struct { chart.Metadata; IsRoot bool }",
            is_pointer: false,
            fields,
        },
        metadata: Rc::new(metadata),
        display,
    }))
}

/// A Go struct field: its name, its JSON name, its value.
#[derive(Debug, Clone)]
struct Field {
    name: &'static str,
    json: &'static str,
    value: Value,
}

fn field(name: &'static str, json: &'static str, value: Value) -> Field {
    Field { name, json, value }
}

/// The fields in the order of Go's struct.
fn fields(
    metadata: &Metadata,
    name: &str,
    requirements: &[&Requirement],
    as_maps: bool,
) -> Vec<Field> {
    let text = |text: &str| Value::str(text);
    let list = |items: &[String]| strings(items, as_maps);
    let maintainers = metadata.maintainers.iter();
    let maintainers = maintainers.map(|m| nested("*chart.Maintainer", maintainer(m), as_maps));
    let dependencies = requirements.iter();
    let dependencies =
        dependencies.map(|r| nested("*chart.Dependency", dependency(r, as_maps), as_maps));
    vec![
        field("Name", "name", text(name)),
        field("Home", "home", text(&metadata.home)),
        field("Sources", "sources", list(&metadata.sources)),
        field("Version", "version", text(&metadata.version)),
        field("Description", "description", text(&metadata.description)),
        field("Keywords", "keywords", list(&metadata.keywords)),
        field(
            "Maintainers",
            "maintainers",
            Value::list(maintainers.collect()),
        ),
        field("Icon", "icon", text(&metadata.icon)),
        field("APIVersion", "apiVersion", text(&metadata.api_version)),
        field("Condition", "condition", text(&metadata.condition)),
        field("Tags", "tags", text(&metadata.tags)),
        field("AppVersion", "appVersion", text(&metadata.app_version)),
        field("Deprecated", "deprecated", Value::Bool(metadata.deprecated)),
        field("Annotations", "annotations", annotations(metadata)),
        field("KubeVersion", "kubeVersion", text(&metadata.kube_version)),
        field(
            "Dependencies",
            "dependencies",
            Value::list(dependencies.collect()),
        ),
        field("Type", "type", text(&metadata.chart_type)),
    ]
}

fn annotations(metadata: &Metadata) -> Value {
    if metadata.annotations.is_empty() {
        return Value::Map(Map::nil(MapType::Strings));
    }
    let entries = metadata
        .annotations
        .iter()
        .map(|(key, value)| (Str::from(key.as_str()), Value::str(value.as_str())))
        .collect();
    Value::Map(Map::from_entries(MapType::Strings, entries))
}

fn maintainer(maintainer: &Maintainer) -> Vec<Field> {
    vec![
        field("Name", "name", Value::str(maintainer.name.as_str())),
        field("Email", "email", Value::str(maintainer.email.as_str())),
        field("URL", "url", Value::str(maintainer.url.as_str())),
    ]
}

fn dependency(requirement: &Requirement, as_maps: bool) -> Vec<Field> {
    let declared = &requirement.dependency;
    let imports = match &requirement.imports {
        Some(paths) => paths.iter().map(import_paths).collect(),
        None => declared
            .import_values
            .iter()
            .map(crate::yaml_value::YamlValue::to_value)
            .collect(),
    };
    vec![
        field("Name", "name", Value::str(requirement.name.as_str())),
        field("Version", "version", Value::str(declared.version.as_str())),
        field(
            "Repository",
            "repository",
            Value::str(declared.repository.as_str()),
        ),
        field(
            "Condition",
            "condition",
            Value::str(declared.condition.as_str()),
        ),
        field("Tags", "tags", strings(&declared.tags, as_maps)),
        field("Enabled", "enabled", Value::Bool(requirement.enabled)),
        field("ImportValues", "import-values", Value::list(imports)),
        field("Alias", "alias", Value::str(declared.alias.as_str())),
    ]
}

fn import_paths((child, parent): &(String, String)) -> Value {
    let entries = vec![
        (Str::from("child"), Value::str(child.as_str())),
        (Str::from("parent"), Value::str(parent.as_str())),
    ];
    Value::Map(Map::from_entries(MapType::Strings, entries))
}

fn strings(items: &[String], as_any: bool) -> Value {
    if as_any {
        Value::list(items.iter().map(|item| Value::str(item.as_str())).collect())
    } else {
        Value::strings(items.iter().map(String::as_str))
    }
}

fn nested(type_name: &'static str, fields: Vec<Field>, as_maps: bool) -> Value {
    if as_maps {
        return map_of(fields);
    }
    Value::Object(Rc::new(Struct {
        type_name,
        is_pointer: true,
        fields,
    }))
}

fn map_of(fields: Vec<Field>) -> Value {
    let entries = fields
        .into_iter()
        .map(|field| (Str::from(field.name), field.value))
        .collect();
    Value::Map(Map::from_entries(MapType::Any, entries))
}

/// A Go struct, or a pointer to one.
#[derive(Debug)]
struct Struct {
    type_name: &'static str,
    is_pointer: bool,
    fields: Vec<Field>,
}

impl Struct {
    /// The fields by their JSON names, without empty ones.
    fn plain(&self) -> Value {
        let entries = self
            .fields
            .iter()
            .filter(|field| field.value.is_true())
            .map(|field| (Str::from(field.json), plain(&field.value)))
            .collect();
        Value::Map(Map::from_entries(MapType::Any, entries))
    }
}

fn plain(value: &Value) -> Value {
    match value {
        Value::Object(object) => object.to_plain(),
        Value::List(list) => Value::list(list.items().iter().map(plain).collect()),
        other => other.clone(),
    }
}

impl Object for Struct {
    fn type_name(&self) -> &str {
        self.type_name
    }

    fn kind(&self) -> Kind {
        if self.is_pointer {
            Kind::Ptr
        } else {
            Kind::Struct
        }
    }

    fn field(&self, name: &str) -> Option<Value> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        Some(field.value.clone())
    }

    fn to_plain(&self) -> Value {
        self.plain()
    }

    fn display(&self) -> String {
        let values: Vec<String> = self
            .fields
            .iter()
            .map(|field| display_text(&field.value))
            .collect();
        let sign = if self.is_pointer { "&" } else { "" };
        format!("{sign}{{{}}}", values.join(" "))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Helm 3's anonymous struct: the metadata embedded, and `IsRoot`.
#[derive(Debug)]
struct ChartStruct {
    fields: Struct,
    metadata: Rc<Struct>,
    display: String,
}

impl Object for ChartStruct {
    fn type_name(&self) -> &str {
        self.fields.type_name
    }

    fn kind(&self) -> Kind {
        Kind::Struct
    }

    fn field(&self, name: &str) -> Option<Value> {
        if name == "Metadata" {
            return Some(Value::Object(self.metadata.clone()));
        }
        self.fields.field(name)
    }

    fn to_plain(&self) -> Value {
        let plain = self.fields.plain();
        if let (Value::Map(map), Some(is_root)) = (&plain, self.fields.field("IsRoot")) {
            map.set(Str::from("IsRoot"), is_root);
        }
        plain
    }

    fn display(&self) -> String {
        self.display.clone()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
