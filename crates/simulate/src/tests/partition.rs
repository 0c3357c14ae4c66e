//! Partitioned updates of `StatefulSets`.

use super::*;

#[test]
fn a_pod_below_the_partition_is_created_again_as_it_was() {
    let mut server = FakeServer::new();
    server.create("statefulsets", stateful_set(2));
    assert!(server.run(200));
    let set = ObjectRef::new("statefulsets", "n", "s");
    server.change(
        &set,
        &json!({"spec": {
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
            "template": {"metadata": {"annotations": {"v": "2"}}},
        }}),
    );
    assert!(server.run(300));
    for name in ["s-0", "s-1"] {
        server.delete(&ObjectRef::new("pods", "n", name), true);
    }
    assert!(server.run(300));
    let version = |name: &str| {
        let pod = server.cache.get(&ObjectRef::new("pods", "n", name));
        pod.unwrap()["metadata"]["annotations"]["v"].clone()
    };
    assert_eq!(version("s-0"), Value::Null);
    assert_eq!(version("s-1"), "2");
}
