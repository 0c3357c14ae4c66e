//! Why the pods of a workload are not ready. The status of a Deployment or a Job does not tell.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::{GroupVersionKind, Selector};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::plugin::InventoryEntry;

/// Pods that are read at most.
const MAX_PODS: u32 = 20;

/// Longer reasons are truncated, in characters.
const MAX_REASON: usize = 200;

/// States of a container that starts.
const STARTING: &[&str] = &["ContainerCreating", "PodInitializing"];

/// States whose messages change with each attempt.
const PULLING: &[&str] = &["ErrImagePull", "ImagePullBackOff"];

pub(crate) fn is_workload(entry: &InventoryEntry) -> bool {
    matches!(
        (entry.api_version.as_str(), entry.kind.as_str()),
        (
            "apps/v1",
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet"
        ) | ("batch/v1", "Job")
    )
}

/// Why a pod is not ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodReason {
    pub(crate) text: String,
    /// Whether a container crashes or cannot start, as opposed to a pod that waits for a node.
    pub(crate) is_crash: bool,
}

/// The reason of the first pod that has one.
pub(crate) async fn reason(
    client: &Client,
    workload: &InventoryEntry,
) -> Result<Option<PodReason>, kube::Error> {
    let namespace = workload.namespace.as_deref().unwrap_or_default();
    let Some(selector) = selector(client, namespace, workload).await? else {
        return Ok(None);
    };
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let parameters = ListParams::default().labels_from(&selector).limit(MAX_PODS);
    let pods = pods.list(&parameters).await?;
    Ok(pods.iter().find_map(|pod| {
        let reason = pod_reason(pod)?;
        let text: String = reason.text.chars().take(MAX_REASON).collect();
        Some(PodReason {
            text: format!("pod {}: {text}", pod.name_any()),
            ..reason
        })
    }))
}

/// The selector of a workload. It is listed, because the controller has no right to read single objects.
async fn selector(
    client: &Client,
    namespace: &str,
    workload: &InventoryEntry,
) -> Result<Option<Selector>, kube::Error> {
    let (group, version) = workload.api_version.split_once('/').unwrap_or_default();
    let kind = GroupVersionKind::gvk(group, version, &workload.kind);
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    let parameters = ListParams::default().fields(&format!("metadata.name={}", workload.name));
    let list = api.list(&parameters).await?;
    let object = list.items.first();
    let selector = object.map(|object| object.data["spec"]["selector"].clone());
    let selector = selector.and_then(|value| serde_json::from_value::<LabelSelector>(value).ok());
    Ok(selector.and_then(|selector| Selector::try_from(selector).ok()))
}

fn pod_reason(pod: &Pod) -> Option<PodReason> {
    let status = pod.status.as_ref()?;
    let init = status.init_container_statuses.iter().flatten();
    let containers = init.chain(status.container_statuses.iter().flatten());
    if let Some(text) = containers.into_iter().find_map(container_reason) {
        let is_crash = true;
        return Some(PodReason { text, is_crash });
    }
    let text = |reason: &Option<String>, message: &Option<String>| {
        let parts = [reason.clone(), message.clone()];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join(": ");
        let is_crash = false;
        (!text.is_empty()).then_some(PodReason { text, is_crash })
    };
    if status.phase.as_deref() == Some("Failed") {
        return text(&status.reason, &status.message);
    }
    let mut conditions = status.conditions.iter().flatten();
    let unscheduled = conditions
        .find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")?;
    text(&unscheduled.reason, &unscheduled.message)
}

/// Without what changes with each restart, which would be written to the status each time.
fn container_reason(container: &ContainerStatus) -> Option<String> {
    let state = container.state.as_ref()?;
    if let Some(waiting) = &state.waiting {
        let reason = waiting.reason.as_deref()?;
        let details = match reason {
            starting if STARTING.contains(&starting) => return None,
            pulling if PULLING.contains(&pulling) => Some(format!("image {}", container.image)),
            "CrashLoopBackOff" => last_exit(container),
            _ => waiting.message.clone(),
        };
        let details = details.map(|details| format!(" ({details})"));
        let name = &container.name;
        let details = details.unwrap_or_default();
        return Some(format!("container {name}: {reason}{details}"));
    }
    let terminated = state.terminated.as_ref()?;
    (terminated.exit_code != 0).then(|| {
        format!(
            "container {}: {} (exit code {})",
            container.name,
            terminated.reason.as_deref().unwrap_or("terminated"),
            terminated.exit_code
        )
    })
}

fn last_exit(container: &ContainerStatus) -> Option<String> {
    let last = container.last_state.as_ref()?.terminated.as_ref()?;
    let reason = last.reason.as_deref().unwrap_or("terminated");
    Some(format!("{reason}, exit code {}", last.exit_code))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(status: &Value, expected: Option<&str>) {
        let pod: Pod = serde_json::from_value(json!({"status": status})).unwrap();
        let reason = pod_reason(&pod).map(|reason| reason.text);
        assert_eq!(reason.as_deref(), expected);
    }

    fn container(state: &Value, last_state: &Value) -> Value {
        let container = json!({
            "name": "web", "image": "example.com/web:1", "imageID": "", "ready": false, "restartCount": 7,
            "state": state, "lastState": last_state,
        });
        json!({"phase": "Running", "containerStatuses": [container]})
    }

    #[test]
    fn a_crash_loop_is_reported_with_the_last_exit_code_and_without_what_changes() {
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}});
        let last = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
        check(
            &container(&waiting, &last),
            Some("container web: CrashLoopBackOff (OOMKilled, exit code 137)"),
        );
    }

    #[test]
    fn an_image_that_cannot_be_pulled_is_named() {
        let waiting = json!({"waiting": {"reason": "ErrImagePull", "message": "rpc error"}});
        check(
            &container(&waiting, &json!({})),
            Some("container web: ErrImagePull (image example.com/web:1)"),
        );
    }

    #[test]
    fn an_unschedulable_pod_has_the_message_of_the_scheduler() {
        let condition = json!({
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available",
        });
        check(
            &json!({"phase": "Pending", "conditions": [condition]}),
            Some("Unschedulable: 0/3 nodes are available"),
        );
    }

    #[test]
    fn a_pod_that_starts_or_runs_has_no_reason() {
        let creating = json!({"waiting": {"reason": "ContainerCreating"}});
        check(&container(&creating, &json!({})), None);
        check(&container(&json!({"running": {}}), &json!({})), None);
        check(&json!({"phase": "Pending"}), None);
    }
}
