//! What Clusters and Machines have in common for operators.

use std::fmt::Debug;

use k8s_openapi::ClusterResourceScope;
use kube::Resource;
use outrigger_api::cluster::Cluster;
use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::flow_status::{DelegationLease, FlowStatus, TaskState, TaskStatus};
use outrigger_api::machine::Machine;
use serde_json::{Value, json};

/// The reason of the condition of a step that waits for its operator.
const DELEGATED: &str = "Delegated";

/// An object whose status has steps.
pub(crate) trait Object:
    Resource<DynamicType = (), Scope = ClusterResourceScope>
    + Clone
    + Debug
    + serde::de::DeserializeOwned
    + Send
    + Sync
    + 'static
{
    fn flow(&self) -> Option<&FlowStatus>;
    fn conditions(&self) -> &[Condition];
    fn delegations(&self) -> &[DelegationLease];
    /// The name of the cluster that it belongs to.
    fn cluster(&self) -> &str;
}

impl Object for Cluster {
    fn flow(&self) -> Option<&FlowStatus> {
        self.status.as_ref()?.flow.as_ref()
    }

    fn conditions(&self) -> &[Condition] {
        let status = self.status.as_ref();
        status.map_or(&[], |status| &status.conditions)
    }

    fn delegations(&self) -> &[DelegationLease] {
        let status = self.status.as_ref();
        status.map_or(&[], |status| &status.delegations)
    }

    fn cluster(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }
}

impl Object for Machine {
    fn flow(&self) -> Option<&FlowStatus> {
        self.status.as_ref()?.flow.as_ref()
    }

    fn conditions(&self) -> &[Condition] {
        let status = self.status.as_ref();
        status.map_or(&[], |status| &status.conditions)
    }

    fn delegations(&self) -> &[DelegationLease] {
        let status = self.status.as_ref();
        status.map_or(&[], |status| &status.delegations)
    }

    fn cluster(&self) -> &str {
        &self.spec.cluster
    }
}

/// The record of a step that waits for an operator, which has not reported yet.
pub(crate) fn waiting<'a, K: Object>(object: &'a K, step: &str) -> Option<&'a TaskStatus> {
    let mut tasks = object.flow()?.tasks.iter();
    let task = tasks.find(|task| task.step == step && task.state == TaskState::Delegated)?;
    let mut conditions = object.conditions().iter();
    let condition = conditions.find(|condition| condition.kind == step)?;
    let is_waiting = condition.status == ConditionStatus::Unknown && condition.reason == DELEGATED;
    is_waiting.then_some(task)
}

/// The status patch that reports the result of a step and releases its lease.
pub(crate) fn report<K: Object>(
    object: &K,
    step: &str,
    result: &Result<(), String>,
    now: &str,
) -> Value {
    let (status, reason, message) = match result {
        Ok(()) => (ConditionStatus::True, "Finished", ""),
        Err(message) => (ConditionStatus::False, "OperatorFailed", message.as_str()),
    };
    let mut conditions = object.conditions().to_vec();
    conditions.retain(|condition| condition.kind != step);
    conditions.push(Condition {
        kind: step.to_owned(),
        status,
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: now.to_owned(),
        observed_generation: object.meta().generation,
    });
    let mut delegations = object.delegations().to_vec();
    delegations.retain(|lease| lease.step != step);
    patch(
        object,
        &json!({"conditions": conditions, "delegations": delegations}),
    )
}

/// A status patch that fails if the object has changed since it was read.
pub(crate) fn patch<K: Object>(object: &K, status: &Value) -> Value {
    let metadata = object.meta();
    json!({
        "metadata": {"resourceVersion": metadata.resource_version, "uid": metadata.uid},
        "status": status,
    })
}
