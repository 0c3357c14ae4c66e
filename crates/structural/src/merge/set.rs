//! `fieldpath.Set`, a trie of paths. Membership of a path is independent of its parents and children.

use std::cmp::Ordering;

use super::path::{Path, PathElement};
use crate::schema::SchemaRef;

/// A set of paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Set {
    /// Sorted by path element. Each node is a member or has children.
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) element: PathElement,
    /// Whether the path that ends here is in the set.
    pub(super) member: bool,
    pub(super) children: Set,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl Set {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    fn find(&self, element: &PathElement) -> Result<usize, usize> {
        self.nodes
            .binary_search_by(|node| node.element.cmp(element))
    }

    pub(super) fn get(&self, element: &PathElement) -> Option<&Node> {
        self.find(element).ok().map(|index| &self.nodes[index])
    }

    /// Whether the path of this single element is in the set.
    pub(super) fn has(&self, element: &PathElement) -> bool {
        self.get(element).is_some_and(|node| node.member)
    }

    /// The descendants of an element, if there are any.
    pub(super) fn with_prefix(&self, element: &PathElement) -> Option<&Self> {
        let node = self.get(element)?;
        (!node.children.is_empty()).then_some(&node.children)
    }

    pub fn contains(&self, path: &Path) -> bool {
        let Some((last, parents)) = path.0.split_last() else {
            return false;
        };
        let parent = parents
            .iter()
            .try_fold(self, |set, element| set.with_prefix(element));
        parent.is_some_and(|set| set.has(last))
    }

    /// Adds a path. The empty path is never a member, since no manager owns a whole object.
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let index = match self.find(first) {
            Ok(index) => index,
            Err(index) => {
                self.nodes.insert(
                    index,
                    Node {
                        element: first.clone(),
                        member: false,
                        children: Self::new(),
                    },
                );
                index
            }
        };
        if rest.is_empty() {
            self.nodes[index].member = true;
        } else {
            self.nodes[index].children.insert(rest);
        }
    }

    /// Appends a node, unless it is empty. Its element must be greater than all others.
    pub(super) fn push(&mut self, node: Node) {
        if !node.is_empty() {
            self.nodes.push(node);
        }
    }

    /// Inserts a decoded node, or replaces the node of the same element.
    pub(super) fn insert_node(&mut self, node: Node) {
        match self.find(&node.element) {
            Ok(index) => self.nodes[index] = node,
            Err(index) => self.nodes.insert(index, node),
        }
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.zip_with(other, |mine, theirs| match (mine, theirs) {
            (Some(mine), Some(theirs)) => Some(Node {
                element: mine.element.clone(),
                member: mine.member || theirs.member,
                children: mine.children.union(&theirs.children),
            }),
            (mine, theirs) => mine.or(theirs).cloned(),
        })
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.zip_with(other, |mine, theirs| {
            let (mine, theirs) = (mine?, theirs?);
            Some(Node {
                element: mine.element.clone(),
                member: mine.member && theirs.member,
                children: mine.children.intersection(&theirs.children),
            })
        })
    }

    /// The paths that are not in the other set. Descendants of its members are kept.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.zip_with(other, |mine, theirs| {
            let mine = mine?;
            let Some(theirs) = theirs else {
                return Some(mine.clone());
            };
            Some(Node {
                element: mine.element.clone(),
                member: mine.member && !theirs.member,
                children: mine.children.difference(&theirs.children),
            })
        })
    }

    /// The paths that are neither in the other set nor descendants of its members.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.zip_with(other, |mine, theirs| {
            let mine = mine?;
            match theirs {
                None => Some(mine.clone()),
                Some(theirs) if theirs.member => None,
                Some(theirs) => Some(Node {
                    element: mine.element.clone(),
                    member: mine.member,
                    children: mine.children.recursive_difference(&theirs.children),
                }),
            }
        })
    }

    /// Combines the nodes of both sets, in order.
    fn zip_with(
        &self,
        other: &Self,
        mut combine: impl FnMut(Option<&Node>, Option<&Node>) -> Option<Node>,
    ) -> Self {
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let (mut mine, mut theirs) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        loop {
            let order = match (mine.peek(), theirs.peek()) {
                (None, None) => return Self { nodes },
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(mine), Some(theirs)) => mine.element.cmp(&theirs.element),
            };
            let pair = match order {
                Ordering::Less => (mine.next(), None),
                Ordering::Greater => (None, theirs.next()),
                Ordering::Equal => (mine.next(), theirs.next()),
            };
            nodes.extend(combine(pair.0, pair.1).filter(|node| !node.is_empty()));
        }
    }

    /// Adds the declared fields on the path to each member, but neither map keys nor list items.
    #[must_use]
    pub(super) fn ensure_named_fields_are_members(&self, schema: Option<SchemaRef<'_>>) -> Self {
        let nodes = self.nodes.iter().map(|node| {
            let child = schema.and_then(|schema| super::atom::child(schema, &node.element));
            let is_named = !node.children.is_empty()
                && matches!(&node.element, PathElement::Field(name)
                    if schema.is_some_and(|schema| super::atom::is_declared(schema, name)));
            Node {
                element: node.element.clone(),
                member: node.member || is_named,
                children: node.children.ensure_named_fields_are_members(child),
            }
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// All paths: the members of a level first, then their descendants.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &mut Vec<PathElement>, paths: &mut Vec<Path>) {
        for node in self.nodes.iter().filter(|node| node.member) {
            let mut path = prefix.clone();
            path.push(node.element.clone());
            paths.push(Path(path));
        }
        for node in &self.nodes {
            prefix.push(node.element.clone());
            node.children.collect_paths(prefix, paths);
            prefix.pop();
        }
    }
}

impl FromIterator<Path> for Set {
    fn from_iter<T: IntoIterator<Item = Path>>(paths: T) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(&path.0);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> Set {
        paths
            .iter()
            .map(|path| Path::of_fields(path.split('.')))
            .collect()
    }

    #[test]
    fn difference_keeps_descendants_of_a_removed_field() {
        assert_eq!(
            set(&["a", "a.b", "c"]).difference(&set(&["a"])),
            set(&["a.b", "c"])
        );
    }

    #[test]
    fn recursive_difference_removes_descendants() {
        let all = set(&["a", "a.b", "c.d", "c.e.f"]);
        assert_eq!(all.recursive_difference(&set(&["a", "c.e"])), set(&["c.d"]));
    }

    #[test]
    fn intersection_drops_empty_branches() {
        assert!(set(&["a.b"]).intersection(&set(&["a.c"])).is_empty());
    }

    #[test]
    fn members_of_a_level_precede_descendants() {
        let paths: Vec<_> = set(&["b", "a.x", "a"])
            .paths()
            .iter()
            .map(Path::to_string)
            .collect();
        assert_eq!(paths, [".a", ".b", ".a.x"]);
    }
}
