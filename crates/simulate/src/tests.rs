//! The reconcile functions together, against a fake server that executes their actions at once.

mod adoption;
mod partition;
mod references;
mod scheduling;
mod volumes;

use serde_json::{Value, json};

use super::cache::{Cache, ObjectRef};
use super::enqueue::objects_to_reconcile;
use super::plan::{Action, Context};
use super::reconcile;
use super::*;

/// Assigns names, uids and resource versions and merges patches. Delayed actions are due when nothing else is left.
struct FakeServer {
    cache: Cache,
    options: Options,
    version: u64,
    /// Created (`+`) and deleted (`-`) objects, in order.
    log: Vec<String>,
    /// Recorded events.
    events: Vec<String>,
    event_names: std::collections::HashSet<String>,
}

fn now() -> Timestamp {
    "2026-11-16T00:00:00Z".parse().unwrap()
}

impl FakeServer {
    fn new() -> Self {
        let mut server = Self {
            cache: Cache::default(),
            options: Options {
                now,
                ..Options::default()
            },
            version: 0,
            log: Vec::new(),
            events: Vec::new(),
            event_names: std::collections::HashSet::new(),
        };
        server.create("nodes", node::new());
        server.log.clear();
        server
    }

    fn apply(&mut self, plural: &'static str, mut object: Value) -> Vec<ObjectRef> {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let id = ObjectRef::of(plural, &object);
        let old = self.cache.get(&id).cloned();
        assert!(self.cache.apply(plural, object));
        objects_to_reconcile(
            &self.cache,
            plural,
            old.as_deref(),
            self.cache.get(&id).map(|new| &**new),
        )
    }

    fn create(&mut self, plural: &'static str, mut object: Value) -> Vec<ObjectRef> {
        let number = self.version + 1;
        let metadata = &mut object["metadata"];
        if let Some(prefix) = metadata["generateName"].as_str()
            && metadata["name"].is_null()
        {
            metadata["name"] = format!("{prefix}{number}").into();
        }
        metadata["uid"] = format!("uid-{number}").into();
        metadata["generation"] = 1.into();
        metadata["creationTimestamp"] = "2026-11-16T00:00:00Z".into();
        self.log.push(format!(
            "+{plural}/{}",
            object["metadata"]["name"].as_str().unwrap()
        ));
        self.apply(plural, object)
    }

    fn change(&mut self, id: &ObjectRef, change: &Value) -> Vec<ObjectRef> {
        let mut object = (**self.cache.get(id).unwrap()).clone();
        merge(&mut object, change);
        if change.get("spec").is_some() {
            let generation = object["metadata"]["generation"].as_i64().unwrap();
            object["metadata"]["generation"] = (generation + 1).into();
        }
        self.apply(id.plural, object)
    }

    fn delete(&mut self, id: &ObjectRef, force: bool) -> Vec<ObjectRef> {
        let object = (**self.cache.get(id).unwrap()).clone();
        let is_bound = id.plural == "pods" && object["spec"]["nodeName"].is_string();
        if is_bound && !force {
            return self.change(
                id,
                &json!({"metadata": {"deletionTimestamp": "2026-11-16T00:00:30Z"}}),
            );
        }
        self.log.push(format!("-{}/{}", id.plural, id.name));
        self.cache.delete(id.plural, &object);
        objects_to_reconcile(&self.cache, id.plural, Some(&object), None)
    }

    fn execute(&mut self, action: Action) -> Vec<ObjectRef> {
        match action {
            Action::Create(plural, object) => self.create(plural, object),
            Action::Patch(id, change) => self.change(&id, &change),
            Action::Status(id, change) => self.change(&id, &json!({"status": change})),
            Action::Annotate(id, annotations) => {
                self.change(&id, &json!({"metadata": {"annotations": annotations}}))
            }
            Action::Bind(id) => {
                let mut pod = (**self.cache.get(&id).unwrap()).clone();
                pod["spec"]["nodeName"] = node::NAME.into();
                self.apply("pods", pod)
            }
            Action::Record(event) => {
                let name = event["metadata"]["name"].as_str();
                self.event_names.extend(name.map(str::to_owned));
                let field = |key: &str| event[key].as_str().unwrap().to_owned();
                self.events
                    .push(format!("{}: {}", field("reason"), field("message")));
                Vec::new()
            }
            Action::Delete(id) => self.delete(&id, false),
            Action::DeleteNow(id) => self.delete(&id, true),
        }
    }

    /// Whether an action records an event that exists.
    fn is_repeated(&self, action: &Action) -> bool {
        let Action::Record(event) = action else {
            return false;
        };
        let name = event["metadata"]["name"].as_str();
        name.is_some_and(|name| self.event_names.contains(name))
    }

    /// Executes one plan after another until nothing is left to do; false if that takes more than `max` plans.
    fn run(&mut self, max: usize) -> bool {
        for _ in 0..max {
            let (mut immediate, mut delayed) = (Vec::new(), Vec::new());
            for (plural, _) in cache::WATCHED {
                let objects: Vec<_> = self.cache.list(plural, "").cloned().collect();
                for object in objects {
                    let ctx = Context {
                        cache: &self.cache,
                        options: &self.options,
                        now: now(),
                        failure: None,
                    };
                    let plan = reconcile::reconcile(plural, &object, &ctx);
                    immediate.push(plan.actions);
                    delayed.extend(plan.delayed.map(|delayed| delayed.actions));
                }
            }
            for actions in &mut immediate {
                actions.retain(|action| !self.is_repeated(action));
            }
            immediate.retain(|actions| !actions.is_empty());
            delayed.retain(|actions| !actions.is_empty());
            let Some(actions) = immediate
                .into_iter()
                .next()
                .or_else(|| delayed.into_iter().next())
            else {
                return true;
            };
            for action in actions {
                self.execute(action);
            }
        }
        false
    }

    fn status(&self, plural: &'static str, name: &str) -> &Value {
        &self.cache.get(&ObjectRef::new(plural, "n", name)).unwrap()["status"]
    }

    fn names(&self, plural: &'static str) -> Vec<String> {
        self.cache
            .list(plural, "n")
            .map(|object| object::name(object).to_owned())
            .collect()
    }
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in fields {
        if value.is_null() {
            if let Some(target) = target.as_object_mut() {
                target.remove(key);
            }
        } else {
            merge(&mut target[key], value);
        }
    }
}

fn template(annotations: &Value) -> Value {
    json!({
        "metadata": {"labels": {"app": "a"}, "annotations": annotations},
        "spec": {"restartPolicy": "Always", "containers": [{"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": 80}]}]},
    })
}

fn deployment(replicas: i64, annotations: &Value) -> Value {
    json!({
        "metadata": {"name": "d", "namespace": "n"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": template(annotations),
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
        },
    })
}

fn condition_text(status: &Value, kind: &str) -> String {
    let object = json!({"status": status});
    let condition = object::condition(&object, kind).unwrap();
    format!(
        "{} {}",
        condition["status"].as_str().unwrap(),
        condition["reason"].as_str().unwrap_or("")
    )
}

#[test]
fn a_deployment_becomes_available() {
    let mut server = FakeServer::new();
    server.create("deployments", deployment(3, &json!({})));
    assert!(server.run(200));
    let status = server.status("deployments", "d");
    for key in [
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
    ] {
        assert_eq!(status[key], 3, "{key}");
    }
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(
        condition_text(status, "Available"),
        "True MinimumReplicasAvailable"
    );
    assert_eq!(
        condition_text(status, "Progressing"),
        "True NewReplicaSetAvailable"
    );
    assert_eq!(server.names("pods").len(), 3);
    let set = server.cache.list("replicasets", "n").next().unwrap();
    assert_eq!(
        object::annotation(set, "deployment.kubernetes.io/revision"),
        "1"
    );
    assert_eq!(
        object::label(set, "pod-template-hash"),
        set["spec"]["selector"]["matchLabels"]["pod-template-hash"]
    );
}

#[test]
fn a_deployment_rolls_out_a_new_template_and_rolls_back() {
    let mut server = FakeServer::new();
    server.create("deployments", deployment(4, &json!({})));
    assert!(server.run(300));
    let id = ObjectRef::new("deployments", "n", "d");
    for image in ["j", "i"] {
        let containers =
            json!([{"name": "c", "image": image, "ports": [{"name": "web", "containerPort": 80}]}]);
        server.change(
            &id,
            &json!({"spec": {"template": {"spec": {"containers": containers}}}}),
        );
        assert!(server.run(1000));
        let status = server.status("deployments", "d");
        assert_eq!(
            (&status["replicas"], &status["updatedReplicas"]),
            (&json!(4), &json!(4))
        );
        assert!(
            server
                .cache
                .list("pods", "n")
                .all(|pod| pod["spec"]["containers"][0]["image"] == image)
        );
    }
    assert_eq!(server.names("replicasets").len(), 2);
    let deployment = server.cache.get(&id).unwrap();
    assert_eq!(
        object::annotation(deployment, "deployment.kubernetes.io/revision"),
        "3"
    );
}

#[test]
fn a_deployment_scales_down_and_replaces_a_deleted_pod() {
    let mut server = FakeServer::new();
    server.create("deployments", deployment(3, &json!({})));
    assert!(server.run(200));
    server.change(
        &ObjectRef::new("deployments", "n", "d"),
        &json!({"spec": {"replicas": 1}}),
    );
    assert!(server.run(200));
    let pods = server.names("pods");
    assert_eq!(pods.len(), 1);
    server.delete(&ObjectRef::new("pods", "n", &pods[0]), false);
    assert!(server.run(200));
    assert_ne!(server.names("pods"), pods);
    assert_eq!(server.status("deployments", "d")["readyReplicas"], 1);
}

#[test]
fn pods_fail_as_their_annotation_requests() {
    for (behavior, phase) in [("never-ready", "Running"), ("crash-loop", "Running")] {
        let mut server = FakeServer::new();
        server.create("deployments", deployment(1, &json!({SIMULATE: behavior})));
        server.run(60);
        let status = server.status("deployments", "d");
        assert_eq!(
            condition_text(status, "Available"),
            "False MinimumReplicasUnavailable"
        );
        let pod = server.cache.list("pods", "n").next().unwrap();
        assert_eq!(pod["status"]["phase"], phase);
        assert!(!object::is_ready(pod));
        let state = &pod["status"]["containerStatuses"][0]["state"];
        assert_eq!(
            state["waiting"]["reason"] == "CrashLoopBackOff",
            behavior == "crash-loop"
        );
    }
}

#[test]
fn pods_inherit_the_behavior_of_their_workload() {
    let mut server = FakeServer::new();
    let mut object = deployment(1, &json!({}));
    object["metadata"]["annotations"] = json!({SIMULATE: "never-ready"});
    server.create("deployments", object);
    assert!(server.run(100));
    assert_eq!(
        server.status("deployments", "d")["readyReplicas"],
        Value::Null
    );
    let id = ObjectRef::new("deployments", "n", "d");
    let affected = server.change(
        &id,
        &json!({"metadata": {"annotations": {SIMULATE: "normal"}}}),
    );
    assert!(affected.iter().any(|id| id.plural == "pods"));
    assert!(server.run(100));
    assert_eq!(server.status("deployments", "d")["readyReplicas"], 1);
}

/// The replica set had a copy of the annotation.
#[test]
fn pods_become_ready_when_the_annotation_of_their_workload_is_removed() {
    let mut server = FakeServer::new();
    let mut object = deployment(1, &json!({}));
    object["metadata"]["annotations"] = json!({SIMULATE: "never-ready"});
    server.create("deployments", object);
    assert!(server.run(100));
    server.change(
        &ObjectRef::new("deployments", "n", "d"),
        &json!({"metadata": {"annotations": {SIMULATE: null}}}),
    );
    assert!(server.run(100));
    assert_eq!(server.status("deployments", "d")["readyReplicas"], 1);
}

fn stateful_set(replicas: i64) -> Value {
    json!({
        "metadata": {"name": "s", "namespace": "n"},
        "spec": {
            "replicas": replicas, "serviceName": "svc", "selector": {"matchLabels": {"app": "a"}}, "template": template(&json!({})),
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}],
        },
    })
}

#[test]
fn a_stateful_set_creates_pods_and_claims_in_order() {
    let mut server = FakeServer::new();
    server.create("statefulsets", stateful_set(2));
    assert!(server.run(200));
    let created: Vec<&str> = server
        .log
        .iter()
        .filter(|line| line.starts_with("+p"))
        .map(String::as_str)
        .collect();
    assert_eq!(created[0], "+persistentvolumeclaims/data-s-0");
    assert_eq!(server.names("pods"), ["s-0", "s-1"]);
    assert_eq!(
        server.names("persistentvolumeclaims"),
        ["data-s-0", "data-s-1"]
    );
    assert_eq!(
        server.status("persistentvolumeclaims", "data-s-0")["phase"],
        "Bound"
    );
    let status = server.status("statefulsets", "s");
    for key in [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ] {
        assert_eq!(status[key], 2, "{key}");
    }
    assert_eq!(status["currentRevision"], status["updateRevision"]);
    let old = status["updateRevision"].clone();
    let id = ObjectRef::new("statefulsets", "n", "s");
    server.log.clear();
    server.change(
        &id,
        &json!({"spec": {"template": {"metadata": {"annotations": {"v": "2"}}}}}),
    );
    assert!(server.run(300));
    let deleted: Vec<&str> = server
        .log
        .iter()
        .filter(|line| line.starts_with("-pods"))
        .map(String::as_str)
        .collect();
    assert_eq!(deleted, ["-pods/s-1", "-pods/s-0"]);
    let status = server.status("statefulsets", "s");
    assert_ne!(status["updateRevision"], old);
    assert_eq!(status["currentRevision"], status["updateRevision"]);
    server.change(&id, &json!({"spec": {"replicas": 1}}));
    assert!(server.run(200));
    assert_eq!(server.names("pods"), ["s-0"]);
}

#[test]
fn a_daemon_set_replaces_its_pod_when_the_template_changes() {
    let mut server = FakeServer::new();
    let set = json!({"metadata": {"name": "ds", "namespace": "n"}, "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template(&json!({}))}});
    server.create("daemonsets", set);
    assert!(server.run(100));
    let status = server.status("daemonsets", "ds");
    for key in [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "numberAvailable",
        "updatedNumberScheduled",
    ] {
        assert_eq!(status[key], 1, "{key}");
    }
    let before = server.names("pods");
    server.change(
        &ObjectRef::new("daemonsets", "n", "ds"),
        &json!({"spec": {"template": {"metadata": {"annotations": {"v": "2"}}}}}),
    );
    assert!(server.run(100));
    assert_ne!(server.names("pods"), before);
    assert_eq!(server.status("daemonsets", "ds")["observedGeneration"], 2);
}

fn job(annotations: &Value) -> Value {
    let mut template = template(annotations);
    template["spec"]["restartPolicy"] = "Never".into();
    json!({"metadata": {"name": "j", "namespace": "n"}, "spec": {"completions": 2, "parallelism": 1, "backoffLimit": 1, "template": template}})
}

#[test]
fn a_job_completes() {
    let mut server = FakeServer::new();
    server.create("jobs", job(&json!({})));
    assert!(server.run(100));
    let status = server.status("jobs", "j");
    assert_eq!(status["succeeded"], 2);
    assert_eq!(
        condition_text(status, "SuccessCriteriaMet"),
        "True CompletionsReached"
    );
    assert_eq!(
        condition_text(status, "Complete"),
        "True CompletionsReached"
    );
    assert!(status["completionTime"].is_string() && status["startTime"].is_string());
    assert!(
        server
            .cache
            .list("pods", "n")
            .all(|pod| pod["status"]["phase"] == "Succeeded")
    );
}

#[test]
fn a_job_fails_as_its_annotation_requests() {
    let mut server = FakeServer::new();
    server.create("jobs", job(&json!({SIMULATE: "job-fails"})));
    assert!(server.run(100));
    let status = server.status("jobs", "j");
    assert_eq!(status["failed"], 2);
    assert_eq!(
        condition_text(status, "Failed"),
        "True BackoffLimitExceeded"
    );
}

#[test]
fn a_pod_is_unschedulable_until_its_claim_is_bound() {
    let mut server = FakeServer::new();
    let claim = json!({"metadata": {"name": "c", "namespace": "n", "annotations": {SIMULATE: "pvc-pending"}}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    server.create("persistentvolumeclaims", claim);
    let mut spec = template(&json!({}))["spec"].clone();
    spec["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    server.create(
        "pods",
        json!({"metadata": {"name": "p", "namespace": "n"}, "spec": spec}),
    );
    assert!(server.run(50));
    assert_eq!(
        condition_text(server.status("pods", "p"), "PodScheduled"),
        "False Unschedulable"
    );
    server.change(
        &ObjectRef::new("persistentvolumeclaims", "n", "c"),
        &json!({"metadata": {"annotations": {SIMULATE: null}}}),
    );
    assert!(server.run(50));
    assert_eq!(condition_text(server.status("pods", "p"), "Ready"), "True ");
    server.delete(&ObjectRef::new("persistentvolumeclaims", "n", "c"), true);
    assert!(server.run(50));
    assert!(server.cache.list("persistentvolumes", "").next().is_none());
}

#[test]
fn a_load_balancer_gets_an_address_and_endpoints() {
    let mut server = FakeServer::new();
    let spec = json!({"type": "LoadBalancer", "selector": {"app": "a"}, "ports": [{"name": "http", "port": 8080, "targetPort": "web", "protocol": "TCP"}]});
    server.create(
        "services",
        json!({"metadata": {"name": "s", "namespace": "n"}, "spec": spec}),
    );
    server.create("deployments", deployment(2, &json!({})));
    server.create("poddisruptionbudgets", json!({"metadata": {"name": "b", "namespace": "n"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}));
    assert!(server.run(200));
    assert!(server.status("services", "s")["loadBalancer"]["ingress"][0]["ip"].is_string());
    let endpoints = server
        .cache
        .get(&ObjectRef::new("endpoints", "n", "s"))
        .unwrap();
    assert_eq!(
        endpoints["subsets"][0]["addresses"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        endpoints["subsets"][0]["ports"],
        json!([{"name": "http", "port": 80, "protocol": "TCP"}])
    );
    let slice = server.cache.list("endpointslices", "n").next().unwrap();
    assert_eq!(slice["endpoints"].as_array().unwrap().len(), 2);
    let budget = server.status("poddisruptionbudgets", "b");
    assert_eq!(
        (&budget["currentHealthy"], &budget["disruptionsAllowed"]),
        (&json!(2), &json!(1))
    );
    server.delete(&ObjectRef::new("services", "n", "s"), true);
    assert!(server.run(50));
    assert!(server.names("endpoints").is_empty());
}

#[test]
fn a_cron_job_creates_due_jobs_and_respects_its_history_limit() {
    let mut server = FakeServer::new();
    let mut spec = job(&json!({}))["spec"].clone();
    spec["completions"] = 1.into();
    let cron = json!({
        "metadata": {"name": "c", "namespace": "n"},
        "spec": {"schedule": "0 * * * *", "successfulJobsHistoryLimit": 1, "jobTemplate": {"spec": spec}},
    });
    server.create("cronjobs", cron);
    let id = ObjectRef::new("cronjobs", "n", "c");
    assert!(server.run(50));
    assert!(server.names("jobs").is_empty());
    for (since, minute) in [
        ("2026-11-15T22:30:00Z", "29913120"),
        ("2026-11-15T23:59:00Z", "29913120"),
    ] {
        server.change(&id, &json!({"metadata": {"creationTimestamp": since}}));
        assert!(server.run(100));
        assert_eq!(server.names("jobs"), [format!("c-{minute}")]);
    }
    let status = server.status("cronjobs", "c");
    assert_eq!(status["lastScheduleTime"], "2026-11-16T00:00:00Z");
    assert_eq!(status["lastSuccessfulTime"], "2026-11-16T00:00:00Z");
    server.change(&id, &json!({"spec": {"successfulJobsHistoryLimit": 0}}));
    assert!(server.run(50));
    assert!(server.names("jobs").is_empty());
}

#[test]
fn numbers_at_their_limits_do_not_overflow() {
    let max = i32::MAX;
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {
        "terminationGracePeriodSeconds": i64::MAX, "containers": [{"name": "c", "image": "x"}],
    }});
    let selector = json!({"matchLabels": {"a": "b"}});
    let object = |spec: Value| json!({"metadata": {"name": "x", "namespace": "n"}, "spec": spec});
    let all = [
        (
            "deployments",
            json!({"replicas": max, "selector": selector, "template": template, "progressDeadlineSeconds": max, "minReadySeconds": max,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": max, "maxUnavailable": max}}}),
        ),
        (
            "statefulsets",
            json!({"replicas": max, "selector": selector, "template": template, "podManagementPolicy": "Parallel", "ordinals": {"start": max}}),
        ),
        (
            "jobs",
            json!({"completions": max, "parallelism": max, "backoffLimit": max, "ttlSecondsAfterFinished": max, "template": template}),
        ),
        (
            "poddisruptionbudgets",
            json!({"maxUnavailable": max, "selector": selector}),
        ),
        (
            "cronjobs",
            json!({"schedule": "* * * * *", "startingDeadlineSeconds": i64::MAX, "jobTemplate": {"spec": {"template": template}}}),
        ),
    ];
    let mut server = FakeServer::new();
    for (plural, spec) in all {
        server.create(plural, object(spec));
    }
    for _ in 0..4 {
        let before = server.cache.list("pods", "n").count();
        server.run(1);
        let after = server.cache.list("pods", "n").count();
        assert!(after <= before + 50, "{before} {after}");
    }
}
