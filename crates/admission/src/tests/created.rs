//! Compares what a create stores with the recorded responses of a real server.

use std::collections::VecDeque;

use outrigger_apimachinery::GroupVersion;
use outrigger_builtin::defaults::{complete, forget_empty_lists};
use outrigger_builtin::kinds::{Registry, convert};
use outrigger_builtin::prepare::service::{self, AllocationError, Allocator};
use outrigger_builtin::prepare::{self, Creation, User};
use serde_json::{Value, json};

use crate::*;

const CASES: &str = include_str!("../../../builtin/tests/data/defaults.jsonl");

/// Allocates the address and the ports of a recorded Service.
struct RecordedAllocator {
    address: String,
    ports: VecDeque<i64>,
}

impl Allocator for RecordedAllocator {
    fn next_address(&mut self) -> Result<String, AllocationError> {
        Ok(self.address.clone())
    }

    fn allocate_address(&mut self, _: &str) -> Result<(), AllocationError> {
        Ok(())
    }

    fn next_port(&mut self) -> Result<i64, AllocationError> {
        self.ports.pop_front().ok_or(AllocationError::Full)
    }

    fn allocate_port(&mut self, _: i64) -> Result<(), AllocationError> {
        Ok(())
    }

    fn release_address(&mut self, _: &str) {}

    fn release_port(&mut self, _: i64) {}
}

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

    fn validating_policies(&self) -> Vec<BoundPolicy<ValidatingPolicy>> {
        Vec::new()
    }

    fn mutating_policies(&self) -> Vec<BoundPolicy<MutatingPolicy>> {
        Vec::new()
    }

    fn schema(&self, kind: &Kind) -> Schema {
        let schema = outrigger_structural::schema::builtin::schema(&kind.api_version(), &kind.kind);
        schema.unwrap().clone()
    }

    fn namespace(&self, _: &str) -> Option<Value> {
        None
    }

    fn authorizer(&self, user: User<'_>) -> Arc<dyn Authorizer> {
        Arc::new(super::Reader(user.name.to_owned()))
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
    mutate(&attributes, &mut object, &cluster).unwrap();
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
        let version = GroupVersion::parse(case["in"]["apiVersion"].as_str().unwrap());
        let kind = case["in"]["kind"].as_str().unwrap();
        let kind = kinds.kind(version.group, version.version, kind).unwrap();
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
