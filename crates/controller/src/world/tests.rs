//! Who is woken by what.

use outrigger_api::condition::{Condition, Truth};
use outrigger_api::plugin::{Dependency, FINALIZER, PluginSpec};

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
            status: Truth::True,
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
fn check(woken: &Woken, expected: &[&str]) {
    let names: Vec<&str> = woken.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(names, expected);
}

fn key(name: &str) -> Key {
    Key::new("default", name)
}

#[test]
fn a_plugin_that_becomes_ready_wakes_its_dependants_and_not_itself() {
    let mut world = World::default();
    check(&world.apply(plugin("db", 1, &[])), &["db"]);
    check(&world.apply(plugin("web", 2, &["db"])), &["web"]);
    check(&world.apply(ready(plugin("db", 3, &[]))), &["web"]);
    check(&world.apply(ready(plugin("db", 4, &[]))), &[]);
}

#[test]
fn older_states_are_ignored() {
    let mut world = World::default();
    world.apply(ready(plugin("db", 3, &[])));
    check(&world.apply(plugin("db", 2, &[])), &[]);
    assert_eq!(world.plugin(&key("db")).unwrap().phase(), Phase::Ready);
}

#[test]
fn a_dependency_that_appears_or_goes_wakes_its_dependants() {
    let mut world = World::default();
    world.apply(plugin("web", 1, &["db"]));
    check(&world.apply(plugin("db", 2, &[])), &["db", "web"]);
    check(&world.delete(&key("db")), &["web"]);
}

#[test]
fn a_dependant_that_goes_wakes_what_it_depends_on() {
    let mut world = World::default();
    world.apply(plugin("db", 1, &[]));
    let mut web = plugin("web", 2, &["db"]);
    web.finalizers_mut().push(FINALIZER.to_owned());
    world.apply(web.clone());
    let facts = world.facts(&key("db"), Instant::now()).unwrap();
    assert_eq!(facts.dependants.len(), 1);
    web.spec.enabled = false;
    web.metadata.generation = Some(2);
    web.metadata.resource_version = Some("3".to_owned());
    world.apply(web.clone());
    let facts = world.facts(&key("db"), Instant::now()).unwrap();
    assert!(facts.dependants[0].is_going);
    web.finalizers_mut().clear();
    web.metadata.resource_version = Some("4".to_owned());
    check(&world.apply(web), &["db", "web"]);
    let facts = world.facts(&key("db"), Instant::now()).unwrap();
    assert!(facts.dependants.is_empty());
}

#[test]
fn a_cycle_wakes_all_of_its_members() {
    let mut world = World::default();
    world.apply(plugin("a", 1, &["b"]));
    world.apply(plugin("b", 2, &["c"]));
    check(&world.apply(plugin("c", 3, &["a"])), &["a", "b", "c"]);
    let facts = world.facts(&key("b"), Instant::now()).unwrap();
    assert_eq!(graph::cycle_text(&facts.cycle.unwrap()), "b -> c -> a -> b");
}

#[test]
fn a_child_wakes_its_parent_and_is_summed_up() {
    let mut world = World::default();
    let mut parent = plugin("all", 1, &[]);
    parent.status = Some(PluginStatus {
        inventory: vec![InventoryEntry {
            api_version: "outrigger.dev/v1beta1".to_owned(),
            kind: "Plugin".to_owned(),
            namespace: Some("default".to_owned()),
            name: "db".to_owned(),
            keep: false,
            fields: None,
        }],
        ..PluginStatus::default()
    });
    world.apply(parent);
    let facts = world.facts(&key("all"), Instant::now()).unwrap();
    assert_eq!(facts.objects.unhealthy[0].why, "is gone");
    let mut child = plugin("db", 2, &[]);
    let annotations = child.annotations_mut();
    annotations.insert(RELEASE_NAME.to_owned(), "all".to_owned());
    annotations.insert(RELEASE_NAMESPACE.to_owned(), "default".to_owned());
    check(&world.apply(child.clone()), &["all", "db"]);
    let facts = world.facts(&key("all"), Instant::now()).unwrap();
    assert_eq!(facts.objects.unhealthy[0].why, "is Pending");
    child.metadata.resource_version = Some("3".to_owned());
    check(&world.apply(ready(child)), &["all"]);
    let facts = world.facts(&key("all"), Instant::now()).unwrap();
    assert!(facts.objects.unhealthy.is_empty());
    assert_eq!(
        facts.status.children,
        BTreeMap::from([("Ready".to_owned(), 1)])
    );
}

#[test]
fn a_plugin_made_anew_forgets_the_tries_of_the_old_one() {
    let mut world = World::default();
    world.apply(plugin("db", 1, &[]));
    let tries = Tries {
        unanswered: 3,
        ..Tries::default()
    };
    world.remember(&key("db"), Some(PluginStatus::default()), tries);
    let mut anew = plugin("db", 2, &[]);
    anew.metadata.uid = Some("another".to_owned());
    check(&world.apply(anew), &["db"]);
    let facts = world.facts(&key("db"), Instant::now()).unwrap();
    assert_eq!(facts.tries.unanswered, 0);
}
