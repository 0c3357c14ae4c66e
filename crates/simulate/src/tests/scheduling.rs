//! Pods that the node cannot take, and what Deployments report about their sets.

use super::*;

fn pod(spec: &Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"restartPolicy": "Always", "containers": [{"name": "c", "image": "i"}]},
    });
    merge(&mut pod["spec"], spec);
    pod
}

fn requesting(cpu: &str, memory: &str) -> Value {
    let resources = json!({"requests": {"cpu": cpu, "memory": memory}});
    json!({"containers": [{"name": "c", "image": "i", "resources": resources}]})
}

/// The message of a pod that stays pending; empty if it runs.
fn outcome(node: &Value, pod: Value) -> String {
    let mut server = FakeServer::new();
    assert!(server.run(20));
    server.change(&ObjectRef::new("nodes", "", node::NAME), node);
    server.create("pods", pod);
    assert!(server.run(20));
    let status = server.status("pods", "p");
    if status["phase"] == "Running" {
        assert!(server.events.is_empty(), "{:?}", server.events);
        return String::new();
    }
    assert_eq!(status["phase"], "Pending");
    assert_eq!(
        condition_text(status, "PodScheduled"),
        "False Unschedulable"
    );
    let status = json!({"status": status});
    let condition = object::condition(&status, "PodScheduled").unwrap();
    let message = condition["message"].as_str().unwrap();
    assert_eq!(server.events, [format!("FailedScheduling: {message}")]);
    let reason = message.strip_prefix("0/1 nodes are available: ").unwrap();
    reason.to_owned()
}

#[test]
fn a_cordoned_node_takes_no_pods() {
    let cordoned = json!({"spec": {"unschedulable": true}});
    let message = "1 node(s) were unschedulable.";
    assert_eq!(outcome(&cordoned, pod(&json!({}))), message);
    let all = json!({"tolerations": [{"operator": "Exists"}]});
    assert_eq!(outcome(&cordoned, pod(&all)), "");
}

#[test]
fn taints_have_to_be_tolerated() {
    let taint = |effect: &str| json!({"spec": {"taints": [{"key": "gpu", "value": "a", "effect": effect}]}});
    let message = "1 node(s) had untolerated taint {gpu: a}.";
    let toleration = |toleration: Value| pod(&json!({"tolerations": [toleration]}));
    assert_eq!(outcome(&taint("NoSchedule"), pod(&json!({}))), message);
    assert_eq!(outcome(&taint("PreferNoSchedule"), pod(&json!({}))), "");
    for (tolerated, expected) in [
        (json!({"key": "gpu", "operator": "Exists"}), ""),
        (
            json!({"key": "gpu", "value": "a", "effect": "NoSchedule"}),
            "",
        ),
        (json!({"key": "gpu", "value": "b"}), message),
        (json!({"key": "cpu", "operator": "Exists"}), message),
        (
            json!({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}),
            message,
        ),
    ] {
        assert_eq!(
            outcome(&taint("NoSchedule"), toleration(tolerated)),
            expected
        );
    }
}

#[test]
fn node_selectors_and_affinity_have_to_match() {
    let message = "1 node(s) didn't match Pod's node affinity/selector.";
    let node = json!({"metadata": {"labels": {"cores": "8"}}});
    let affinity = |terms: Value| {
        let required = json!({"nodeSelectorTerms": terms});
        let affinity = json!({"requiredDuringSchedulingIgnoredDuringExecution": required});
        json!({"affinity": {"nodeAffinity": affinity}})
    };
    let term = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
    let name = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node::NAME]}]});
    for (spec, expected) in [
        (json!({"nodeSelector": {"kubernetes.io/os": "linux"}}), ""),
        (
            json!({"nodeSelector": {"kubernetes.io/os": "windows"}}),
            message,
        ),
        (affinity(json!([term("cores", "Gt", &["4"])])), ""),
        (affinity(json!([term("cores", "Lt", &["4"])])), message),
        (affinity(json!([term("cores", "In", &["4", "8"])])), ""),
        (affinity(json!([term("cores", "NotIn", &["8"])])), message),
        (affinity(json!([term("gpu", "Exists", &[])])), message),
        (affinity(json!([term("gpu", "DoesNotExist", &[])])), ""),
        (affinity(json!([term("gpu", "Exists", &[]), name])), ""),
        (affinity(json!([{}])), message),
    ] {
        assert_eq!(outcome(&node, pod(&spec)), expected, "{spec}");
    }
}

#[test]
fn pods_share_the_capacity_of_the_node() {
    let node = json!({});
    let check = |cpu: &str, memory: &str, expected: &str| {
        assert_eq!(
            outcome(&node, pod(&requesting(cpu, memory))),
            expected,
            "{cpu} {memory}"
        );
    };
    check("64", "256Gi", "");
    check("64100m", "1Gi", "1 Insufficient cpu.");
    check("1", "257Gi", "1 Insufficient memory.");
    check("65", "1Ti", "1 Insufficient cpu, 1 Insufficient memory.");

    let mut server = FakeServer::new();
    let mut workload = deployment(3, &json!({}));
    merge(
        &mut workload["spec"]["template"]["spec"],
        &requesting("30", "1Gi"),
    );
    server.create("deployments", workload);
    assert!(server.run(200));
    assert_eq!(server.status("deployments", "d")["readyReplicas"], 2);
    // A pod that ends makes room for the one that waits.
    let id = ObjectRef::new("deployments", "n", "d");
    server.change(&id, &json!({"spec": {"replicas": 2}}));
    assert!(server.run(200));
    assert_eq!(server.status("deployments", "d")["readyReplicas"], 2);
    assert_eq!(server.names("pods").len(), 2);
}

#[test]
fn an_uncordoned_node_takes_the_pods_that_wait() {
    let mut server = FakeServer::new();
    assert!(server.run(20));
    let node = ObjectRef::new("nodes", "", node::NAME);
    server.change(&node, &json!({"spec": {"unschedulable": true}}));
    server.create("pods", pod(&json!({})));
    assert!(server.run(20));
    let affected = server.change(&node, &json!({"spec": {"unschedulable": false}}));
    assert!(affected.contains(&ObjectRef::new("pods", "n", "p")));
    assert!(server.run(20));
    assert_eq!(server.status("pods", "p")["phase"], "Running");
}

#[test]
fn a_pod_that_is_being_bound_uses_the_node() {
    let mut server = FakeServer::new();
    assert!(server.run(20));
    server.create("pods", pod(&requesting("64", "1Gi")));
    let id = ObjectRef::new("pods", "n", "p");
    server.cache.begin_binding(&id);
    let mut second = pod(&requesting("1", "1Gi"));
    second["metadata"]["name"] = "q".into();
    let ctx = Context {
        cache: &server.cache,
        options: &server.options,
        now: now(),
        failure: None,
    };
    assert!(crate::scheduling::obstacle(&second, &ctx).is_some());
    server.cache.end_binding(&id);
    server.cache.end_binding(&id);
    let ctx = Context {
        cache: &server.cache,
        options: &server.options,
        now: now(),
        failure: None,
    };
    assert_eq!(crate::scheduling::obstacle(&second, &ctx), None);
}

#[test]
fn the_current_set_gets_the_annotations_of_its_deployment() {
    const CAUSE: &str = "kubernetes.io/change-cause";
    let mut server = FakeServer::new();
    let mut workload = deployment(1, &json!({}));
    workload["metadata"]["annotations"] = json!({CAUSE: "first", SIMULATE: "normal"});
    server.create("deployments", workload);
    assert!(server.run(100));
    let id = ObjectRef::new("deployments", "n", "d");
    let cause = |text: &str| json!({"metadata": {"annotations": {CAUSE: text}}});
    server.change(
        &id,
        &json!({"spec": {"template": {"metadata": {"labels": {"app": "a", "b": "c"}}}}}),
    );
    assert!(server.run(200));
    server.change(&id, &cause("second"));
    assert!(server.run(200));
    let sets = server.cache.list("replicasets", "n");
    let mut causes: Vec<_> = sets
        .map(|set| {
            assert_eq!(object::annotation(set, SIMULATE), "");
            let revision = object::annotation(set, "deployment.kubernetes.io/revision");
            (
                revision.to_owned(),
                object::annotation(set, CAUSE).to_owned(),
            )
        })
        .collect();
    causes.sort();
    let expected = [("1", "first"), ("2", "second")];
    assert_eq!(causes, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn a_deployment_reports_the_failure_of_its_set() {
    let mut server = FakeServer::new();
    server.create("deployments", deployment(1, &json!({})));
    assert!(server.run(100));
    let set = server
        .cache
        .list("replicasets", "n")
        .next()
        .unwrap()
        .clone();
    let message = "pods \"d\" is forbidden: exceeded quota";
    let ctx = Context {
        cache: &server.cache,
        options: &server.options,
        now: now(),
        failure: Some(message),
    };
    let mut scaled = (*set).clone();
    scaled["spec"]["replicas"] = 2.into();
    let plan = reconcile::reconcile("replicasets", &scaled, &ctx);
    let actions = plan.actions;
    for action in actions
        .into_iter()
        .filter(|action| !matches!(action, Action::Create(..)))
    {
        server.execute(action);
    }
    assert_eq!(
        server.events,
        [format!("FailedCreate: Error creating: {message}")]
    );
    let deployment = server
        .cache
        .list("deployments", "n")
        .next()
        .unwrap()
        .clone();
    let ctx = Context {
        cache: &server.cache,
        options: &server.options,
        now: now(),
        failure: None,
    };
    let plan = reconcile::reconcile("deployments", &deployment, &ctx);
    let failure = plan.actions.iter().find_map(|action| match action {
        Action::Status(_, change) => {
            let status = json!({"status": change});
            object::condition(&status, "ReplicaFailure").cloned()
        }
        _ => None,
    });
    let failure = failure.unwrap();
    assert_eq!(failure["reason"], "FailedCreate");
    assert_eq!(failure["message"], message);
}
