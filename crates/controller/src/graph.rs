//! Finds cycles in the dependency graph.

use std::collections::{HashMap, HashSet};

use crate::key::Key;

/// A path from `start` through its dependencies back to `start`, if there is one; both ends are `start`. If there are
/// several, the first one in depth-first order of the dependencies.
pub(crate) fn cycle<F, I>(start: &Key, dependencies: F) -> Option<Vec<Key>>
where
    F: Fn(&Key) -> I,
    I: IntoIterator<Item = Key>,
{
    let mut predecessors: HashMap<Key, Key> = HashMap::new();
    let mut visited: HashSet<Key> = HashSet::new();
    let mut stack = vec![start.clone()];
    while let Some(node) = stack.pop() {
        if !visited.insert(node.clone()) {
            continue;
        }
        let next: Vec<Key> = dependencies(&node).into_iter().collect();
        if next.contains(start) {
            return Some(path(start, node, &predecessors));
        }
        for key in next.into_iter().rev() {
            if !visited.contains(&key) {
                predecessors.insert(key.clone(), node.clone());
                stack.push(key);
            }
        }
    }
    None
}

fn path(start: &Key, last: Key, predecessors: &HashMap<Key, Key>) -> Vec<Key> {
    let mut path = vec![start.clone()];
    let mut node = last;
    while node != *start {
        let previous = predecessors.get(&node).unwrap_or(start).clone();
        path.push(node);
        node = previous;
    }
    path.push(start.clone());
    path.reverse();
    path
}

/// Formats a cycle as `a -> b -> a`, with namespaces only where they differ from that of the first plugin.
pub(crate) fn cycle_text(cycle: &[Key]) -> String {
    let namespace = cycle.first().map_or("", |key| key.namespace.as_str());
    let names: Vec<String> = cycle.iter().map(|key| key.relative_to(namespace)).collect();
    names.join(" -> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(edges: &[(&str, &[&str])], start: &str, expected: Option<&str>) {
        let key = |name: &str| Key::new("default", name);
        let found = cycle(&key(start), |node| {
            edges
                .iter()
                .filter(|(from, _)| *from == node.name)
                .flat_map(|(_, to)| to.iter().map(|to| key(to)))
                .collect::<Vec<_>>()
        });
        assert_eq!(found.map(|path| cycle_text(&path)).as_deref(), expected);
    }

    #[test]
    fn a_cycle_starts_and_ends_at_the_given_plugin() {
        let ring: &[(&str, &[&str])] = &[("a", &["b"]), ("b", &["c"]), ("c", &["a"])];
        check(ring, "a", Some("a -> b -> c -> a"));
        check(ring, "b", Some("b -> c -> a -> b"));
        check(&[("a", &["a"])], "a", Some("a -> a"));
    }

    #[test]
    fn diamonds_and_cycles_of_other_plugins_are_not_reported() {
        check(
            &[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"])],
            "a",
            None,
        );
        check(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])], "a", None);
    }

    #[test]
    fn other_namespaces_are_named() {
        let path = [Key::new("x", "a"), Key::new("y", "b"), Key::new("x", "a")];
        assert_eq!(cycle_text(&path), "a -> y/b -> a");
    }
}
