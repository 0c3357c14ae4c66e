//! Which state machine is for which kind.

use serde_json::Value;

use super::step::{Step, View};
use super::{
    bystanders, claim, cron_job, daemon_set, deployment, job, node, pod, replica_set, service,
    stateful_set,
};

/// What to do about an object.
pub(super) fn next(plural: &str, object: &Value, view: &View<'_>) -> Step {
    match plural {
        "cronjobs" => cron_job::next(object, view),
        "daemonsets" => daemon_set::next(object, view),
        "deployments" => deployment::next(object, view),
        "endpoints" => service::endpoints_next(object, view),
        "horizontalpodautoscalers" => bystanders::autoscaler_next(object, view),
        "jobs" => job::next(object, view),
        "nodes" => node::next(object, view),
        "persistentvolumeclaims" => claim::next(object, view),
        "persistentvolumes" => claim::volume_next(object, view),
        "poddisruptionbudgets" => bystanders::budget_next(object, view),
        "pods" => pod::next(object, view),
        "replicasets" => replica_set::next(object, view),
        "services" => service::next(object, view),
        "statefulsets" => stateful_set::next(object, view),
        _ => Step::nothing(),
    }
}
