//! Finds the dependents of a plugin. Pure.

use outrigger_api::plugin::{Phase, Plugin};

/// The installed plugins that depend directly on this one.
pub(super) fn direct<'a>(all: &'a [Plugin], namespace: &str, name: &str) -> Vec<&'a Plugin> {
    let depends = |plugin: &&Plugin| is_installed(plugin) && plugin.depends_on(namespace, name);
    all.iter().filter(depends).collect()
}

/// All direct and indirect dependents, in the order of removal.
pub(super) fn removal_order<'a>(all: &'a [Plugin], namespace: &str, name: &str) -> Vec<&'a Plugin> {
    let mut order = Vec::new();
    let mut seen = vec![(namespace.to_owned(), name.to_owned())];
    visit(all, namespace, name, &mut seen, &mut order);
    order
}

fn visit<'a>(
    all: &'a [Plugin],
    namespace: &str,
    name: &str,
    seen: &mut Vec<(String, String)>,
    order: &mut Vec<&'a Plugin>,
) {
    for plugin in direct(all, namespace, name) {
        let key = (plugin.namespace().to_owned(), plugin.name().to_owned());
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        visit(all, plugin.namespace(), plugin.name(), seen, order);
        order.push(plugin);
    }
}

/// Whether the plugin is enabled, or disabled but not yet removed from the cluster.
fn is_installed(plugin: &Plugin) -> bool {
    let is_disabled = plugin.is_observed() && plugin.phase() == Phase::Disabled;
    plugin.metadata.deletion_timestamp.is_none()
        && (plugin.spec.enabled || (plugin.status.is_some() && !is_disabled))
}

/// Formats the plugins as a list of `namespace/name`.
pub(super) fn names(plugins: &[&Plugin]) -> String {
    let names = plugins
        .iter()
        .map(|plugin| format!("{}/{}", plugin.namespace(), plugin.name()));
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plugin(name: &str, dependencies: &[&str], enabled: bool) -> Plugin {
        let dependencies: Vec<_> = dependencies
            .iter()
            .map(|name| json!({"name": name}))
            .collect();
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"enabled": enabled, "dependencies": dependencies},
        }))
        .unwrap()
    }

    #[test]
    fn removal_order_lists_each_dependent_of_a_diamond_once() {
        let all = [
            plugin("base", &[], true),
            plugin("left", &["base"], true),
            plugin("right", &["base"], true),
            plugin("top", &["left", "right"], true),
            plugin("off", &["base"], false),
        ];
        assert_eq!(
            names(&direct(&all, "default", "base")),
            "default/left, default/right"
        );
        assert_eq!(
            names(&removal_order(&all, "default", "base")),
            "default/top, default/left, default/right"
        );
        assert_eq!(names(&removal_order(&all, "default", "top")), "");
    }

    #[test]
    fn removal_order_terminates_on_a_dependency_cycle() {
        let all = [plugin("a", &["b"], true), plugin("b", &["a"], true)];
        assert_eq!(names(&removal_order(&all, "default", "a")), "default/b");
    }
}
