//! The cluster role aggregation controller: combines the rules of the cluster roles that an aggregation rule selects.

use std::collections::HashSet;

use outrigger_builtin::fields::as_text;
use outrigger_builtin::selector::LabelSelector;
use outrigger_store::watch::WatchEnd;
use outrigger_store::{MAX_OBJECT_BYTES, Resource, Scope, Store};
use serde_json::{Value, json};

use crate::loopback::{Client, Patch, ResourcePath};

/// Runs until the store closes.
pub async fn run(client: Client, store: Store) {
    let Ok(resource) = Resource::new("rbac.authorization.k8s.io", "clusterroles") else {
        return;
    };
    let scope = Scope::resource(&resource);
    loop {
        let revision = store.revision();
        let Ok(mut watcher) = store.watch(scope.clone(), revision) else {
            continue;
        };
        loop {
            sync_all(&client, &store, &scope).await;
            let end = watcher.next().await.err();
            // One pass handles all pending events.
            let end = end.or_else(|| {
                loop {
                    match watcher.ready() {
                        Ok(Some(_)) => {}
                        Ok(None) => return None,
                        Err(end) => return Some(end),
                    }
                }
            });
            match end {
                None => {}
                Some(WatchEnd::Overflow) => break,
                Some(WatchEnd::Closed) => return,
            }
        }
    }
}

async fn sync_all(client: &Client, store: &Store, scope: &Scope) {
    let roles: Vec<Value> = store.snapshot().values(scope).collect();
    for role in roles
        .iter()
        .filter(|role| !role["aggregationRule"].is_null())
    {
        // The task can be stopped here.
        tokio::task::yield_now().await;
        let name = as_text(&role["metadata"]["name"]);
        let Some(rules) = aggregated_rules(role, &roles) else {
            tracing::warn!(name, "the aggregated rules are too large for an object");
            continue;
        };
        if role["rules"].as_array().map_or(&[][..], Vec::as_slice) == rules {
            continue;
        }
        let change = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": rules,
        });
        let path = ResourcePath::all("rbac.authorization.k8s.io/v1", "clusterroles").named(name);
        if let Err(error) = client.patch(&path, Patch::Apply, &change).await
            && !error.is_not_found()
        {
            tracing::warn!(name, %error, "failed to update aggregated rules");
        }
    }
}

/// The rules of the selected roles without duplicates, in order of selector and name; none if they are larger than an
/// object may be.
fn aggregated_rules(role: &Value, roles: &[Value]) -> Option<Vec<Value>> {
    let own = &role["metadata"]["name"];
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array();
    let mut rules: Vec<Value> = Vec::new();
    let (mut seen, mut size) = (HashSet::new(), 0_usize);
    for selector in selectors.into_iter().flatten() {
        let others = roles
            .iter()
            .filter(|other| other["metadata"]["name"] != *own);
        let selector = LabelSelector::of_object(selector);
        let selected = others.filter(|other| {
            let labels = other["metadata"]["labels"].as_object();
            selector
                .as_ref()
                .is_some_and(|selector| selector.matches(labels))
        });
        for rule in selected
            .filter_map(|other| other["rules"].as_array())
            .flatten()
        {
            if seen.insert(rule) {
                size = size.saturating_add(rule.to_string().len());
                if size > MAX_OBJECT_BYTES {
                    return None;
                }
                rules.push(rule.clone());
            }
        }
    }
    Some(rules)
}

#[cfg(test)]
mod tests {
    use super::super::bootstrap_objects;
    use super::*;

    #[test]
    fn the_bootstrap_roles_have_their_aggregated_rules() {
        let roles: Vec<Value> = bootstrap_objects()
            .into_iter()
            .filter(|object| object["kind"] == "ClusterRole")
            .collect();
        let mut count = 0;
        for role in roles
            .iter()
            .filter(|role| !role["aggregationRule"].is_null())
        {
            assert_eq!(
                role["rules"],
                Value::from(aggregated_rules(role, &roles).unwrap()),
                "{}",
                role["metadata"]["name"]
            );
            count += 1;
        }
        assert_eq!(count, 3);
    }

    #[test]
    fn aggregated_rules_are_unique_and_limited() {
        let selector = json!({"matchLabels": {"a": "b"}});
        let gathering = json!({
            "metadata": {"name": "all"}, "aggregationRule": {"clusterRoleSelectors": [selector, selector]},
        });
        let role = |name: &str, rules: Vec<Value>| json!({"metadata": {"name": name, "labels": {"a": "b"}}, "rules": rules});
        let rules = |from: usize, to: usize| -> Vec<Value> {
            let resource = |i: usize| format!("resource-{i:01000}");
            let rules = (from..to).map(|i| json!({"verbs": ["get"], "resources": [resource(i)]}));
            rules.collect()
        };
        let small = [role("c", rules(0, 20)), role("d", rules(10, 30))];
        assert_eq!(aggregated_rules(&gathering, &small), Some(rules(0, 30)));
        let large = [role("c", rules(0, 5_000)), role("d", rules(5_000, 10_000))];
        assert_eq!(aggregated_rules(&gathering, &large), None);
    }
}
