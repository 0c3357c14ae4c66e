//! Compares the registry with what a real server made of the same definitions.

use outrigger_apimachinery::GroupVersion;
use serde_json::{Value, json};

use super::*;

const DEFINITIONS: &str = include_str!("../../tests/data/definitions.jsonl");

fn definitions() -> Vec<Value> {
    let lines = DEFINITIONS.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn without_times(mut definition: Value) -> Value {
    for condition in definition["status"]["conditions"].as_array_mut().unwrap() {
        condition["lastTransitionTime"] = Value::Null;
    }
    definition
}

#[test]
fn definition_status_matches_the_real_server() {
    let registry = Registry::default();
    for real in definitions() {
        let mut ours = real.clone();
        ours.as_object_mut().unwrap().remove("status");
        registry.accept(&mut ours, "2026-01-01T00:00:00Z");
        registry.install(&ours);
        let name = real["metadata"]["name"].clone();
        assert_eq!(without_times(ours), without_times(real), "{name}");
    }
    assert_eq!(
        registry.unsatisfied("stable.example.com"),
        ["sprockets.stable.example.com"]
    );
}

#[test]
fn accepts_a_name_after_its_owner_is_removed() {
    let registry = Registry::default();
    let mut all = definitions();
    for definition in &all {
        registry.install(definition);
    }
    registry.remove("gadgets.stable.example.com");
    registry.remove("widgets.stable.example.com");
    let sprockets = all.last_mut().unwrap();
    registry.accept(sprockets, "2026-01-01T00:00:00Z");
    registry.install(sprockets);
    let kinds = registry.snapshot();
    let kind = kinds.kind("stable.example.com", "v1", "Gadget").unwrap();
    assert_eq!(kind.plural, "sprockets");
    assert_eq!(kind.short_names, ["wd", "spr"]);
    assert!(registry.unsatisfied("stable.example.com").is_empty());
}

#[test]
fn a_conflicting_new_name_keeps_a_definition_established() {
    let registry = Registry::default();
    for definition in definitions() {
        registry.install(&definition);
    }
    let mut widgets = definitions().remove(0);
    widgets["spec"]["names"]["shortNames"] = json!(["wd", "gadgets"]);
    registry.accept(&mut widgets, "2026-01-01T00:00:00Z");
    let status = &widgets["status"];
    assert_eq!(status["acceptedNames"]["shortNames"], json!(["wd", "wdg"]));
    assert_eq!(status["conditions"][0]["reason"], "ShortNamesConflict");
    assert_eq!(status["conditions"][1]["status"], "True");
}

#[test]
fn names_of_built_in_kinds_are_not_accepted() {
    let registry = Registry::default();
    for (field, name, reason) in [
        ("plural", "leases", "PluralConflict"),
        ("singular", "lease", "SingularConflict"),
        ("kind", "Lease", "KindConflict"),
        ("listKind", "LeaseList", "ListKindConflict"),
    ] {
        let mut definition = json!({
            "metadata": {"name": "boats.coordination.k8s.io"},
            "spec": {
                "group": "coordination.k8s.io", "scope": "Namespaced",
                "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
                "versions": [{"name": "v9", "served": true, "storage": true}],
            },
        });
        definition["spec"]["names"][field] = name.into();
        registry.accept(&mut definition, "2026-01-01T00:00:00Z");
        assert_eq!(definition["status"]["conditions"][0]["reason"], reason);
        registry.install(&definition);
        assert!(
            registry
                .snapshot()
                .version("coordination.k8s.io", "v9")
                .is_none()
        );
    }
}

#[test]
fn snapshots_are_immutable() {
    let registry = Registry::default();
    let before = registry.snapshot();
    registry.install(&definitions()[0]);
    let after = registry.snapshot();
    assert!(before.group("stable.example.com").is_none());
    assert!(after.group("stable.example.com").is_some());
    assert!(after.revision > before.revision);
}

#[test]
fn finds_kinds_by_resource_and_by_kind() {
    let kinds = Registry::default().snapshot();
    assert_eq!(
        kinds.resource("apps", "v1", "deployments").unwrap().kind,
        "Deployment"
    );
    assert_eq!(kinds.kind("", "v1", "Pod").unwrap().plural, "pods");
    assert!(kinds.resource("apps", "v1beta1", "deployments").is_none());
    assert!(kinds.resource("apps", "v1", "deployment").is_none());
    let autoscaler = kinds.any_version("autoscaling", "HorizontalPodAutoscaler");
    assert_eq!(autoscaler.unwrap().version, "v2");
}

#[test]
fn lists_each_stored_kind_once() {
    let kinds = Registry::default().snapshot();
    let mut keys: Vec<_> = kinds
        .stored()
        .map(|kind| (kind.storage.group.clone(), kind.plural.clone()))
        .collect();
    assert!(keys.contains(&(String::new(), "events".to_owned())));
    assert!(!keys.iter().any(|(_, plural)| plural.ends_with("reviews")));
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
}

#[test]
fn converts_versions_that_are_not_stored() {
    let kinds = Registry::default().snapshot();
    let converted: Vec<_> = kinds
        .iter()
        .filter(|kind| kind.is_converted())
        .map(|kind| kind.api_version())
        .collect();
    assert_eq!(converted, ["events.k8s.io/v1", "autoscaling/v1"]);
}

/// The behavior of a real server for each kind: generation, create on update, unconditional update, and whether the
/// response to a deletion is the object.
#[test]
fn write_and_delete_behavior_matches_the_real_server() {
    let facts: Value = serde_json::from_str(include_str!("../../tests/data/facts.json")).unwrap();
    let kinds = Registry::default().snapshot();
    for (name, facts) in facts.as_object().unwrap() {
        let (version, kind) = name.rsplit_once('/').unwrap();
        let version = GroupVersion::parse(version);
        let kind = kinds.kind(version.group, version.version, kind).unwrap();
        // While dependents are orphaned, or the objects of a definition are deleted, the object still exists.
        let returns_object = kind.deletion.returns_object
            || kind.deletion.orphans_by_default
            || kind.kind == "CustomResourceDefinition";
        let ours = json!([
            kind.writes.generation,
            kind.writes.create_on_update,
            kind.writes.unconditional_update,
            returns_object,
        ]);
        assert_eq!(ours, *facts, "{name}");
    }
}
