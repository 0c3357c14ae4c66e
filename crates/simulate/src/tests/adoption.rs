//! Objects that others created: adopted pods and replica sets, foreign conditions, ports with different numbers.

use super::*;

#[test]
fn a_replication_controller_adopts_and_creates_pods() {
    let mut server = FakeServer::new();
    let mut orphan = template(&json!({}));
    orphan["metadata"]["name"] = json!("orphan");
    orphan["metadata"]["namespace"] = json!("n");
    server.create("pods", orphan);
    server.create(
        "replicationcontrollers",
        json!({
            "metadata": {"name": "rc", "namespace": "n"},
            "spec": {"replicas": 2, "selector": {"app": "a"}, "template": template(&json!({}))},
        }),
    );
    assert!(server.run(100));
    assert_eq!(server.names("pods").len(), 2);
    let orphan = server.cache.get(&ObjectRef::new("pods", "n", "orphan"));
    let owner = object::controller(orphan.unwrap()).unwrap();
    assert_eq!(owner["kind"], "ReplicationController");
    let status = server.status("replicationcontrollers", "rc");
    assert_eq!(status["readyReplicas"], 2);
}

#[test]
fn a_pod_that_no_longer_matches_is_released_and_replaced() {
    let mut server = FakeServer::new();
    server.create("deployments", deployment(1, &json!({})));
    assert!(server.run(100));
    let name = server.names("pods").remove(0);
    let id = ObjectRef::new("pods", "n", &name);
    server.change(&id, &json!({"metadata": {"labels": {"app": "other"}}}));
    assert!(server.run(100));
    assert!(object::controller(server.cache.get(&id).unwrap()).is_none());
    assert_eq!(server.names("pods").len(), 2);
}

#[test]
fn a_deployment_adopts_a_replica_set() {
    let mut server = FakeServer::new();
    let mut set = deployment(1, &json!({}));
    set["metadata"]["name"] = json!("old");
    set["metadata"]["labels"] = json!({"app": "a"});
    set["spec"]["template"]["spec"]["containers"][0]["image"] = json!("old");
    server.create("replicasets", set);
    assert!(server.run(100));
    server.create("deployments", deployment(1, &json!({})));
    assert!(server.run(200));
    let old = ObjectRef::new("replicasets", "n", "old");
    let old = server.cache.get(&old).unwrap();
    assert_eq!(object::controller(old).unwrap()["kind"], "Deployment");
    assert_eq!(old["spec"]["replicas"], 0);
    assert_eq!(server.status("deployments", "d")["updatedReplicas"], 1);
}

#[test]
fn a_foreign_condition_stays() {
    let mut server = FakeServer::new();
    server.create("deployments", deployment(1, &json!({})));
    assert!(server.run(100));
    let name = server.names("pods").remove(0);
    let id = ObjectRef::new("pods", "n", &name);
    let mut conditions = server.status("pods", &name)["conditions"].clone();
    let foreign = json!({"type": "example.com/gate", "status": "True"});
    conditions.as_array_mut().unwrap().push(foreign.clone());
    conditions.as_array_mut().unwrap().remove(0);
    server.change(&id, &json!({"status": {"conditions": conditions}}));
    assert!(server.run(100));
    let conditions = server.status("pods", &name)["conditions"].as_array();
    assert!(conditions.unwrap().contains(&foreign));
    assert_eq!(conditions.unwrap().len(), 6);
}

#[test]
fn pods_with_different_ports_are_in_different_slices() {
    let mut server = FakeServer::new();
    for (name, port) in [("p1", 80), ("p2", 8080)] {
        let mut pod = template(&json!({}));
        pod["metadata"]["name"] = json!(name);
        pod["metadata"]["namespace"] = json!("n");
        pod["spec"]["containers"][0]["ports"][0]["containerPort"] = json!(port);
        server.create("pods", pod);
    }
    server.create(
        "services",
        json!({
            "metadata": {"name": "s", "namespace": "n"},
            "spec": {"type": "ClusterIP", "selector": {"app": "a"},
                "ports": [{"port": 80, "targetPort": "web", "protocol": "TCP"}]},
        }),
    );
    assert!(server.run(200));
    assert_eq!(server.names("endpointslices").len(), 2);
    let endpoints = ObjectRef::new("endpoints", "n", "s");
    let subsets = &server.cache.get(&endpoints).unwrap()["subsets"];
    assert_eq!(subsets.as_array().unwrap().len(), 2);
    server.delete(&ObjectRef::new("pods", "n", "p2"), true);
    assert!(server.run(200));
    assert_eq!(server.names("endpointslices").len(), 1);
}

#[test]
fn the_node_loses_its_taint() {
    let mut server = FakeServer::new();
    let taints = json!([
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
        {"key": "other", "effect": "NoSchedule"},
    ]);
    let id = ObjectRef::new("nodes", "", node::NAME);
    server.change(&id, &json!({"spec": {"taints": taints}}));
    assert!(server.run(10));
    let taints = &server.cache.get(&id).unwrap()["spec"]["taints"];
    assert_eq!(*taints, json!([{"key": "other", "effect": "NoSchedule"}]));
}
