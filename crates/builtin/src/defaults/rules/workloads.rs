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
        "apps/v1.Deployment" => deployment::set_defaults,
        "apps/v1.StatefulSet" => stateful_set::set_defaults,
        "apps/v1.DaemonSet" => daemon_set::set_defaults,
        "apps/v1.ReplicaSet" => replica_set::set_defaults,
        "core/v1.ReplicationController" => replication_controller::set_defaults,
        "batch/v1.Job" => job::set_defaults,
        "batch/v1.CronJob" => cron_job::set_defaults,
        "batch/v1.PodFailurePolicyOnPodConditionsPattern" => |pattern| {
            set_missing(pattern, [("status", json!("True"))]);
        },
        "autoscaling/v1.HorizontalPodAutoscaler" => |autoscaler| {
            if let Some(spec) = object_mut(autoscaler, "spec") {
                set_missing(spec, [("minReplicas", json!(1))]);
            }
        },
        "autoscaling/v2.HorizontalPodAutoscaler" => horizontal_pod_autoscaler::set_defaults,
        _ => return None,
    };
    Some(rule)
}
