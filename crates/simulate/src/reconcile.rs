//! Dispatches an object to the `reconcile` function of its kind.

use serde_json::Value;

use super::plan::{Context, Plan};
use super::{
    autoscaler, cron_job, daemon_set, deployment, disruption_budget, job, node,
    persistent_volume_claim, pod, replica_set, service, stateful_set,
};

pub(super) fn reconcile(plural: &str, object: &Value, ctx: &Context<'_>) -> Plan {
    match plural {
        "cronjobs" => cron_job::reconcile(object, ctx),
        "daemonsets" => daemon_set::reconcile(object, ctx),
        "deployments" => deployment::reconcile(object, ctx),
        "endpoints" => service::reconcile_endpoints(object, ctx),
        "horizontalpodautoscalers" => autoscaler::reconcile(object, ctx),
        "jobs" => job::reconcile(object, ctx),
        "nodes" => node::reconcile(object, ctx),
        "persistentvolumeclaims" => persistent_volume_claim::reconcile(object, ctx),
        "persistentvolumes" => persistent_volume_claim::reconcile_volume(object, ctx),
        "poddisruptionbudgets" => disruption_budget::reconcile(object, ctx),
        "pods" => pod::reconcile(object, ctx),
        "replicasets" => replica_set::reconcile(object, ctx),
        "replicationcontrollers" => replica_set::reconcile_controller(object, ctx),
        "services" => service::reconcile(object, ctx),
        "statefulsets" => stateful_set::reconcile(object, ctx),
        _ => Plan::none(),
    }
}
