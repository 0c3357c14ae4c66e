//! The state machines together, against a world that does what they say at once.

use serde_json::{Value, json};

use super::affected::affected;
use super::machine;
use super::step::{Action, View};
use super::world::{Id, World};
use super::*;

/// A server in miniature: objects get names, uids and versions, patches are merged, time passes when nothing else does.
struct Play {
    world: World,
    options: Options,
    version: u64,
    /// Names of the kinds in the order in which objects were created and deleted.
    log: Vec<String>,
}

fn now() -> Timestamp {
    "2026-11-16T00:00:00Z".parse().unwrap()
}

impl Play {
    fn new() -> Self {
        let mut play = Self {
            world: World::default(),
            options: Options {
                now,
                ..Options::default()
            },
            version: 0,
            log: Vec::new(),
        };
        play.create("nodes", node::new());
        play.log.clear();
        play
    }

    fn put(&mut self, plural: &'static str, mut object: Value) -> Vec<Id> {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let id = Id::of(plural, &object);
        let old = self.world.get(&id).cloned();
        assert!(self.world.put(plural, object));
        affected(
            &self.world,
            plural,
            old.as_deref(),
            self.world.get(&id).map(|new| &**new),
        )
    }

    fn create(&mut self, plural: &'static str, mut object: Value) -> Vec<Id> {
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
        self.put(plural, object)
    }

    fn change(&mut self, id: &Id, change: &Value) -> Vec<Id> {
        let mut object = (**self.world.get(id).unwrap()).clone();
        merge(&mut object, change);
        if change.get("spec").is_some() {
            let generation = object["metadata"]["generation"].as_i64().unwrap();
            object["metadata"]["generation"] = (generation + 1).into();
        }
        self.put(id.plural, object)
    }

    fn delete(&mut self, id: &Id, at_once: bool) -> Vec<Id> {
        let object = (**self.world.get(id).unwrap()).clone();
        let is_placed = id.plural == "pods" && object["spec"]["nodeName"].is_string();
        if is_placed && !at_once {
            return self.change(
                id,
                &json!({"metadata": {"deletionTimestamp": "2026-11-16T00:00:30Z"}}),
            );
        }
        self.log.push(format!("-{}/{}", id.plural, id.name));
        self.world.remove(id.plural, &object);
        affected(&self.world, id.plural, Some(&object), None)
    }

    fn perform(&mut self, action: Action) -> Vec<Id> {
        match action {
            Action::Create(plural, object) => self.create(plural, object),
            Action::Patch(id, change) => self.change(&id, &change),
            Action::Status(id, change) => self.change(&id, &json!({"status": change})),
            Action::Annotate(id, annotations) => {
                self.change(&id, &json!({"metadata": {"annotations": annotations}}))
            }
            Action::Bind(id) => {
                let mut pod = (**self.world.get(&id).unwrap()).clone();
                pod["spec"]["nodeName"] = node::NAME.into();
                self.put("pods", pod)
            }
            Action::Delete(id) => self.delete(&id, false),
            Action::DeleteNow(id) => self.delete(&id, true),
        }
    }

    /// Goes on until nothing changes any more, at most for so many steps. What waits is done when all else is.
    fn run(&mut self, steps: usize) -> bool {
        for _ in 0..steps {
            let (mut now_actions, mut later_actions) = (Vec::new(), Vec::new());
            for (plural, _) in world::WATCHED {
                let objects: Vec<_> = self.world.list(plural, "").cloned().collect();
                for object in objects {
                    let view = View {
                        world: &self.world,
                        options: &self.options,
                        now: now(),
                    };
                    let step = machine::next(plural, &object, &view);
                    now_actions.push(step.actions);
                    later_actions.extend(step.later.map(|later| later.actions));
                }
            }
            now_actions.retain(|actions| !actions.is_empty());
            later_actions.retain(|actions| !actions.is_empty());
            let Some(actions) = now_actions
                .into_iter()
                .next()
                .or_else(|| later_actions.into_iter().next())
            else {
                return true;
            };
            for action in actions {
                self.perform(action);
            }
        }
        false
    }

    fn status(&self, plural: &'static str, name: &str) -> &Value {
        &self.world.get(&Id::new(plural, "n", name)).unwrap()["status"]
    }

    fn names(&self, plural: &'static str) -> Vec<String> {
        self.world
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
    let mut play = Play::new();
    play.create("deployments", deployment(3, &json!({})));
    assert!(play.run(200));
    let status = play.status("deployments", "d");
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
    assert_eq!(play.names("pods").len(), 3);
    let set = play.world.list("replicasets", "n").next().unwrap();
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
fn a_new_template_is_rolled_out_and_back() {
    let mut play = Play::new();
    play.create("deployments", deployment(4, &json!({})));
    assert!(play.run(300));
    let id = Id::new("deployments", "n", "d");
    for image in ["j", "i"] {
        let containers =
            json!([{"name": "c", "image": image, "ports": [{"name": "web", "containerPort": 80}]}]);
        play.change(
            &id,
            &json!({"spec": {"template": {"spec": {"containers": containers}}}}),
        );
        assert!(play.run(1000));
        let status = play.status("deployments", "d");
        assert_eq!(
            (&status["replicas"], &status["updatedReplicas"]),
            (&json!(4), &json!(4))
        );
        assert!(
            play.world
                .list("pods", "n")
                .all(|pod| pod["spec"]["containers"][0]["image"] == image)
        );
    }
    assert_eq!(play.names("replicasets").len(), 2);
    let deployment = play.world.get(&id).unwrap();
    assert_eq!(
        object::annotation(deployment, "deployment.kubernetes.io/revision"),
        "3"
    );
}

#[test]
fn scaling_down_deletes_and_a_deleted_pod_is_replaced() {
    let mut play = Play::new();
    play.create("deployments", deployment(3, &json!({})));
    assert!(play.run(200));
    play.change(
        &Id::new("deployments", "n", "d"),
        &json!({"spec": {"replicas": 1}}),
    );
    assert!(play.run(200));
    let pods = play.names("pods");
    assert_eq!(pods.len(), 1);
    play.delete(&Id::new("pods", "n", &pods[0]), false);
    assert!(play.run(200));
    assert_ne!(play.names("pods"), pods);
    assert_eq!(play.status("deployments", "d")["readyReplicas"], 1);
}

#[test]
fn failures_can_be_asked_for() {
    for (mode, phase) in [("never-ready", "Running"), ("crash-loop", "Running")] {
        let mut play = Play::new();
        play.create("deployments", deployment(1, &json!({SIMULATE: mode})));
        play.run(60);
        let status = play.status("deployments", "d");
        assert_eq!(
            condition_text(status, "Available"),
            "False MinimumReplicasUnavailable"
        );
        let pod = play.world.list("pods", "n").next().unwrap();
        assert_eq!(pod["status"]["phase"], phase);
        assert!(!object::is_ready(pod));
        let state = &pod["status"]["containerStatuses"][0]["state"];
        assert_eq!(
            state["waiting"]["reason"] == "CrashLoopBackOff",
            mode == "crash-loop"
        );
    }
}

#[test]
fn a_failure_of_the_workload_counts_for_its_pods_and_can_be_taken_back() {
    let mut play = Play::new();
    let mut object = deployment(1, &json!({}));
    object["metadata"]["annotations"] = json!({SIMULATE: "never-ready"});
    play.create("deployments", object);
    assert!(play.run(100));
    assert_eq!(
        play.status("deployments", "d")["readyReplicas"],
        Value::Null
    );
    let id = Id::new("deployments", "n", "d");
    let set = Id::new("replicasets", "n", &play.names("replicasets")[0]);
    let affected = play.change(
        &id,
        &json!({"metadata": {"annotations": {SIMULATE: "normal"}}}),
    );
    assert!(affected.iter().any(|id| id.plural == "pods"));
    play.change(
        &set,
        &json!({"metadata": {"annotations": {SIMULATE: null}}}),
    );
    assert!(play.run(100));
    assert_eq!(play.status("deployments", "d")["readyReplicas"], 1);
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
fn a_stateful_set_starts_in_order_with_claims() {
    let mut play = Play::new();
    play.create("statefulsets", stateful_set(2));
    assert!(play.run(200));
    let created: Vec<&str> = play
        .log
        .iter()
        .filter(|line| line.starts_with("+p"))
        .map(String::as_str)
        .collect();
    assert_eq!(created[0], "+persistentvolumeclaims/data-s-0");
    assert_eq!(play.names("pods"), ["s-0", "s-1"]);
    assert_eq!(
        play.names("persistentvolumeclaims"),
        ["data-s-0", "data-s-1"]
    );
    assert_eq!(
        play.status("persistentvolumeclaims", "data-s-0")["phase"],
        "Bound"
    );
    let status = play.status("statefulsets", "s");
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
    let id = Id::new("statefulsets", "n", "s");
    play.log.clear();
    play.change(
        &id,
        &json!({"spec": {"template": {"metadata": {"annotations": {"v": "2"}}}}}),
    );
    assert!(play.run(300));
    let deleted: Vec<&str> = play
        .log
        .iter()
        .filter(|line| line.starts_with("-pods"))
        .map(String::as_str)
        .collect();
    assert_eq!(deleted, ["-pods/s-1", "-pods/s-0"]);
    let status = play.status("statefulsets", "s");
    assert_ne!(status["updateRevision"], old);
    assert_eq!(status["currentRevision"], status["updateRevision"]);
    play.change(&id, &json!({"spec": {"replicas": 1}}));
    assert!(play.run(200));
    assert_eq!(play.names("pods"), ["s-0"]);
}

#[test]
fn a_daemon_set_has_one_pod_and_replaces_it() {
    let mut play = Play::new();
    let set = json!({"metadata": {"name": "ds", "namespace": "n"}, "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template(&json!({}))}});
    play.create("daemonsets", set);
    assert!(play.run(100));
    let status = play.status("daemonsets", "ds");
    for key in [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "numberAvailable",
        "updatedNumberScheduled",
    ] {
        assert_eq!(status[key], 1, "{key}");
    }
    let before = play.names("pods");
    play.change(
        &Id::new("daemonsets", "n", "ds"),
        &json!({"spec": {"template": {"metadata": {"annotations": {"v": "2"}}}}}),
    );
    assert!(play.run(100));
    assert_ne!(play.names("pods"), before);
    assert_eq!(play.status("daemonsets", "ds")["observedGeneration"], 2);
}

fn job(annotations: &Value) -> Value {
    let mut template = template(annotations);
    template["spec"]["restartPolicy"] = "Never".into();
    json!({"metadata": {"name": "j", "namespace": "n"}, "spec": {"completions": 2, "parallelism": 1, "backoffLimit": 1, "template": template}})
}

#[test]
fn a_job_completes() {
    let mut play = Play::new();
    play.create("jobs", job(&json!({})));
    assert!(play.run(100));
    let status = play.status("jobs", "j");
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
        play.world
            .list("pods", "n")
            .all(|pod| pod["status"]["phase"] == "Succeeded")
    );
}

#[test]
fn a_job_fails_if_asked_to() {
    let mut play = Play::new();
    play.create("jobs", job(&json!({SIMULATE: "job-fails"})));
    assert!(play.run(100));
    let status = play.status("jobs", "j");
    assert_eq!(status["failed"], 2);
    assert_eq!(
        condition_text(status, "Failed"),
        "True BackoffLimitExceeded"
    );
}

#[test]
fn a_pod_waits_for_its_claim() {
    let mut play = Play::new();
    let claim = json!({"metadata": {"name": "c", "namespace": "n", "annotations": {SIMULATE: "pvc-pending"}}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    play.create("persistentvolumeclaims", claim);
    let mut spec = template(&json!({}))["spec"].clone();
    spec["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    play.create(
        "pods",
        json!({"metadata": {"name": "p", "namespace": "n"}, "spec": spec}),
    );
    assert!(play.run(50));
    assert_eq!(
        condition_text(play.status("pods", "p"), "PodScheduled"),
        "False Unschedulable"
    );
    play.change(
        &Id::new("persistentvolumeclaims", "n", "c"),
        &json!({"metadata": {"annotations": {SIMULATE: null}}}),
    );
    assert!(play.run(50));
    assert_eq!(condition_text(play.status("pods", "p"), "Ready"), "True ");
    play.delete(&Id::new("persistentvolumeclaims", "n", "c"), true);
    assert!(play.run(50));
    assert!(play.world.list("persistentvolumes", "").next().is_none());
}

#[test]
fn a_service_gets_an_address_and_endpoints() {
    let mut play = Play::new();
    let spec = json!({"type": "LoadBalancer", "selector": {"app": "a"}, "ports": [{"name": "http", "port": 8080, "targetPort": "web", "protocol": "TCP"}]});
    play.create(
        "services",
        json!({"metadata": {"name": "s", "namespace": "n"}, "spec": spec}),
    );
    play.create("deployments", deployment(2, &json!({})));
    play.create("poddisruptionbudgets", json!({"metadata": {"name": "b", "namespace": "n"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}));
    assert!(play.run(200));
    assert!(play.status("services", "s")["loadBalancer"]["ingress"][0]["ip"].is_string());
    let endpoints = play.world.get(&Id::new("endpoints", "n", "s")).unwrap();
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
    let slice = play.world.list("endpointslices", "n").next().unwrap();
    assert_eq!(slice["endpoints"].as_array().unwrap().len(), 2);
    let budget = play.status("poddisruptionbudgets", "b");
    assert_eq!(
        (&budget["currentHealthy"], &budget["disruptionsAllowed"]),
        (&json!(2), &json!(1))
    );
    play.delete(&Id::new("services", "n", "s"), true);
    assert!(play.run(50));
    assert!(play.names("endpoints").is_empty());
}

#[test]
fn a_cron_job_runs_when_it_is_due_and_keeps_the_last_runs() {
    let mut play = Play::new();
    let mut spec = job(&json!({}))["spec"].clone();
    spec["completions"] = 1.into();
    let cron = json!({
        "metadata": {"name": "c", "namespace": "n"},
        "spec": {"schedule": "0 * * * *", "successfulJobsHistoryLimit": 1, "jobTemplate": {"spec": spec}},
    });
    play.create("cronjobs", cron);
    let id = Id::new("cronjobs", "n", "c");
    assert!(play.run(50));
    assert!(play.names("jobs").is_empty());
    for (since, minute) in [
        ("2026-11-15T22:30:00Z", "29913120"),
        ("2026-11-15T23:59:00Z", "29913120"),
    ] {
        play.change(&id, &json!({"metadata": {"creationTimestamp": since}}));
        assert!(play.run(100));
        assert_eq!(play.names("jobs"), [format!("c-{minute}")]);
    }
    let status = play.status("cronjobs", "c");
    assert_eq!(status["lastScheduleTime"], "2026-11-16T00:00:00Z");
    assert_eq!(status["lastSuccessfulTime"], "2026-11-16T00:00:00Z");
    play.change(&id, &json!({"spec": {"successfulJobsHistoryLimit": 0}}));
    assert!(play.run(50));
    assert!(play.names("jobs").is_empty());
}
