//! Objects as they were sent to a real server, and as it answered.

use std::collections::VecDeque;

use outrigger_apimachinery::GroupVersion;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::kinds::{Kinds, Registry, convert};
use crate::prepare::admission::{self, Priority, Surroundings};
use crate::prepare::service::{self, Allocator};
use crate::prepare::{self, Creation, User};

const TYPES: &str = include_str!("../../tests/data/types.jsonl");
const CASES: &str = include_str!("../../tests/data/defaults.jsonl");

/// Gives what the real server gave.
struct Recorded<'a> {
    answer: &'a Value,
    ports: VecDeque<i64>,
}

impl Allocator for Recorded<'_> {
    fn next_address(&mut self) -> Result<String, String> {
        let address = self.answer["spec"]["clusterIP"].as_str();
        Ok(address.unwrap_or_default().to_owned())
    }

    fn take_address(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn next_port(&mut self) -> Result<i64, String> {
        self.ports.pop_front().ok_or_else(String::new)
    }

    fn take_port(&mut self, _: i64) -> Result<(), String> {
        Ok(())
    }

    fn release_address(&mut self, _: &str) {}

    fn release_port(&mut self, _: i64) {}
}

struct Cluster<'a>(&'a Value);

impl Surroundings for Cluster<'_> {
    fn priority_class(&self, name: &str) -> Option<Priority> {
        Some(Priority {
            class: name.to_owned(),
            value: 2_000_000_000,
            preemption_policy: "PreemptLowerPriority".to_owned(),
        })
    }

    fn default_priority_class(&self) -> Option<Priority> {
        None
    }

    fn service_account(&self, _: &str, _: &str) -> Option<Value> {
        Some(json!({}))
    }

    fn default_storage_class(&self) -> Option<String> {
        None
    }

    fn default_ingress_class(&self) -> Option<String> {
        None
    }

    fn random_suffix(&self) -> String {
        let volumes = self.0["spec"]["volumes"].as_array();
        let names = volumes.into_iter().flatten().map(|volume| &volume["name"]);
        names
            .filter_map(|name| name.as_str()?.strip_prefix("kube-api-access-"))
            .map(str::to_owned)
            .next()
            .unwrap_or_default()
    }
}

fn kind_of<'a>(kinds: &'a Kinds, object: &Value) -> &'a Kind {
    let version = GroupVersion::parse(object["apiVersion"].as_str().unwrap());
    let kind = object["kind"].as_str().unwrap();
    kinds.kind(version.group, version.version, kind).unwrap()
}

/// All that is done with an object before it is stored and sent back.
fn created(kind: &Kind, sent: &Value, answer: &Value) -> Value {
    let mut object = sent.clone();
    complete(kind, &mut object).unwrap();
    object["metadata"]["name"] = answer["metadata"]["name"].clone();
    if kind.namespaced {
        object["metadata"]["namespace"] = answer["metadata"]["namespace"].clone();
    }
    let cluster = Cluster(answer);
    admission::admit(kind, &mut object, "def", &cluster).unwrap();
    let text = |key: &str| answer["metadata"][key].as_str().unwrap();
    let groups = ["system:masters", "system:authenticated"].map(str::to_owned);
    let creation = Creation {
        now: text("creationTimestamp"),
        uid: text("uid"),
        user: User {
            name: "admin",
            uid: "admin",
            groups: &groups,
        },
    };
    prepare::create(kind, &mut object, &creation);
    if kind.kind == "Service" {
        let given = service::ports(sent);
        let mut ports = service::ports(answer);
        ports.retain(|port| !given.contains(port));
        ports.sort_by_key(|port| place_of_port(answer, *port));
        let mut allocator = Recorded {
            answer,
            ports: ports.into(),
        };
        service::allocate(&mut object, None, &mut allocator).unwrap();
    }
    forget_empty_lists(kind, &mut object, &Value::Null);
    convert::to_storage(kind, &mut object);
    convert::from_storage(kind, &mut object);
    object
}

/// Ports are given out in the order in which a Service lists them, the one for health checks last.
fn place_of_port(service: &Value, port: i64) -> usize {
    let ports = service["spec"]["ports"].as_array().unwrap();
    let place = ports.iter().position(|other| other["nodePort"] == port);
    place.unwrap_or(usize::MAX)
}

/// Differences that are meant or accepted; see the documentation of each module.
fn without_known_differences(mut object: Value) -> Value {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        if kind.starts_with("PersistentVolume") || kind == "VolumeAttributesClass" {
            // No finalizers that protect volumes: nobody would remove them.
            metadata.remove("finalizers");
        }
        if kind == "Job" && metadata["name"] == "job" {
            // Labels that a Job takes from its template are the same map there, so that generated ones appear twice.
            metadata.remove("labels");
        }
    }
    object
}

#[test]
fn objects_come_back_as_from_the_real_server() {
    let kinds = Registry::default().snapshot();
    let mut count = 0;
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let kind = kind_of(&kinds, &case["in"]);
        let ours = created(kind, &case["in"], &case["out"]);
        assert_eq!(
            without_known_differences(ours),
            without_known_differences(case["out"].clone()),
            "{}",
            case["in"]
        );
        count += 1;
    }
    assert_eq!(count, 158);
}

#[test]
fn wrong_types_and_unknown_fields_are_refused_in_the_words_of_the_real_server() {
    let kinds = Registry::default().snapshot();
    for line in TYPES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let kind = kind_of(&kinds, &case["object"]);
        let status = match complete(kind, &mut case["object"].clone()) {
            Ok(unknown) => unknown_fields(kind, &unknown),
            Err(error) => wrong_type(kind, &error),
        };
        assert_eq!(status.message, case["message"], "{}", case["object"]);
    }
}

#[test]
fn completing_twice_changes_nothing() {
    let kinds = Registry::default().snapshot();
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let kind = kind_of(&kinds, &case["in"]);
        let mut object = case["out"].clone();
        let unknown = complete(kind, &mut object).unwrap();
        assert_eq!(object, case["out"]);
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn no_object_breaks_it(text in "\\PC{0,20}", number in any::<i64>()) {
        let kinds = Registry::default().snapshot();
        for kind in kinds.iter() {
            for value in [json!(text), json!(number), json!([number]), json!({text.clone(): number})] {
                let mut object = json!({
                    "metadata": value, "spec": value, "data": value, "status": value, "rules": value,
                });
                let _ = complete(kind, &mut object);
                let creation = Creation { now: "", uid: "", user: User::default() };
                prepare::create(kind, &mut object, &creation);
                let old = object.clone();
                prepare::update(kind, &mut object, &old);
                prepare::update_status(kind, &mut object, &old, "");
            }
        }
    }
}
