//! Finds the dependents of a plugin. Pure.

use outrigger_api::plugin::{Phase, Plugin};

/// The installed plugins that depend directly on this one.
pub(super) fn direct<'a>(all: &'a [Plugin], namespace: &str, name: &str) -> Vec<&'a Plugin> {
    let depends = |plugin: &&Plugin| is_installed(plugin) && plugin.depends_on(namespace, name);
    all.iter().filter(depends).collect()
}

/// The named plugins of a namespace in the order of removal: that of the names, but dependents first. With `cascade` all
/// direct and indirect dependents too.
pub(super) fn removal_order<'a>(
    all: &'a [Plugin],
    namespace: &str,
    names: &[String],
    cascade: bool,
) -> Vec<&'a Plugin> {
    let is_named =
        |plugin: &Plugin, name: &str| plugin.namespace() == namespace && plugin.name() == name;
    let is_removed = |plugin: &&Plugin| cascade || names.iter().any(|name| is_named(plugin, name));
    let mut order = Removal::default();
    for name in names {
        for plugin in all.iter().filter(|plugin| is_named(plugin, name)) {
            order.add(plugin, all, &is_removed);
        }
    }
    order.plugins
}

#[derive(Default)]
struct Removal<'a> {
    plugins: Vec<&'a Plugin>,
    /// Those that were visited, whose dependents may still be added.
    seen: Vec<&'a Plugin>,
}

impl<'a> Removal<'a> {
    fn add(
        &mut self,
        plugin: &'a Plugin,
        all: &'a [Plugin],
        is_removed: &impl Fn(&&'a Plugin) -> bool,
    ) {
        if self.seen.iter().any(|seen| std::ptr::eq(*seen, plugin)) {
            return;
        }
        self.seen.push(plugin);
        let dependents = direct(all, plugin.namespace(), plugin.name()).into_iter();
        for dependent in dependents.filter(is_removed) {
            self.add(dependent, all, is_removed);
        }
        self.plugins.push(plugin);
    }
}

/// Whether the plugin is enabled, or disabled but not yet removed from the cluster.
fn is_installed(plugin: &Plugin) -> bool {
    let is_disabled = plugin.is_observed() && plugin.phase() == Phase::Disabled;
    !outrigger_api::compat::is_deleted(plugin)
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
        let order = |removed: &[&str], cascade| {
            let removed: Vec<String> = removed.iter().map(|name| (*name).to_owned()).collect();
            names(&removal_order(&all, "default", &removed, cascade))
        };
        assert_eq!(
            order(&["base"], true),
            "default/top, default/left, default/right, default/base"
        );
        assert_eq!(order(&["top"], true), "default/top");
        assert_eq!(order(&["base"], false), "default/base");
        // Whatever the order of the arguments.
        for removed in [["base", "left", "top"], ["top", "base", "left"]] {
            assert_eq!(
                order(&removed, false),
                "default/top, default/left, default/base"
            );
        }
    }

    #[test]
    fn removal_order_terminates_on_a_dependency_cycle() {
        let all = [plugin("a", &["b"], true), plugin("b", &["a"], true)];
        let order = removal_order(&all, "default", &["a".to_owned()], true);
        assert_eq!(names(&order), "default/b, default/a");
    }
}
