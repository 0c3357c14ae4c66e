//! Cluster roles that gather the rules of others: keeps their rules written.

use std::sync::Arc;

use outrigger_store::watch::WatchEnd;
use outrigger_store::{Object, Resource, Scope, Store};
use serde_json::{Value, json};

use super::service_account::text;
use crate::local::{Local, Patch, Place};

/// Keeps gathered rules up to date until the store closes.
pub async fn run(local: Local, store: Store) {
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
            write_all(&local, &store, &scope).await;
            let end = watcher.next().await.err();
            // One look serves for all that has happened.
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

async fn write_all(local: &Local, store: &Store, scope: &Scope) {
    let roles = read(store.snapshot().list(scope));
    for role in roles
        .iter()
        .filter(|role| !role["aggregationRule"].is_null())
    {
        let rules = gathered(role, &roles);
        if role["rules"].as_array().map_or(&[][..], Vec::as_slice) == rules {
            continue;
        }
        let name = text(&role["metadata"]["name"]);
        let change = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": rules,
        });
        let place = Place::all("rbac.authorization.k8s.io/v1", "clusterroles").named(name);
        if let Err(error) = local.patch(&place, Patch::Apply, &change).await
            && !error.is_not_found()
        {
            tracing::warn!(name, %error, "failed to write gathered rules");
        }
    }
}

fn read<'a>(objects: impl Iterator<Item = &'a Arc<Object>>) -> Vec<Value> {
    let roles = objects.map(|object| serde_json::from_slice(object.bytes()));
    roles.filter_map(Result::ok).collect()
}

/// The rules of all roles that a selector of `role` selects, each once, by selector and name.
fn gathered(role: &Value, roles: &[Value]) -> Vec<Value> {
    let own = &role["metadata"]["name"];
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array();
    let mut rules: Vec<Value> = Vec::new();
    for selector in selectors.into_iter().flatten() {
        let others = roles
            .iter()
            .filter(|other| other["metadata"]["name"] != *own);
        let selected = others.filter(|other| selects(selector, &other["metadata"]["labels"]));
        for rule in selected
            .filter_map(|other| other["rules"].as_array())
            .flatten()
        {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    rules
}

/// An empty selector selects everything.
fn selects(selector: &Value, labels: &Value) -> bool {
    let pairs = selector["matchLabels"].as_object().into_iter().flatten();
    let mut expressions = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten();
    pairs.into_iter().all(|(key, value)| labels[key] == *value)
        && expressions.all(|expression| {
            let found = &labels[text(&expression["key"])];
            let is_in = expression["values"]
                .as_array()
                .is_some_and(|values| values.contains(found));
            match text(&expression["operator"]) {
                "In" => is_in,
                "NotIn" => !is_in,
                "Exists" => !found.is_null(),
                "DoesNotExist" => found.is_null(),
                _ => false,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::super::bootstrap_objects;
    use super::*;

    #[test]
    fn the_roles_of_a_real_server_hold_what_is_gathered() {
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
                Value::from(gathered(role, &roles)),
                "{}",
                role["metadata"]["name"]
            );
            count += 1;
        }
        assert_eq!(count, 3);
    }
}
