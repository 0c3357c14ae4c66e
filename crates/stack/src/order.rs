//! The order of plugins: the order file first, then dependencies, then names.

use std::collections::{BTreeMap, BTreeSet};

use outrigger_model::Owner;

use crate::nearest::suggestion;
use crate::plugin::Metadata;

/// Why plugins cannot be ordered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    #[error("the order file names the unknown plugin {name:?}{hint}")]
    Unknown { name: String, hint: String },
    #[error("the order file names the plugin {0} twice")]
    Repeated(String),
    #[error("the order file has {plugin} before {dependency}, but {plugin} depends on it")]
    Contradiction { plugin: Owner, dependency: Owner },
    #[error("plugin {plugin} requires plugin {requirement}, which is not enabled")]
    NotEnabled { plugin: Owner, requirement: Owner },
    #[error("plugins depend on each other: {0}")]
    Cycle(String),
}

/// Sorts enabled plugins. Plugins in the order file come first, in its order; the others by dependencies, then by name.
/// Names in the file must be of plugins that exist (`known`), enabled or not.
pub fn sort(
    enabled: &[&Metadata],
    known: &BTreeSet<&str>,
    order_file: &[String],
) -> Result<Vec<Owner>, OrderError> {
    let mut rank: BTreeMap<&str, usize> = BTreeMap::new();
    for (position, name) in order_file.iter().enumerate() {
        if !known.contains(name.as_str()) {
            let hint = suggestion(name, known.iter().copied());
            return Err(OrderError::Unknown {
                name: name.clone(),
                hint,
            });
        }
        if rank.insert(name, position).is_some() {
            return Err(OrderError::Repeated(name.clone()));
        }
    }
    let dependencies = dependencies(enabled)?;
    let rank = |name: &Owner| rank.get(name.as_str()).copied().unwrap_or(usize::MAX);
    let mut remaining: BTreeSet<(usize, &Owner)> = enabled
        .iter()
        .map(|plugin| (rank(&plugin.name), &plugin.name))
        .collect();
    let mut sorted: Vec<Owner> = Vec::new();
    let mut done: BTreeSet<&Owner> = BTreeSet::new();
    while let Some(first) = remaining.first().copied() {
        let missing = |name: &Owner| {
            dependencies[name]
                .iter()
                .copied()
                .filter(|name| !done.contains(name))
                .min_by_key(|name| (rank(name), *name))
        };
        let is_listed = first.0 != usize::MAX;
        let start = if is_listed {
            Some(first.1)
        } else {
            remaining
                .iter()
                .map(|(_, name)| *name)
                .find(|name| missing(name).is_none())
        };
        // A listed plugin pulls its dependencies before it, unless the file places them after it.
        let mut next = start.unwrap_or(first.1);
        let mut steps = 0;
        while let Some(dependency) = missing(next) {
            if rank(dependency) != usize::MAX && rank(dependency) > rank(next) {
                return Err(OrderError::Contradiction {
                    plugin: next.clone(),
                    dependency: dependency.clone(),
                });
            }
            steps += 1;
            if steps > enabled.len() {
                return Err(OrderError::Cycle(cycle(&dependencies, &done, next)));
            }
            next = dependency;
        }
        remaining.remove(&(rank(next), next));
        done.insert(next);
        sorted.push(next.clone());
    }
    Ok(sorted)
}

type Dependencies<'a> = BTreeMap<&'a Owner, BTreeSet<&'a Owner>>;

fn dependencies<'a>(enabled: &[&'a Metadata]) -> Result<Dependencies<'a>, OrderError> {
    let names: BTreeSet<&Owner> = enabled.iter().map(|plugin| &plugin.name).collect();
    let mut dependencies = Dependencies::new();
    for plugin in enabled {
        if let Some(missing) = plugin.requires.iter().find(|name| !names.contains(name)) {
            let (plugin, requirement) = (plugin.name.clone(), missing.clone());
            return Err(OrderError::NotEnabled {
                plugin,
                requirement,
            });
        }
        let all = plugin.requires.iter().chain(&plugin.after);
        dependencies.insert(
            &plugin.name,
            all.filter(|name| names.contains(name)).collect(),
        );
    }
    Ok(dependencies)
}

/// The names of a cycle that is reached from `start`.
fn cycle(dependencies: &Dependencies<'_>, done: &BTreeSet<&Owner>, start: &Owner) -> String {
    let mut path = vec![start];
    let mut current = start;
    while let Some(next) = dependencies[current]
        .iter()
        .find(|name| !done.contains(*name))
        .copied()
    {
        let repeated = path.iter().position(|name| *name == next);
        path.push(next);
        if let Some(position) = repeated {
            path.drain(..position);
            break;
        }
        current = next;
    }
    let names: Vec<&str> = path.into_iter().map(Owner::as_str).collect();
    names.join(" -> ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::Origin;

    fn plugin(name: &str, requires: &[&str]) -> Metadata {
        let mut metadata = Metadata::new(name.parse().unwrap(), "1", Origin::User);
        metadata.requires = requires.iter().map(|name| name.parse().unwrap()).collect();
        metadata
    }

    fn order(plugins: &[(&str, &[&str])], file: &[&str]) -> String {
        let plugins: Vec<Metadata> = plugins
            .iter()
            .map(|(name, requires)| plugin(name, requires))
            .collect();
        let known = plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        let file: Vec<String> = file.iter().map(|name| (*name).to_owned()).collect();
        let plugins: Vec<&Metadata> = plugins.iter().collect();
        match sort(&plugins, &known, &file) {
            Ok(sorted) => sorted
                .iter()
                .map(Owner::as_str)
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_order_file_comes_first_then_dependencies_then_names() {
        assert_eq!(
            order(&[("c", &[]), ("b", &["c"]), ("a", &[])], &[]),
            "a c b"
        );
        assert_eq!(
            order(&[("c", &[]), ("b", &[]), ("a", &[])], &["c"]),
            "c a b"
        );
        assert_eq!(
            order(&[("a", &["z"]), ("z", &[]), ("m", &[])], &["m"]),
            "m z a"
        );
    }

    #[test]
    fn dependencies_of_listed_plugins_run_before_them() {
        assert_eq!(
            order(&[("a", &["z"]), ("z", &[]), ("b", &[])], &["a"]),
            "z a b"
        );
    }

    #[test]
    fn cycles_contradictions_and_unknown_names_are_errors() {
        assert_eq!(
            order(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])], &[]),
            "plugins depend on each other: b -> c -> b"
        );
        assert_eq!(
            order(&[("a", &["b"]), ("b", &[])], &["a", "b"]),
            "the order file has a before b, but a depends on it"
        );
        assert_eq!(
            order(&[("dex", &[])], &["dexx"]),
            "the order file names the unknown plugin \"dexx\", did you mean \"dex\"?"
        );
        assert_eq!(
            order(&[("a", &["gone"])], &[]),
            "plugin a requires plugin gone, which is not enabled"
        );
        assert_eq!(
            order(&[("a", &[])], &["a", "a"]),
            "the order file names the plugin a twice"
        );
    }
}
