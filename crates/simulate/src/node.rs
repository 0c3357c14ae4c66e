//! The one node that everything runs on. It says that it is simulated.

use serde_json::{Map, Value, json};

use super::conditions::Wanted;
use super::mode::SIMULATED;
use super::object::difference;
use super::step::{Action, Step, View};
use super::world::Id;

pub(super) const NAME: &str = "simulated";
pub(super) const ADDRESS: &str = "192.0.2.1";

/// The node as it is first written.
pub(super) fn new() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NAME,
            "labels": {
                "kubernetes.io/hostname": NAME, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                SIMULATED: "true",
            },
            "annotations": {SIMULATED: "true"},
        },
        "spec": {"providerID": "simulated://node"},
    })
}

/// Keeps the node ready.
pub(super) fn next(node: &Value, view: &View<'_>) -> Step {
    let id = Id::of("nodes", node);
    if id.name != NAME {
        return Step::nothing();
    }
    let conditions = [
        ("MemoryPressure", false, "KubeletHasSufficientMemory"),
        ("DiskPressure", false, "KubeletHasNoDiskPressure"),
        ("PIDPressure", false, "KubeletHasSufficientPID"),
        ("Ready", true, "Simulated"),
    ];
    let conditions = conditions.map(|(kind, is_true, reason)| {
        let wanted = Wanted::new(kind, is_true)
            .because(reason, "this node is simulated; nothing runs on it");
        wanted.on(node, view, &["lastHeartbeatTime"])
    });
    let room = json!({"cpu": "64", "memory": "256Gi", "pods": "10000", "ephemeral-storage": "1Ti"});
    let mut status = Map::new();
    status.insert("capacity".to_owned(), room.clone());
    status.insert("allocatable".to_owned(), room);
    status.insert("conditions".to_owned(), conditions.to_vec().into());
    let addresses =
        json!([{"type": "InternalIP", "address": ADDRESS}, {"type": "Hostname", "address": NAME}]);
    status.insert("addresses".to_owned(), addresses);
    status.insert(
        "nodeInfo".to_owned(),
        json!({
            "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "simulated://", "kernelVersion": "simulated",
            "kubeProxyVersion": "", "kubeletVersion": "v1.36.4", "machineID": "", "operatingSystem": "linux",
            "osImage": "simulated", "systemUUID": "",
        }),
    );
    let change = difference(&node["status"], &status);
    Step::now(
        change
            .map(|change| Action::Status(id, change))
            .into_iter()
            .collect::<Vec<_>>(),
    )
}
