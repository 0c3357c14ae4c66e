//! The tree of a chart and its subcharts while dependencies are processed.
//!
//! Helm holds charts, parents and dependencies as pointers, and a change is visible through all pointers: copies of an
//! aliased chart share parts. Here they are indices into arenas, which reproduces that without shared ownership.

use outrigger_gotmpl::value::Map;

use crate::chart::Chart;
use crate::metadata::Dependency;

pub(crate) type NodeId = usize;
pub(crate) type RequirementId = usize;
type MetadataId = usize;

#[derive(Debug)]
pub(crate) struct ChartTree<'c> {
    nodes: Vec<Node<'c>>,
    metadata: Vec<NodeMetadata>,
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone)]
pub(crate) struct Node<'c> {
    pub(crate) chart: &'c Chart,
    metadata: MetadataId,
    pub(crate) parent: Option<NodeId>,
    pub(crate) children: Vec<NodeId>,
    /// The default values, and imported values.
    pub(crate) values: Map,
}

/// The metadata that Helm changes during processing. Copies of a node share it.
#[derive(Debug, Clone)]
struct NodeMetadata {
    /// The name of the chart, or its alias.
    name: String,
    /// Declared dependencies; with `None`, Go's nil, the subcharts are not processed.
    requirements: Option<Vec<RequirementId>>,
}

/// A declared dependency, and the state of its processing.
#[derive(Debug, Clone)]
pub(crate) struct Requirement {
    pub(crate) dependency: Dependency,
    /// The effective name: the alias after it is applied.
    pub(crate) name: String,
    pub(crate) enabled: bool,
    /// `import-values` in templates, after processing: child and parent paths.
    pub(crate) imports: Option<Vec<(String, String)>>,
}

impl<'c> ChartTree<'c> {
    pub(crate) const ROOT: NodeId = 0;

    pub(crate) fn new(chart: &'c Chart) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            metadata: Vec::new(),
            requirements: Vec::new(),
        };
        tree.add(chart, None);
        tree
    }

    fn add(&mut self, chart: &'c Chart, parent: Option<NodeId>) -> NodeId {
        let id = self.nodes.len();
        let requirements = chart.metadata.dependencies.as_ref().map(|declared| {
            declared
                .iter()
                .map(|dependency| self.add_requirement(dependency))
                .collect()
        });
        self.metadata.push(NodeMetadata {
            name: chart.name().to_owned(),
            requirements,
        });
        self.nodes.push(Node {
            chart,
            metadata: self.metadata.len() - 1,
            parent,
            children: Vec::new(),
            values: chart
                .values
                .as_ref()
                .map(crate::yaml_value::YamlValue::to_map)
                .unwrap_or_default(),
        });
        for subchart in &chart.subcharts {
            let child = self.add(subchart, Some(id));
            self.nodes[id].children.push(child);
        }
        id
    }

    fn add_requirement(&mut self, dependency: &Dependency) -> RequirementId {
        self.requirements.push(Requirement {
            name: dependency.name.clone(),
            enabled: dependency.enabled,
            dependency: dependency.clone(),
            imports: None,
        });
        self.requirements.len() - 1
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node<'c> {
        &self.nodes[id]
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node<'c> {
        &mut self.nodes[id]
    }

    pub(crate) fn requirement(&self, id: RequirementId) -> &Requirement {
        &self.requirements[id]
    }

    pub(crate) fn requirement_mut(&mut self, id: RequirementId) -> &mut Requirement {
        &mut self.requirements[id]
    }

    pub(crate) fn name(&self, id: NodeId) -> &str {
        &self.metadata[self.nodes[id].metadata].name
    }

    pub(crate) fn rename(&mut self, id: NodeId, name: String) {
        self.metadata[self.nodes[id].metadata].name = name;
    }

    /// The declared dependencies of a chart; `None` if the field is unset.
    pub(crate) fn requirements_of(&self, id: NodeId) -> Option<&[RequirementId]> {
        let metadata = &self.metadata[self.nodes[id].metadata];
        metadata.requirements.as_deref()
    }

    pub(crate) fn set_requirements(
        &mut self,
        id: NodeId,
        requirements: Option<Vec<RequirementId>>,
    ) {
        self.metadata[self.nodes[id].metadata].requirements = requirements;
    }

    /// A shallow copy of a node: it shares metadata, children and dependencies.
    pub(crate) fn duplicate(&mut self, id: NodeId) -> NodeId {
        self.nodes.push(self.nodes[id].clone());
        self.nodes.len() - 1
    }

    /// Copies the metadata of a node, so that it is no longer shared.
    pub(crate) fn copy_metadata(&mut self, id: NodeId) {
        let metadata = self.metadata[self.nodes[id].metadata].clone();
        self.metadata.push(metadata);
        self.nodes[id].metadata = self.metadata.len() - 1;
    }
    pub(crate) fn duplicate_requirement(&mut self, id: RequirementId) -> RequirementId {
        self.requirements.push(self.requirements[id].clone());
        self.requirements.len() - 1
    }

    pub(crate) fn set_children(&mut self, id: NodeId, children: Vec<NodeId>) {
        for &child in &children {
            self.nodes[child].parent = Some(id);
        }
        self.nodes[id].children = children;
    }

    /// `root/charts/child/...`, the prefix of the chart's template names.
    pub(crate) fn full_path(&self, id: NodeId) -> String {
        let mut names = vec![self.name(id)];
        let mut node = id;
        while let Some(parent) = self.nodes[node].parent {
            node = parent;
            names.push(self.name(node));
        }
        names.reverse();
        names.join("/charts/")
    }

    /// Whether a direct subchart has that name.
    pub(crate) fn has_child_named(&self, id: NodeId, name: &[u8]) -> bool {
        self.nodes[id]
            .children
            .iter()
            .any(|&child| self.name(child).as_bytes() == name)
    }
}
