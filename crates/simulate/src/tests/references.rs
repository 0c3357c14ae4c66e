//! Pods whose `ConfigMaps` or Secrets are missing.

use super::*;

fn pod(spec: &Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"restartPolicy": "Always", "containers": [{"name": "c", "image": "i"}]},
    });
    merge(&mut pod["spec"], spec);
    pod
}

fn with_env(container: &Value) -> Value {
    let mut env = json!({"name": "c", "image": "i"});
    merge(&mut env, container);
    json!({"containers": [env]})
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "n"}, "data": data})
}

/// A pod that waits, the reason and message of its container and its event; then it runs once the object appears.
#[track_caller]
fn waits_for(spec: &Value, plural: &'static str, object: Value, reason: &str, message: &str) {
    let mut server = FakeServer::new();
    assert!(server.run(20));
    server.create("pods", pod(spec));
    assert!(server.run(20));
    let status = server.status("pods", "p").clone();
    assert_eq!(status["phase"], "Pending");
    assert_eq!(condition_text(&status, "Ready"), "False ContainersNotReady");
    let waiting = &status["containerStatuses"][0]["state"]["waiting"];
    assert_eq!(waiting["reason"], reason);
    let event = match reason {
        "ContainerCreating" => format!("FailedMount: {message}"),
        _ => format!("Failed: Error: {message}"),
    };
    assert_eq!(waiting["message"], message);
    assert_eq!(server.events, [event]);
    let affected = server.create(plural, object);
    assert!(affected.contains(&ObjectRef::new("pods", "n", "p")));
    assert!(server.run(20));
    let status = server.status("pods", "p");
    assert_eq!(status["phase"], "Running");
    assert_eq!(condition_text(status, "Ready"), "True ");
}

#[test]
fn a_pod_waits_for_missing_config_maps_and_secrets_and_starts_when_they_appear() {
    let error = "CreateContainerConfigError";
    let from = |kind: &str| with_env(&json!({"envFrom": [{kind: {"name": "x"}}]}));
    let key = |kind: &str| {
        let source = json!({kind: {"name": "x", "key": "k"}});
        with_env(&json!({"env": [{"name": "A", "valueFrom": source}]}))
    };
    let object = || config_map("x", &json!({"k": "v"}));
    let (map, secret) = ("configmap \"x\" not found", "secret \"x\" not found");
    waits_for(&from("configMapRef"), "configmaps", object(), error, map);
    waits_for(&from("secretRef"), "secrets", object(), error, secret);
    waits_for(&key("configMapKeyRef"), "configmaps", object(), error, map);
    waits_for(&key("secretKeyRef"), "secrets", object(), error, secret);
    let volume = |source: Value| {
        let mut volume = json!({"name": "v"});
        merge(&mut volume, &source);
        json!({"volumes": [volume]})
    };
    let mount = |why: &str| format!("MountVolume.SetUp failed for volume \"v\" : {why}");
    let creating = "ContainerCreating";
    let source = volume(json!({"configMap": {"name": "x"}}));
    waits_for(&source, "configmaps", object(), creating, &mount(map));
    let source = volume(json!({"secret": {"secretName": "x"}}));
    waits_for(&source, "secrets", object(), creating, &mount(secret));
    let source = volume(json!({"projected": {"sources": [{"secret": {"name": "x"}}]}}));
    waits_for(&source, "secrets", object(), creating, &mount(secret));
}

#[test]
fn a_pod_waits_for_a_missing_key() {
    let mut server = FakeServer::new();
    server.create("configmaps", config_map("x", &json!({"other": "v"})));
    let source = json!({"configMapKeyRef": {"name": "x", "key": "k"}});
    let spec = with_env(&json!({"env": [{"name": "A", "valueFrom": source}]}));
    server.create("pods", pod(&spec));
    assert!(server.run(20));
    assert_eq!(
        server.events,
        ["Failed: Error: couldn't find key k in ConfigMap n/x"]
    );
    let id = ObjectRef::new("configmaps", "n", "x");
    server.change(&id, &json!({"data": {"k": "v"}}));
    assert!(server.run(20));
    assert_eq!(server.status("pods", "p")["phase"], "Running");
}

#[test]
fn optional_references_and_image_pull_secrets_do_not_count() {
    let optional = json!({"name": "x", "secretName": "x", "key": "k", "optional": true});
    let mut spec = with_env(&json!({
        "envFrom": [{"configMapRef": optional}],
        "env": [{"name": "A", "valueFrom": {"secretKeyRef": optional}}],
    }));
    spec["volumes"] = json!([{"name": "v", "secret": optional}]);
    spec["imagePullSecrets"] = json!([{"name": "gone"}]);
    let mut server = FakeServer::new();
    server.create("pods", pod(&spec));
    assert!(server.run(20));
    assert_eq!(server.status("pods", "p")["phase"], "Running");
}

/// Hooks of many charts are Jobs that create a Secret, and are deleted when they have completed.
#[test]
fn a_pod_does_not_wait_for_what_a_completed_job_may_have_created() {
    let spec = with_env(&json!({"envFrom": [{"secretRef": {"name": "x"}}]}));
    let template =
        json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let job = || {
        json!({
            "metadata": {"name": "j", "namespace": "n"},
            "spec": {"completions": 1, "parallelism": 1, "template": template},
        })
    };
    let mut server = FakeServer::new();
    server.create("pods", pod(&spec));
    assert!(server.run(20));
    assert_eq!(server.status("pods", "p")["phase"], "Pending");
    server.create("jobs", job());
    assert!(server.run(40));
    assert_eq!(server.status("pods", "p")["phase"], "Running");
    let done = server.cache.get(&ObjectRef::new("jobs", "n", "j")).cloned();
    server.cache.delete("jobs", &done.unwrap());
    let mut later = pod(&spec);
    later["metadata"]["name"] = "later".into();
    server.create("pods", later);
    let mut other = pod(&spec);
    other["metadata"] = json!({"name": "other", "namespace": "m"});
    server.create("pods", other);
    assert!(server.run(40));
    assert_eq!(server.status("pods", "later")["phase"], "Running");
    let other = server.cache.get(&ObjectRef::new("pods", "m", "other"));
    assert_eq!(other.unwrap()["status"]["phase"], "Pending");
}

#[test]
fn an_init_container_that_cannot_be_created_keeps_the_pod_from_initializing() {
    let init = json!([{"name": "i", "image": "i", "envFrom": [{"secretRef": {"name": "x"}}]}]);
    let mut server = FakeServer::new();
    server.create("pods", pod(&json!({"initContainers": init})));
    assert!(server.run(20));
    let status = server.status("pods", "p");
    assert_eq!(
        condition_text(status, "Initialized"),
        "False ContainersNotInitialized"
    );
    let reason = |list: &str| status[list][0]["state"]["waiting"]["reason"].clone();
    assert_eq!(
        reason("initContainerStatuses"),
        "CreateContainerConfigError"
    );
    assert_eq!(reason("containerStatuses"), "PodInitializing");
}

#[test]
fn a_running_pod_keeps_running_when_its_secret_is_deleted() {
    let mut server = FakeServer::new();
    server.create("secrets", config_map("x", &json!({})));
    server.create(
        "pods",
        pod(&with_env(
            &json!({"envFrom": [{"secretRef": {"name": "x"}}]}),
        )),
    );
    assert!(server.run(20));
    server.delete(&ObjectRef::new("secrets", "n", "x"), false);
    assert!(server.run(20));
    assert_eq!(server.status("pods", "p")["phase"], "Running");
}
