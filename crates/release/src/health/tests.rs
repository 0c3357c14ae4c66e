//! Tests of health assessments.

use serde_json::{Value, json};

use super::kstatus::assess_hook;
use super::*;

#[track_caller]
fn check(object: &Value, expected: &str) {
    assert_eq!(assess(object, &Rules::default()).to_string(), expected);
}

const CURRENT: &str = "Current: Resource is current";

fn deployment(spec: &Value, status: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 2}, "spec": spec, "status": status})
}

#[test]
fn a_deployment_is_current_when_all_updated_replicas_are_available() {
    let done = json!({
        "observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
        "conditions": [
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
            {"type": "Available", "status": "True"},
        ],
    });
    let spec = json!({"replicas": 2, "progressDeadlineSeconds": 600});
    check(&deployment(&spec, &done), CURRENT);
    let with = |field: &str, value: Value| {
        let mut status = done.clone();
        status[field] = value;
        deployment(&spec, &status)
    };
    check(
        &with("observedGeneration", json!(1)),
        "InProgress: Deployment generation is 2, but latest observed generation is 1",
    );
    check(&with("replicas", json!(1)), "InProgress: Replicas: 1/2");
    check(
        &with("updatedReplicas", json!(0)),
        "InProgress: Updated: 0/2",
    );
    check(
        &with("replicas", json!(3)),
        "InProgress: Pending termination: 1",
    );
    check(
        &with("availableReplicas", json!(1)),
        "InProgress: Available: 1/2",
    );
    check(&with("readyReplicas", json!(1)), "InProgress: Ready: 1/2");
    check(
        &with("conditions", json!([])),
        "InProgress: ReplicaSet not Available",
    );
    let late =
        json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]);
    check(
        &with("conditions", late),
        "Failed: Progress deadline exceeded",
    );
    check(&deployment(&spec, &json!({})), "InProgress: Replicas: 0/2");
}

#[test]
fn a_deadline_that_was_exceeded_before_the_last_change_of_the_spec_is_no_failure() {
    let late = |time: &str| {
        json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "conditions": [{
            "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "lastUpdateTime": time,
        }]})
    };
    let written = |status: &Value, entry: Value| {
        let mut object = deployment(&json!({"replicas": 2}), status);
        object["metadata"]["managedFields"] = json!([entry]);
        object
    };
    let apply = json!({"manager": "helm", "operation": "Apply", "time": "2026-01-01T00:00:10Z", "fieldsV1": {"f:spec": {}}});
    for before in ["2026-01-01T00:00:09Z", "2026-01-01T00:00:10Z"] {
        check(
            &written(&late(before), apply.clone()),
            "InProgress: Updated: 1/2",
        );
    }
    let failed = "Failed: Progress deadline exceeded";
    check(
        &written(&late("2026-01-01T00:00:11Z"), apply.clone()),
        failed,
    );
    // Neither the status nor the number of replicas starts another rollout.
    for subresource in ["status", "scale"] {
        let mut other = apply.clone();
        other["subresource"] = json!(subresource);
        check(&written(&late("2026-01-01T00:00:09Z"), other), failed);
    }
}

#[test]
fn a_stalled_condition_of_an_earlier_generation_is_no_failure() {
    let stalled = |observed: Value| {
        let condition = json!({"type": "Stalled", "status": "True", "message": "no", "observedGeneration": observed});
        json!({"apiVersion": "e.io/v1", "kind": "Thing", "metadata": {"generation": 2}, "status": {"conditions": [condition]}})
    };
    check(&stalled(json!(1)), "InProgress: no");
    check(&stalled(json!(2)), "Failed: no");
    check(&stalled(Value::Null), "Failed: no");
}

#[test]
fn stateful_sets_and_daemon_sets_wait_for_all_pods() {
    let set = |status: Value| json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"replicas": 1}, "status": status});
    check(&set(json!({})), "InProgress: Replicas: 0/1");
    let mut status = json!({
        "replicas": 1, "readyReplicas": 1, "currentReplicas": 1, "currentRevision": "a", "updateRevision": "b",
    });
    check(
        &set(status.clone()),
        "InProgress: Waiting for updated revision to match current",
    );
    status["updateRevision"] = json!("a");
    check(&set(status), CURRENT);
    let daemon = |status: Value| json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"generation": 1}, "status": status});
    check(
        &daemon(json!({})),
        "InProgress: DaemonSet status.observedGeneration not found",
    );
    let mut status = json!({
        "observedGeneration": 1, "desiredNumberScheduled": 1, "currentNumberScheduled": 1,
        "updatedNumberScheduled": 1, "numberAvailable": 0,
    });
    check(&daemon(status.clone()), "InProgress: Available: 0/1");
    status["numberAvailable"] = json!(1);
    status["numberReady"] = json!(1);
    check(&daemon(status), CURRENT);
}

#[test]
fn pods_volume_claims_services_and_jobs_follow_kstatus() {
    let pod = |status: Value| json!({"apiVersion": "v1", "kind": "Pod", "status": status});
    check(&pod(json!({"phase": "Succeeded"})), CURRENT);
    check(
        &pod(json!({"phase": "Running"})),
        "InProgress: Pod is running but is not Ready",
    );
    let crashing = json!({"phase": "Running", "containerStatuses": [
        {"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
    ]});
    check(&pod(crashing), "Failed: Containers in CrashLoop state: c");
    let claim = |phase: &str| json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": phase}});
    check(&claim("Bound"), CURRENT);
    check(
        &claim("Pending"),
        "InProgress: PVC is not Bound. phase: Pending",
    );
    let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": "LoadBalancer"}});
    check(
        &service,
        "InProgress: ClusterIP not set. Service type: LoadBalancer",
    );
    let job = |status: Value| json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {}, "status": status});
    check(&job(json!({})), "InProgress: Job not started");
    check(&job(json!({"startTime": "t"})), CURRENT);
    let failed = json!({"failed": 1, "conditions": [{"type": "Failed", "status": "True"}]});
    check(&job(failed), "Failed: Job Failed. failed: 1/1");
}

#[test]
fn custom_resources_are_assessed_by_conditions() {
    let boat =
        |status: Value| json!({"apiVersion": "example.com/v1", "kind": "Boat", "status": status});
    check(&boat(json!({})), CURRENT);
    let condition = |kind: &str, status: &str| json!({"conditions": [{"type": kind, "status": status, "message": "m"}]});
    check(&boat(condition("Ready", "True")), CURRENT);
    check(&boat(condition("Ready", "False")), "InProgress: m");
    check(&boat(condition("Reconciling", "True")), "InProgress: m");
    check(&boat(condition("Stalled", "True")), "Failed: m");
    let terminating = json!({"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"deletionTimestamp": "t"}});
    check(&terminating, "Terminating: Resource scheduled for deletion");
}

#[test]
fn crds_must_be_established() {
    let crd = |conditions: Value| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "status": {"conditions": conditions},
        })
    };
    check(&crd(json!([])), "InProgress: Install in progress");
    check(
        &crd(json!([{"type": "Established", "status": "True"}])),
        CURRENT,
    );
    check(
        &crd(json!([{"type": "NamesAccepted", "status": "False", "message": "taken"}])),
        "Failed: taken",
    );
}

#[test]
fn plugins_are_in_progress_until_their_controller_reports_readiness() {
    let plugin = |spec: Value, status: Value| json!({"apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"generation": 1}, "spec": spec, "status": status});
    let observed = "InProgress: generation is 1, but latest observed generation is 0";
    check(&plugin(json!({}), json!({})), observed);
    let status = |phase: &str, ready: &str| {
        json!({"observedGeneration": 1, "phase": phase,
            "conditions": [{"type": "Ready", "status": ready, "message": "m"}]})
    };
    check(&plugin(json!({}), status("Ready", "True")), CURRENT);
    check(
        &plugin(json!({}), status("Waiting", "False")),
        "InProgress: m",
    );
    check(&plugin(json!({}), status("Failed", "False")), "Failed: m");
    check(
        &plugin(json!({"enabled": false}), status("Disabled", "False")),
        CURRENT,
    );
    check(
        &plugin(json!({}), json!({"observedGeneration": 1})),
        "InProgress: no Ready condition yet",
    );
    let theirs = |phase: &str| json!({"apiVersion": "plugins.kubegems.io/v1beta1", "kind": "Plugin", "status": {"phase": phase, "message": "m"}});
    check(&theirs(""), "InProgress: m");
    check(&theirs("Installed"), CURRENT);
    check(&theirs("Failed"), "Failed: m");
}

#[test]
fn hooks_are_current_when_they_complete() {
    let job = |conditions: Value| json!({"apiVersion": "batch/v1", "kind": "Job", "status": {"startTime": "t", "conditions": conditions}});
    assert_eq!(assess_hook(&job(json!([]))).name(), "InProgress");
    let finished = |kind: &str| json!([{"type": kind, "status": "True"}]);
    assert!(assess_hook(&job(finished("Complete"))).is_current());
    assert_eq!(assess_hook(&job(finished("Failed"))).name(), "Failed");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    assert!(assess_hook(&map).is_current());
    let pod = |phase: &str| json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": phase}});
    assert_eq!(assess_hook(&pod("Running")).name(), "InProgress");
    assert_eq!(assess_hook(&pod("Failed")).name(), "Failed");
}

#[test]
fn user_defined_rules_take_precedence() {
    let rule = |healthy: &str| Rule {
        api_version: "example.com/v1".to_owned(),
        kind: "Boat".to_owned(),
        healthy: healthy.to_owned(),
    };
    let rules = Rules::new([rule(
        "self.status.crew >= 2 && self.spec.name.startsWith('p')",
    )])
    .unwrap();
    let boat = |crew: Value| json!({"apiVersion": "example.com/v1", "kind": "Boat", "spec": {"name": "proa"}, "status": {"crew": crew}});
    assert!(assess(&boat(json!(2)), &rules).is_current());
    assert_eq!(assess(&boat(json!(1)), &rules).name(), "InProgress");
    // A missing field is not a failure.
    let new = json!({"apiVersion": "example.com/v1", "kind": "Boat", "spec": {"name": "proa"}});
    assert_eq!(assess(&new, &rules).name(), "InProgress");
    let invalid = Rules::new([rule("self.status.")]).unwrap_err();
    assert!(invalid.to_string().starts_with("health rule for Boat"));
}

#[test]
fn hostile_rules_are_rejected_or_end_by_their_cost() {
    let rule = |healthy: String| {
        Rules::new([Rule {
            api_version: "example.com/v1".to_owned(),
            kind: "Boat".to_owned(),
            healthy,
        }])
    };
    let deep = rule(format!("self{}", ".a".repeat(20_000))).unwrap_err();
    assert!(
        deep.reason.contains("max recursion depth exceeded"),
        "{deep}"
    );
    for healthy in [
        "Foo{a:1}.a == 1",
        "'%.9999999999999999999f'.format([1.0]) == ''",
        "'text'",
    ] {
        assert!(rule(healthy.to_owned()).is_err(), "{healthy}");
    }
    let mut nested = "true".to_owned();
    for i in 0..8 {
        nested = format!("self.items.all(v{i}, {nested})");
    }
    let items: Vec<usize> = (0..100).collect();
    let boat = json!({"apiVersion": "example.com/v1", "kind": "Boat", "items": items});
    let health = assess(&boat, &rule(nested).unwrap());
    assert!(
        health.to_string().contains("actual cost limit exceeded"),
        "{health}"
    );
}

/// kstatus takes these for current; a release with them does not work.
#[test]
fn a_workload_without_available_pods_is_not_current_although_kstatus_says_so() {
    let available = json!({
        "observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2,
    });
    let paused = json!({"paused": true, "replicas": 2});
    check(&deployment(&paused, &available), CURRENT);
    check(
        &deployment(&paused, &json!({"observedGeneration": 2})),
        "InProgress: Deployment is paused. Available: 0/2",
    );
    check(
        &deployment(&json!({"paused": true, "replicas": 0}), &json!({})),
        CURRENT,
    );
    let set = |status: Value| {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "status": status,
            "spec": {"replicas": 1, "updateStrategy": {"type": "OnDelete"}}})
    };
    check(&set(json!({})), "InProgress: Replicas: 0/1");
    check(&set(json!({"replicas": 1})), "InProgress: Ready: 0/1");
    let old =
        json!({"replicas": 1, "readyReplicas": 1, "currentRevision": "a", "updateRevision": "b"});
    check(&set(old), CURRENT);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {
        "phase": "Failed", "reason": "Evicted", "message": "The node was low on memory",
    }});
    check(
        &pod,
        "Failed: Pod failed: Evicted: The node was low on memory",
    );
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Failed"}});
    check(&pod, "Failed: Pod failed");
}
