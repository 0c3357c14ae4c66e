//! Compares objects of many built-in kinds with those created and applied on a real server.

use std::collections::BTreeMap;
use std::sync::Arc;

use outrigger_apimachinery::GroupVersion;
use outrigger_structural::go_types;
use outrigger_structural::merge::{FieldManager, Kind, Writer, reset_fields};
use outrigger_structural::schema::builtin;
use serde_json::Value;

fn cases() -> Vec<Value> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kinds.json");
    serde_json::from_str(&fs_err::read_to_string(file).unwrap()).unwrap()
}

fn manager(case: &Value) -> FieldManager {
    let (api_version, kind) = names(case);
    let schema = builtin::schema(api_version, kind).unwrap().clone();
    let versioned = Kind {
        api_version: api_version.to_owned(),
        name: kind.to_owned(),
        schemas: BTreeMap::from([(api_version.to_owned(), schema)]),
    };
    FieldManager::new(Arc::new(versioned), "", reset_fields::of_built_in(kind, ""))
}

fn names(case: &Value) -> (&str, &str) {
    (
        case["apiVersion"].as_str().unwrap(),
        case["kind"].as_str().unwrap(),
    )
}

fn writer(object: &Value) -> Writer<'_> {
    let now = object["metadata"]["managedFields"][0]["time"]
        .as_str()
        .unwrap();
    Writer { manager: "m", now }
}

#[test]
fn recorded_objects_are_normalized() {
    for case in cases() {
        let (api_version, kind) = names(&case);
        let id = go_types::of_kind(GroupVersion::parse(api_version), kind).unwrap();
        for real in [&case["created"], &case["applied"]] {
            let mut ours = real.clone();
            assert_eq!(
                go_types::decode(id, &mut ours.clone()),
                Ok(vec![]),
                "{kind}"
            );
            go_types::normalize(id, &mut ours);
            assert_eq!(ours, *real, "{kind}");
        }
    }
}

#[test]
fn apply_owns_the_applied_fields() {
    for case in cases() {
        let real = &case["applied"];
        let ours = manager(&case)
            .apply(None, &case["body"], writer(real), false)
            .unwrap();
        assert_eq!(
            ours["metadata"]["managedFields"], real["metadata"]["managedFields"],
            "{}",
            case["kind"]
        );
    }
}

#[test]
fn create_owns_sent_and_defaulted_fields() {
    for case in cases() {
        let real = &case["created"];
        let ours = manager(&case).update(None, before_admission(real), writer(real));
        assert_eq!(
            ours["metadata"]["managedFields"], real["metadata"]["managedFields"],
            "{}",
            case["kind"]
        );
    }
}

/// The object before the server sets fields that no manager owns.
fn before_admission(created: &Value) -> Value {
    let mut object = created.clone();
    let mut drop = |path: &[&str]| {
        let (last, parents) = path.split_last().unwrap();
        let parent = parents
            .iter()
            .try_fold(&mut object, |object, name| object.get_mut(*name));
        if let Some(Value::Object(fields)) = parent {
            fields.remove(*last);
        }
    };
    drop(&["metadata", "managedFields"]);
    match created["kind"].as_str().unwrap() {
        "Pod" => {
            drop(&["spec", "priority"]);
            drop(&["spec", "preemptionPolicy"]);
        }
        "PersistentVolume" | "PersistentVolumeClaim" => drop(&["metadata", "finalizers"]),
        "Namespace" => drop(&["spec", "finalizers"]),
        "Job" => {
            drop(&["spec", "selector"]);
            for labels in [&["metadata"][..], &["spec", "template", "metadata"]] {
                for name in [
                    "batch.kubernetes.io/controller-uid",
                    "batch.kubernetes.io/job-name",
                    "controller-uid",
                    "job-name",
                ] {
                    drop(&[labels, &["labels", name]].concat());
                }
            }
        }
        _ => {}
    }
    object
}
