//! Who needs whom? Pure.

use outrigger_api::plugin::{Phase, Plugin};

/// The plugins that are on and depend on this one directly.
pub(super) fn direct<'a>(all: &'a [Plugin], namespace: &str, name: &str) -> Vec<&'a Plugin> {
    let needs = |plugin: &&Plugin| is_on(plugin) && plugin.depends_on(namespace, name);
    all.iter().filter(needs).collect()
}

/// Those that depend on it directly or through others. Who must go first comes first.
pub(super) fn in_order<'a>(all: &'a [Plugin], namespace: &str, name: &str) -> Vec<&'a Plugin> {
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

/// Whether it is on, or something of it is left.
fn is_on(plugin: &Plugin) -> bool {
    let is_going = plugin.metadata.deletion_timestamp.is_some();
    let is_off = plugin.is_observed() && plugin.phase() == Phase::Disabled;
    (plugin.spec.enabled && !is_going) || !is_off && plugin.status.is_some() && !is_going
}

/// `namespace/name` of each, for people.
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

    fn plugin(name: &str, needs: &[&str], enabled: bool) -> Plugin {
        let dependencies: Vec<_> = needs.iter().map(|name| json!({"name": name})).collect();
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"enabled": enabled, "dependencies": dependencies},
        }))
        .unwrap()
    }

    #[test]
    fn those_on_top_of_a_diamond_go_first_and_once() {
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
            names(&in_order(&all, "default", "base")),
            "default/top, default/left, default/right"
        );
        assert_eq!(names(&in_order(&all, "default", "top")), "");
    }

    #[test]
    fn a_circle_ends() {
        let all = [plugin("a", &["b"], true), plugin("b", &["a"], true)];
        assert_eq!(names(&in_order(&all, "default", "a")), "default/b");
    }
}
