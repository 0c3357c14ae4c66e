//! Who depends on whom, and does it go round in a circle?

use std::collections::{HashMap, HashSet};

use crate::key::Key;

/// The way from a plugin through its dependencies back to itself, if there is one: it begins and ends with `start`.
/// Of several the one found first, in the order of the dependencies, is told.
pub(crate) fn cycle<F, I>(start: &Key, dependencies: F) -> Option<Vec<Key>>
where
    F: Fn(&Key) -> I,
    I: IntoIterator<Item = Key>,
{
    let mut came_from: HashMap<Key, Key> = HashMap::new();
    let mut seen: HashSet<Key> = HashSet::new();
    let mut stack = vec![start.clone()];
    while let Some(at) = stack.pop() {
        if !seen.insert(at.clone()) {
            continue;
        }
        let next: Vec<Key> = dependencies(&at).into_iter().collect();
        if next.contains(start) {
            return Some(way(start, at, &came_from));
        }
        for key in next.into_iter().rev() {
            if !seen.contains(&key) {
                came_from.insert(key.clone(), at.clone());
                stack.push(key);
            }
        }
    }
    None
}

fn way(start: &Key, last: Key, came_from: &HashMap<Key, Key>) -> Vec<Key> {
    let mut way = vec![start.clone()];
    let mut at = last;
    while at != *start {
        let before = came_from.get(&at).unwrap_or(start).clone();
        way.push(at);
        at = before;
    }
    way.push(start.clone());
    way.reverse();
    way
}

/// A cycle for people: `a -> b -> a`, with namespaces only where they differ from the first one.
pub(crate) fn cycle_text(cycle: &[Key]) -> String {
    let home = cycle.first().map_or("", |key| key.namespace.as_str());
    let names: Vec<String> = cycle.iter().map(|key| key.seen_from(home)).collect();
    names.join(" -> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(edges: &[(&str, &[&str])], start: &str, expected: Option<&str>) {
        let key = |name: &str| Key::new("home", name);
        let found = cycle(&key(start), |at| {
            edges
                .iter()
                .filter(|(from, _)| *from == at.name)
                .flat_map(|(_, to)| to.iter().map(|to| key(to)))
                .collect::<Vec<_>>()
        });
        assert_eq!(found.map(|way| cycle_text(&way)).as_deref(), expected);
    }

    #[test]
    fn cycles_are_named_from_where_one_asks() {
        let ring: &[(&str, &[&str])] = &[("a", &["b"]), ("b", &["c"]), ("c", &["a"])];
        check(ring, "a", Some("a -> b -> c -> a"));
        check(ring, "b", Some("b -> c -> a -> b"));
        check(&[("a", &["a"])], "a", Some("a -> a"));
    }

    #[test]
    fn diamonds_and_cycles_elsewhere_are_no_cycle_of_mine() {
        check(
            &[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"])],
            "a",
            None,
        );
        check(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])], "a", None);
    }

    #[test]
    fn other_namespaces_are_told() {
        let way = [Key::new("x", "a"), Key::new("y", "b"), Key::new("x", "a")];
        assert_eq!(cycle_text(&way), "a -> y/b -> a");
    }
}
