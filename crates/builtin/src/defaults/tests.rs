//! Compares completed objects with the recorded responses of a real server.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::admission::{
    self, Attributes, BoundPolicy, ClusterState, Operation, ParamKind, Priority,
};
use crate::kinds::{Registry, convert};
use crate::prepare::service;
use crate::prepare::{self, Creation, User};
use crate::recorded::{RecordedAllocator, kind_of, values};

const TYPES: &str = include_str!("../../tests/data/types.jsonl");
const CASES: &str = include_str!("../../tests/data/defaults.jsonl");

struct Cluster<'a>(&'a Value);

impl ClusterState for Cluster<'_> {
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

    fn runtime_class(&self, _: &str) -> Option<Value> {
        None
    }

    fn limit_ranges(&self, _: &str) -> Vec<Value> {
        Vec::new()
    }

    fn resource_quotas(&self, _: &str) -> Vec<Value> {
        Vec::new()
    }

    fn validating_policies(&self) -> Vec<BoundPolicy> {
        Vec::new()
    }

    fn namespace(&self, _: &str) -> Option<Value> {
        None
    }

    fn is_namespaced(&self, _: ParamKind<'_>) -> Option<bool> {
        Some(true)
    }

    fn params(&self, _: ParamKind<'_>, _: &str) -> Vec<Value> {
        Vec::new()
    }

    fn random_suffix(&self) -> Result<String, Status> {
        let volumes = self.0["spec"]["volumes"].as_array();
        let names = volumes.into_iter().flatten().map(|volume| &volume["name"]);
        let suffix = names
            .filter_map(|name| name.as_str()?.strip_prefix("kube-api-access-"))
            .map(str::to_owned)
            .next();
        Ok(suffix.unwrap_or_default())
    }
}

/// Everything that a create does with an object.
fn created(kind: &Kind, sent: &Value, answer: &Value) -> Value {
    let mut object = sent.clone();
    complete(kind, &mut object).unwrap();
    object["metadata"]["name"] = answer["metadata"]["name"].clone();
    if kind.namespaced {
        object["metadata"]["namespace"] = answer["metadata"]["namespace"].clone();
    }
    let cluster = Cluster(answer);
    let attributes = Attributes {
        kind,
        operation: Operation::Create,
        subresource: "",
        namespace: "def",
        user: User::default(),
        dry_run: false,
    };
    admission::mutate(&attributes, &mut object, &cluster).unwrap();
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
        ports.sort_by_key(|port| position_of_port(answer, *port));
        let address = answer["spec"]["clusterIP"].as_str();
        let mut allocator = RecordedAllocator {
            address: address.unwrap_or_default().to_owned(),
            ports: ports.into(),
        };
        service::allocate(&mut object, None, &mut allocator).unwrap();
    }
    forget_empty_lists(kind, &mut object, &Value::Null);
    convert::to_storage(kind, &mut object);
    convert::from_storage(kind, &mut object);
    object
}

/// Ports are allocated in the order of the Service, the health check port last.
fn position_of_port(service: &Value, port: i64) -> usize {
    let ports = service["spec"]["ports"].as_array().unwrap();
    let position = ports.iter().position(|other| other["nodePort"] == port);
    position.unwrap_or(usize::MAX)
}

/// Removes accepted differences.
fn without_known_differences(mut object: Value) -> Value {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        if kind.starts_with("PersistentVolume") || kind == "VolumeAttributesClass" {
            // Protection finalizers are not added here.
            metadata.remove("finalizers");
        }
        if kind == "Job" && metadata["name"] == "job" {
            // kube-apiserver shares the label map of a Job and its template, so that generated labels appear in both.
            metadata.remove("labels");
        }
    }
    object
}

#[test]
fn created_objects_match_the_real_server() {
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
fn decoding_errors_match_the_real_server() {
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
fn completing_is_idempotent() {
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
    fn never_panics(text in "\\PC{0,20}", number in any::<i64>()) {
        let kinds = Registry::default().snapshot();
        for kind in kinds.iter() {
            for value in values(&text, number) {
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
