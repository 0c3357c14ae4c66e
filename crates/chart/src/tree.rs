//! The charts of one release while their dependencies are worked out.
//!
//! Helm keeps charts, parents and dependency entries as pointers, and what it does to one is seen through every
//! other pointer to it: an aliased chart shares parts with its twin. Here they are indices into two tables, which
//! keeps those effects without shared ownership.

use outrigger_gotmpl::value::Map;

use crate::chart::Chart;
use crate::metadata::Dependency;

pub(crate) type NodeId = usize;
pub(crate) type RequirementId = usize;
type IdentityId = usize;

#[derive(Debug)]
pub(crate) struct Tree<'c> {
    nodes: Vec<Node<'c>>,
    identities: Vec<Identity>,
    requirements: Vec<Requirement>,
}

/// One chart in its place.
#[derive(Debug, Clone)]
pub(crate) struct Node<'c> {
    pub(crate) chart: &'c Chart,
    identity: IdentityId,
    pub(crate) parent: Option<NodeId>,
    pub(crate) children: Vec<NodeId>,
    /// The chart's defaults; imported values are added here.
    pub(crate) values: Map,
}

/// What Helm keeps in a chart's metadata and changes there. Copies of a node share it.
#[derive(Debug, Clone)]
struct Identity {
    /// The chart's name, or the alias it goes by.
    name: String,
    /// Declared dependencies; `None` is Go's nil, which stops the work below this chart.
    requirements: Option<Vec<RequirementId>>,
}

/// A declared dependency with the state that processing gives it.
#[derive(Debug, Clone)]
pub(crate) struct Requirement {
    pub(crate) dependency: Dependency,
    /// The name that counts: the alias once it has been applied.
    pub(crate) name: String,
    pub(crate) enabled: bool,
    /// `import-values` as templates see them after processing: child and parent paths.
    pub(crate) imports: Option<Vec<(String, String)>>,
}

impl<'c> Tree<'c> {
    pub(crate) const ROOT: NodeId = 0;

    pub(crate) fn new(chart: &'c Chart) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            identities: Vec::new(),
            requirements: Vec::new(),
        };
        tree.plant(chart, None);
        tree
    }

    fn plant(&mut self, chart: &'c Chart, parent: Option<NodeId>) -> NodeId {
        let id = self.nodes.len();
        let requirements = chart.metadata.dependencies.as_ref().map(|declared| {
            declared
                .iter()
                .map(|dependency| self.require(dependency))
                .collect()
        });
        self.identities.push(Identity {
            name: chart.name().to_owned(),
            requirements,
        });
        self.nodes.push(Node {
            chart,
            identity: self.identities.len() - 1,
            parent,
            children: Vec::new(),
            values: chart
                .values
                .as_ref()
                .map(crate::plain::Plain::to_map)
                .unwrap_or_default(),
        });
        for subchart in &chart.subcharts {
            let child = self.plant(subchart, Some(id));
            self.nodes[id].children.push(child);
        }
        id
    }

    fn require(&mut self, dependency: &Dependency) -> RequirementId {
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
        &self.identities[self.nodes[id].identity].name
    }

    pub(crate) fn rename(&mut self, id: NodeId, name: String) {
        self.identities[self.nodes[id].identity].name = name;
    }

    /// The declared dependencies of a chart; `None` if the field is absent.
    pub(crate) fn requirements_of(&self, id: NodeId) -> Option<&[RequirementId]> {
        let identity = &self.identities[self.nodes[id].identity];
        identity.requirements.as_deref()
    }

    pub(crate) fn set_requirements(
        &mut self,
        id: NodeId,
        requirements: Option<Vec<RequirementId>>,
    ) {
        self.identities[self.nodes[id].identity].requirements = requirements;
    }

    /// Another node with the same contents. Its identity, its children and its dependency entries stay shared.
    pub(crate) fn duplicate(&mut self, id: NodeId) -> NodeId {
        self.nodes.push(self.nodes[id].clone());
        self.nodes.len() - 1
    }

    /// Gives a node an identity of its own, equal to the one it shared.
    pub(crate) fn detach(&mut self, id: NodeId) {
        let identity = self.identities[self.nodes[id].identity].clone();
        self.identities.push(identity);
        self.nodes[id].identity = self.identities.len() - 1;
    }

    /// Another dependency entry with the same contents.
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
        let mut at = id;
        while let Some(parent) = self.nodes[at].parent {
            at = parent;
            names.push(self.name(at));
        }
        names.reverse();
        names.join("/charts/")
    }

    /// Whether a subchart below `id` goes by that name.
    pub(crate) fn has_child_named(&self, id: NodeId, name: &[u8]) -> bool {
        self.nodes[id]
            .children
            .iter()
            .any(|&child| self.name(child).as_bytes() == name)
    }
}
