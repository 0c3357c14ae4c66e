//! The simulated node, which all simulated pods are bound to.

use serde_json::{Map, Value, json};

use super::behavior::SIMULATED;
use super::cache::ObjectRef;
use super::condition::Condition;
use super::object::items;
use super::plan::{Action, Context, Plan};

pub(super) const NAME: &str = "simulated";
pub(super) const ADDRESS: &str = "192.0.2.1";

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

/// Sets the conditions, capacity and addresses of the node.
pub(super) fn reconcile(node: &Value, ctx: &Context<'_>) -> Plan {
    let id = ObjectRef::of("nodes", node);
    if id.name != NAME {
        return Plan::none();
    }
    let conditions = [
        ("MemoryPressure", false, "KubeletHasSufficientMemory"),
        ("DiskPressure", false, "KubeletHasNoDiskPressure"),
        ("PIDPressure", false, "KubeletHasSufficientPID"),
        ("Ready", true, "Simulated"),
    ];
    let conditions = conditions.map(|(kind, is_true, reason)| {
        let wanted = Condition::new(kind, is_true)
            .reason(reason, "this node is simulated; nothing runs on it");
        wanted.for_object(node, ctx, &["lastHeartbeatTime"])
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
    let mut actions: Vec<Action> = remove_taint(node).into_iter().collect();
    actions.extend(Action::update_status("nodes", node, &status));
    Plan::now(actions)
}

/// The taint of new nodes, which are not ready.
fn remove_taint(node: &Value) -> Option<Action> {
    let is_not_ready = |taint: &Value| {
        taint["key"] == "node.kubernetes.io/not-ready" && taint["effect"] == "NoSchedule"
    };
    let taints = items(&node["spec"]["taints"]);
    if !taints.iter().any(is_not_ready) {
        return None;
    }
    let kept: Vec<&Value> = taints.iter().filter(|taint| !is_not_ready(taint)).collect();
    let change = json!({"spec": {"taints": kept}});
    Some(Action::Patch(ObjectRef::of("nodes", node), change))
}
