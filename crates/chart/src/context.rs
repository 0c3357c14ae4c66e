//! The root contexts of templates: one map per chart of the tree, linked as in Helm.
//!
//! `.Values` of a subchart *is* the section of its parent, not a copy, and all templates of a chart share one map, so
//! that changes by one template are visible to others.

mod metadata;

use std::collections::BTreeMap;
use std::rc::Rc;

use outrigger_gotmpl::Data;
use outrigger_gotmpl::value::{Map, MapType, Str, Value};

use crate::capabilities;
use crate::chart_tree::{ChartTree, NodeId};
use crate::dependencies::table;
use crate::files::FilesObject;
use crate::profile::Profile;
use crate::render::RenderOptions;
use outrigger_gostd::path;

/// The release that is being rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub name: String,
    pub namespace: String,
    pub revision: u32,
    /// `None` in `helm lint`, where neither `.Release.IsInstall` nor `.Release.IsUpgrade` is set.
    pub operation: Option<Operation>,
}

/// What a release is rendered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Install,
    Upgrade,
}

/// A template with the context of its chart.
#[derive(Debug)]
pub(crate) struct Renderable {
    pub(crate) source: Data,
    pub(crate) context: Map,
    pub(crate) base_path: String,
}

/// All templates of the tree by their full names.
pub(crate) fn templates(
    tree: &ChartTree<'_>,
    values: &Map,
    options: &RenderOptions,
) -> BTreeMap<String, Renderable> {
    let profile = options.profile;
    let mut builder = Builder {
        tree,
        profile,
        memory_bytes: options.limits.memory_bytes,
        values_type: MapType::Named(profile.rules().values_type),
        release: Value::Map(options.release.to_map()),
        capabilities: capabilities::object::value(&options.capabilities, profile),
        templates: BTreeMap::new(),
    };
    builder.chart(ChartTree::ROOT, values);
    builder.templates
}

struct Builder<'t, 'c> {
    tree: &'t ChartTree<'c>,
    profile: Profile,
    memory_bytes: usize,
    values_type: MapType,
    release: Value,
    capabilities: Value,
    templates: BTreeMap<String, Renderable>,
}

impl Builder<'_, '_> {
    fn chart(&mut self, id: NodeId, values: &Map) -> Map {
        let node = self.tree.node(id);
        let subcharts = Map::default();
        let values = values.retyped(self.values_type);
        let context = Map::default();
        let files = FilesObject::new(&node.chart.files, self.memory_bytes);
        let entries = [
            ("Chart", metadata::of(self.tree, id, self.profile)),
            ("Files", Value::Object(Rc::new(files))),
            ("Release", self.release.clone()),
            ("Capabilities", self.capabilities.clone()),
            ("Values", Value::Map(values)),
            ("Subcharts", Value::Map(subcharts.clone())),
        ];
        for (key, value) in entries {
            context.set(Str::from(key), value);
        }
        for &child in &node.children {
            let name = self.tree.name(child);
            // By path, as in Helm: a dot in the name of a chart is a path separator.
            let section = table(&context, &format!("Values.{name}")).unwrap_or_default();
            let subchart = self.chart(child, &section);
            subcharts.set(Str::from(name), Value::Map(subchart));
        }
        self.add_templates(id, &context);
        context
    }

    fn add_templates(&mut self, id: NodeId, context: &Map) {
        let node = self.tree.node(id);
        let path = self.tree.full_path(id);
        let base_path = path::join(&path, "templates");
        let is_library = node.chart.metadata.is_library();
        for file in &node.chart.templates {
            if is_library && !path::base(&file.name).starts_with('_') {
                continue;
            }
            let renderable = Renderable {
                source: file.data.clone(),
                context: context.clone(),
                base_path: base_path.clone(),
            };
            self.templates
                .insert(path::join(&path, &file.name), renderable);
        }
    }
}

impl Renderable {
    /// The dot of this template.
    pub(crate) fn dot(&self, name: &str, profile: Profile) -> Value {
        let values_type = MapType::Named(profile.rules().values_type);
        let template = Map::from_entries(
            values_type,
            vec![
                (Str::from("BasePath"), Value::str(self.base_path.as_str())),
                (Str::from("Name"), Value::str(name)),
            ],
        );
        self.context
            .set(Str::from("Template"), Value::Map(template));
        Value::Map(self.context.retyped(values_type))
    }
}

impl Release {
    fn to_map(&self) -> Map {
        let is = |operation| Value::Bool(self.operation == Some(operation));
        let entries = [
            ("Name", Value::str(self.name.as_str())),
            ("Namespace", Value::str(self.namespace.as_str())),
            ("IsUpgrade", is(Operation::Upgrade)),
            ("IsInstall", is(Operation::Install)),
            ("Revision", Value::Int(i64::from(self.revision))),
            ("Service", Value::str("Helm")),
        ];
        let entries = entries
            .into_iter()
            .map(|(key, value)| (Str::from(key), value))
            .collect();
        Map::from_entries(MapType::Any, entries)
    }
}
