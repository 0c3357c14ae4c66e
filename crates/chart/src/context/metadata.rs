//! `.Chart`: a struct in Helm 3, where an unknown field is an error, and a map in Helm 4, where it is empty.

use outrigger_gotmpl::value::{Element, Json, List, Map, MapType, Str, StructField, Value};

use crate::chart_tree::{ChartTree, NodeId, Requirement};
use crate::go_struct::Struct;
use crate::metadata::{Maintainer, Metadata};
use crate::profile::Profile;

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
        fields.push(StructField::new("IsRoot", Json::Key("IsRoot"), is_root));
        return map_of(fields);
    }
    let metadata = Struct::value("chart.Metadata", fields);
    Struct::value(
        "struct { chart.Metadata; IsRoot bool }",
        vec![
            StructField::new("Metadata", Json::Embedded, metadata),
            StructField::new("IsRoot", Json::Key("IsRoot"), is_root),
        ],
    )
}

fn field(name: &'static str, json: &'static str, value: Value) -> StructField {
    StructField::new(name, Json::OmitEmpty(json), value)
}

/// The fields in the order of Go's struct.
fn fields(
    metadata: &Metadata,
    name: &str,
    requirements: &[&Requirement],
    as_maps: bool,
) -> Vec<StructField> {
    let text = |text: &str| Value::str(text);
    let is_set = |field| metadata.empty_fields.contains(&field);
    let list = |field, items: &[String]| strings(items, is_set(field), as_maps);
    let maintainers = metadata.maintainers.iter().map(maintainer);
    let has_maintainers = is_set("maintainers");
    let maintainers = structs("[]*chart.Maintainer", maintainers, has_maintainers, as_maps);
    let dependencies = requirements.iter().map(|r| dependency(r, as_maps));
    let dependencies = structs("[]*chart.Dependency", dependencies, false, as_maps);
    vec![
        field("Name", "name", text(name)),
        field("Home", "home", text(&metadata.home)),
        field("Sources", "sources", list("sources", &metadata.sources)),
        field("Version", "version", text(&metadata.version)),
        field("Description", "description", text(&metadata.description)),
        field("Keywords", "keywords", list("keywords", &metadata.keywords)),
        field("Maintainers", "maintainers", maintainers),
        field("Icon", "icon", text(&metadata.icon)),
        field("APIVersion", "apiVersion", text(&metadata.api_version)),
        field("Condition", "condition", text(&metadata.condition)),
        field("Tags", "tags", text(&metadata.tags)),
        field("AppVersion", "appVersion", text(&metadata.app_version)),
        field("Deprecated", "deprecated", Value::Bool(metadata.deprecated)),
        field("Annotations", "annotations", annotations(metadata)),
        field("KubeVersion", "kubeVersion", text(&metadata.kube_version)),
        field("Dependencies", "dependencies", dependencies),
        field("Type", "type", text(&metadata.chart_type)),
    ]
}

fn annotations(metadata: &Metadata) -> Value {
    if metadata.annotations.is_empty() && !metadata.empty_fields.contains(&"annotations") {
        return Value::Map(Map::nil(MapType::Strings));
    }
    let entries = metadata
        .annotations
        .iter()
        .map(|(key, value)| (Str::from(key.as_str()), Value::str(value.as_str())))
        .collect();
    Value::Map(Map::from_entries(MapType::Strings, entries))
}

fn maintainer(maintainer: &Maintainer) -> Vec<StructField> {
    vec![
        field("Name", "name", Value::str(maintainer.name.as_str())),
        field("Email", "email", Value::str(maintainer.email.as_str())),
        field("URL", "url", Value::str(maintainer.url.as_str())),
    ]
}

fn dependency(requirement: &Requirement, as_maps: bool) -> Vec<StructField> {
    let declared = &requirement.dependency;
    let imports: Vec<Value> = match &requirement.imports {
        Some(paths) => paths.iter().map(import_paths).collect(),
        None => declared
            .import_values
            .iter()
            .map(crate::yaml_value::YamlValue::to_value)
            .collect(),
    };
    let imports = if as_maps {
        Value::list(imports)
    } else {
        list(Element::Any, imports, false)
    };
    vec![
        StructField::new(
            "Name",
            Json::Key("name"),
            Value::str(requirement.name.as_str()),
        ),
        field("Version", "version", Value::str(declared.version.as_str())),
        StructField::new(
            "Repository",
            Json::Key("repository"),
            Value::str(declared.repository.as_str()),
        ),
        field(
            "Condition",
            "condition",
            Value::str(declared.condition.as_str()),
        ),
        field(
            "Tags",
            "tags",
            strings(&declared.tags, declared.has_empty_tags, as_maps),
        ),
        field("Enabled", "enabled", Value::Bool(requirement.enabled)),
        field("ImportValues", "import-values", imports),
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

fn strings(items: &[String], is_set: bool, as_any: bool) -> Value {
    let texts = items.iter().map(|item| Value::str(item.as_str())).collect();
    if as_any {
        Value::list(texts)
    } else {
        list(Element::String, texts, is_set)
    }
}

/// A list of the Go type `[]*chart.Maintainer`, or of maps.
fn structs(
    list_type: &'static str,
    structs: impl Iterator<Item = Vec<StructField>>,
    is_set: bool,
    as_maps: bool,
) -> Value {
    if as_maps {
        return Value::list(structs.map(map_of).collect());
    }
    let pointer = list_type.trim_start_matches("[]");
    let items = structs.map(|fields| Struct::value(pointer, fields));
    list(Element::Pointers(list_type), items.collect(), is_set)
}

/// As in Go, a list that `Chart.yaml` does not set is nil.
fn list(element: Element, items: Vec<Value>, is_set: bool) -> Value {
    Value::List(if items.is_empty() && !is_set {
        List::nil(element)
    } else {
        List::new(element, items)
    })
}

fn map_of(fields: Vec<StructField>) -> Value {
    let entries = fields
        .into_iter()
        .map(|field| (Str::from(field.name), field.value))
        .collect();
    Value::Map(Map::from_entries(MapType::Any, entries))
}
