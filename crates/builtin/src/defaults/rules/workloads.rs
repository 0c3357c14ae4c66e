//! Defaults of the groups `apps`, `autoscaling` and `batch`.

use serde_json::json;

use super::Rule;
use crate::apps::{daemon_set, deployment, replica_set, stateful_set};
use crate::autoscaling::horizontal_pod_autoscaler;
use crate::batch::{cron_job, job};
use crate::core::replication_controller;
use crate::fields::{object_mut, set_missing};

pub(super) fn of_type(name: &str) -> Option<Rule> {
    let rule: Rule = match name {
        "apps.Deployment" => deployment::set_defaults,
        "apps.StatefulSet" => stateful_set::set_defaults,
        "apps.DaemonSet" => daemon_set::set_defaults,
        "apps.ReplicaSet" => replica_set::set_defaults,
        "core.ReplicationController" => replication_controller::set_defaults,
        "batch.Job" => job::set_defaults,
        "batch.CronJob" => cron_job::set_defaults,
        "batch.PodFailurePolicyOnPodConditionsPattern" => |pattern| {
            set_missing(pattern, [("status", json!("True"))]);
        },
        "autoscaling1.HorizontalPodAutoscaler" => |autoscaler| {
            if let Some(spec) = object_mut(autoscaler, "spec") {
                set_missing(spec, [("minReplicas", json!(1))]);
            }
        },
        "autoscaling2.HorizontalPodAutoscaler" => horizontal_pod_autoscaler::set_defaults,
        _ => return None,
    };
    Some(rule)
}
