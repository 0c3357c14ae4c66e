//! Which events enqueue which plugins.

use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::plugin::{ClusterReference, Dependency, FINALIZER, PluginSpec};

use super::*;

fn plugin(name: &str, version: u64, dependencies: &[&str]) -> Plugin {
    let spec = PluginSpec {
        enabled: true,
        dependencies: dependencies
            .iter()
            .map(|name| Dependency {
                name: (*name).to_owned(),
                ..Dependency::default()
            })
            .collect(),
        ..PluginSpec::default()
    };
    let mut plugin = Plugin::new(name, spec);
    plugin.metadata.namespace = Some("default".to_owned());
    plugin.metadata.uid = Some(name.to_owned());
    plugin.metadata.generation = Some(1);
    plugin.metadata.resource_version = Some(version.to_string());
    plugin
}

fn ready(mut plugin: Plugin) -> Plugin {
    plugin.status = Some(PluginStatus {
        observed_generation: Some(1),
        phase: Phase::Ready,
        conditions: vec![Condition {
            kind: READY.to_owned(),
            status: ConditionStatus::True,
            reason: "Ready".to_owned(),
            message: String::new(),
            last_transition_time: String::new(),
            observed_generation: Some(1),
        }],
        ..PluginStatus::default()
    });
    plugin
}

#[track_caller]
fn check(enqueued: &Enqueued, expected: &[&str]) {
    let names: Vec<&str> = enqueued.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(names, expected);
}

fn key(name: &str) -> Key {
    Key::new("default", name)
}

fn object(api_version: &str, kind: &str, name: &str) -> InventoryEntry {
    InventoryEntry {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: Some("default".to_owned()),
        name: name.to_owned(),
        keep: false,
        fields: None,
    }
}

#[test]
fn a_plugin_that_becomes_ready_enqueues_its_dependents_and_not_itself() {
    let mut index = Index::default();
    check(&index.apply(plugin("db", 1, &[])), &["db"]);
    check(&index.apply(plugin("web", 2, &["db"])), &["web"]);
    check(&index.apply(ready(plugin("db", 3, &[]))), &["web"]);
    check(&index.apply(ready(plugin("db", 4, &[]))), &[]);
}

#[test]
fn older_versions_are_ignored() {
    let mut index = Index::default();
    index.apply(ready(plugin("db", 3, &[])));
    check(&index.apply(plugin("db", 2, &[])), &[]);
    assert_eq!(index.plugin(&key("db")).unwrap().phase(), Phase::Ready);
}

#[test]
fn creating_or_deleting_a_dependency_enqueues_its_dependents() {
    let mut index = Index::default();
    index.apply(plugin("web", 1, &["db"]));
    check(&index.apply(plugin("db", 2, &[])), &["db", "web"]);
    check(&index.delete(&key("db")), &["web"]);
}

#[test]
fn removing_a_dependent_enqueues_its_dependencies() {
    let mut index = Index::default();
    index.apply(plugin("db", 1, &[]));
    let mut web = plugin("web", 2, &["db"]);
    web.finalizers_mut().push(FINALIZER.to_owned());
    index.apply(web.clone());
    let observed = index.observe(&key("db"), Instant::now()).unwrap();
    assert_eq!(observed.dependents.len(), 1);
    web.spec.enabled = false;
    web.metadata.generation = Some(2);
    web.metadata.resource_version = Some("3".to_owned());
    index.apply(web.clone());
    let observed = index.observe(&key("db"), Instant::now()).unwrap();
    assert!(observed.dependents[0].is_removing);
    web.finalizers_mut().clear();
    web.metadata.resource_version = Some("4".to_owned());
    check(&index.apply(web), &["db", "web"]);
    let observed = index.observe(&key("db"), Instant::now()).unwrap();
    assert!(observed.dependents.is_empty());
}

#[test]
fn a_cycle_enqueues_all_its_members() {
    let mut index = Index::default();
    index.apply(plugin("a", 1, &["b"]));
    index.apply(plugin("b", 2, &["c"]));
    check(&index.apply(plugin("c", 3, &["a"])), &["a", "b", "c"]);
    let observed = index.observe(&key("b"), Instant::now()).unwrap();
    assert_eq!(
        graph::cycle_text(&observed.cycle.unwrap()),
        "b -> c -> a -> b"
    );
}

#[test]
fn a_child_enqueues_its_parent_which_counts_it() {
    let mut index = Index::default();
    let mut parent = plugin("all", 1, &[]);
    parent.status = Some(PluginStatus {
        inventory: vec![object("outrigger.dev/v1beta1", "Plugin", "db")],
        ..PluginStatus::default()
    });
    index.apply(parent);
    let observed = index.observe(&key("all"), Instant::now()).unwrap();
    assert_eq!(observed.objects.unhealthy[0].message, "is missing");
    let mut child = plugin("db", 2, &[]);
    let annotations = child.annotations_mut();
    annotations.insert(RELEASE_NAME.to_owned(), "all".to_owned());
    annotations.insert(RELEASE_NAMESPACE.to_owned(), "default".to_owned());
    check(&index.apply(child.clone()), &["all", "db"]);
    let observed = index.observe(&key("all"), Instant::now()).unwrap();
    assert_eq!(observed.objects.unhealthy[0].message, "is Pending");
    child.metadata.resource_version = Some("3".to_owned());
    check(&index.apply(ready(child)), &["all"]);
    let observed = index.observe(&key("all"), Instant::now()).unwrap();
    assert!(observed.objects.unhealthy.is_empty());
    assert_eq!(
        observed.status.children,
        BTreeMap::from([("Ready".to_owned(), 1)])
    );
}

#[test]
fn a_recreated_plugin_starts_with_a_new_retry_state() {
    let mut index = Index::default();
    index.apply(plugin("db", 1, &[]));
    let retry = RetryState {
        transient_failures: 3,
        ..RetryState::default()
    };
    assert!(index.store(
        &key("db"),
        Some("db"),
        None,
        Some(PluginStatus::default()),
        retry
    ));
    let mut recreated = plugin("db", 2, &[]);
    recreated.metadata.uid = Some("another".to_owned());
    check(&index.apply(recreated), &["db"]);
    let observed = index.observe(&key("db"), Instant::now()).unwrap();
    assert_eq!(observed.retry.transient_failures, 0);
}

#[test]
fn the_outcome_for_a_deleted_plugin_does_not_apply_to_one_created_under_its_name() {
    let mut index = Index::default();
    let retry = RetryState {
        transient_failures: 3,
        ..RetryState::default()
    };
    index.apply(plugin("db", 1, &[]));
    index.delete(&key("db"));
    assert!(!index.store(&key("db"), Some("db"), None, None, retry.clone()));
    let mut recreated = plugin("db", 2, &[]);
    recreated.metadata.uid = Some("another".to_owned());
    index.apply(recreated);
    assert!(!index.store(&key("db"), Some("db"), None, None, retry));
    let observed = index.observe(&key("db"), Instant::now()).unwrap();
    assert_eq!(observed.retry.transient_failures, 0);
}

#[test]
fn a_plugin_recreated_with_the_same_generation_has_its_own_dependencies() {
    let mut index = Index::default();
    index.apply(plugin("db", 1, &[]));
    index.apply(plugin("cache", 2, &[]));
    index.apply(plugin("web", 3, &["db"]));
    let mut recreated = plugin("web", 4, &["cache"]);
    recreated.metadata.uid = Some("another".to_owned());
    index.apply(recreated);
    check(&index.apply(ready(plugin("cache", 5, &[]))), &["web"]);
    check(&index.apply(ready(plugin("db", 6, &[]))), &[]);
}

#[test]
fn the_first_list_of_a_kind_enqueues_plugins_whose_objects_are_not_in_it() {
    let mut index = Index::default();
    for (name, kind) in [("db", "ConfigMap"), ("web", "Secret")] {
        let mut plugin = ready(plugin(name, 1, &[]));
        let inventory = vec![object("v1", kind, name)];
        plugin.status.as_mut().unwrap().inventory = inventory;
        index.apply(plugin);
    }
    let kind = Kind::of(&object("v1", "ConfigMap", "db"));
    check(&index.finish_listing(&ClusterRef::Local, &kind), &["db"]);
    let observed = index.observe(&key("db"), Instant::now()).unwrap();
    assert_eq!(observed.objects.unhealthy[0].message, "is missing");
}

fn in_site(name: &str, version: u64, namespace: &str) -> Plugin {
    let mut plugin = plugin(name, version, &[]);
    plugin.metadata.namespace = Some(namespace.to_owned());
    plugin.metadata.uid = Some(format!("{namespace}-{name}"));
    plugin.spec.install_namespace = Some("default".to_owned());
    plugin.spec.cluster = Some(ClusterReference {
        name: Some("site".to_owned()),
        ..ClusterReference::default()
    });
    plugin
}

/// A cluster that allows plugins of the namespace `default`.
fn site(phase: &str) -> NamedCluster {
    let cluster = serde_json::json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "site"}, "spec": {},
        "status": {"phase": phase, "version": "1", "kubeconfigSecretRef": {"name": "a", "namespace": "default"}},
    });
    NamedCluster::of(&serde_json::from_value(cluster).unwrap())
}

#[test]
fn a_plugin_that_its_cluster_refuses_does_not_own_a_release() {
    let mut index = Index::default();
    let refused = Key::new("another", "web");
    let owner = |index: &mut Index| {
        index.elect_release_owner(&refused);
        let observed = index.observe(&refused, Instant::now());
        observed.unwrap().release_owner
    };
    index.apply(in_site("web", 1, "another"));
    index.apply(in_site("web", 2, "default"));
    // Whether it is refused is not known before the cluster is.
    assert_eq!(owner(&mut index), Some(refused.clone()));
    index.set_cluster("site", Some(site("Running")));
    assert_eq!(owner(&mut index), Some(key("web")));
}

#[test]
fn a_cluster_that_changes_enqueues_the_plugins_that_target_it() {
    let mut index = Index::default();
    index.apply(plugin("db", 1, &[]));
    let web = in_site("web", 2, "default");
    index.apply(web.clone());
    assert!(index.references.watch_scopes().is_empty());
    assert!(index.unavailable(&web).is_some());
    check(&index.set_cluster("other", Some(site("Running"))), &[]);
    check(&index.set_cluster("site", Some(site("Running"))), &["web"]);
    assert_eq!(index.unavailable(&web), None);
    // Its Secret is watched.
    assert_eq!(index.references.watch_scopes().len(), 1);
    // The phase of a cluster with a kubeconfig does not matter.
    check(&index.set_cluster("site", Some(site("Upgrading"))), &[]);
    check(&index.set_cluster("site", None), &["web"]);
    assert!(index.references.watch_scopes().is_empty());
}
