//! Controllers of Pods, and what scales or protects them.

use serde_json::{Map, Value, json};

use super::{Rule, default, items, labels_from_template, part, template_labels, text};

pub(super) fn of_type(name: &str) -> Option<Rule> {
    let rule: Rule = match name {
        "apps/v1.Deployment" => deployment,
        "apps/v1.StatefulSet" => stateful_set,
        "apps/v1.DaemonSet" => daemon_set,
        "apps/v1.ReplicaSet" => replica_set,
        "core/v1.ReplicationController" => replication_controller,
        "batch/v1.Job" => job,
        "batch/v1.CronJob" => cron_job,
        "batch/v1.PodFailurePolicyOnPodConditionsPattern" => |pattern| {
            default(pattern, [("status", json!("True"))]);
        },
        "autoscaling/v1.HorizontalPodAutoscaler" => |autoscaler| {
            if let Some(spec) = part(autoscaler, "spec") {
                default(spec, [("minReplicas", json!(1))]);
            }
        },
        "autoscaling/v2.HorizontalPodAutoscaler" => autoscaler,
        _ => return None,
    };
    Some(rule)
}

fn deployment(deployment: &mut Map<String, Value>) {
    let Some(spec) = part(deployment, "spec") else {
        return;
    };
    default(
        spec,
        [
            ("replicas", json!(1)),
            ("revisionHistoryLimit", json!(10)),
            ("progressDeadlineSeconds", json!(600)),
        ],
    );
    if let Some(rolling) = rolling_update(spec, "strategy") {
        default(
            rolling,
            [("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))],
        );
    }
}

/// The details of a rolling update, if that is the strategy or none is given.
fn rolling_update<'a>(
    spec: &'a mut Map<String, Value>,
    key: &str,
) -> Option<&'a mut Map<String, Value>> {
    let strategy = part(spec, key)?;
    default(strategy, [("type", json!("RollingUpdate"))]);
    if text(strategy, "type") != "RollingUpdate" {
        return None;
    }
    part(strategy, "rollingUpdate")
}

fn daemon_set(set: &mut Map<String, Value>) {
    let Some(spec) = part(set, "spec") else {
        return;
    };
    default(spec, [("revisionHistoryLimit", json!(10))]);
    if let Some(rolling) = rolling_update(spec, "updateStrategy") {
        default(
            rolling,
            [("maxUnavailable", json!(1)), ("maxSurge", json!(0))],
        );
    }
}

fn stateful_set(set: &mut Map<String, Value>) {
    let Some(spec) = part(set, "spec") else {
        return;
    };
    default(
        spec,
        [
            ("podManagementPolicy", json!("OrderedReady")),
            ("replicas", json!(1)),
            ("revisionHistoryLimit", json!(10)),
        ],
    );
    if let Some(retention) = part(spec, "persistentVolumeClaimRetentionPolicy") {
        default(
            retention,
            [
                ("whenDeleted", json!("Retain")),
                ("whenScaled", json!("Retain")),
            ],
        );
    }
    for claim in items(spec, "volumeClaimTemplates") {
        claim.insert("apiVersion".to_owned(), json!("v1"));
        claim.insert("kind".to_owned(), json!("PersistentVolumeClaim"));
    }
    let Some(strategy) = part(spec, "updateStrategy") else {
        return;
    };
    if !strategy.contains_key("type") {
        strategy.insert("type".to_owned(), json!("RollingUpdate"));
        part(strategy, "rollingUpdate");
    }
    let is_rolling = text(strategy, "type") == "RollingUpdate";
    if let Some(Value::Object(rolling)) = strategy.get_mut("rollingUpdate")
        && is_rolling
    {
        default(rolling, [("partition", json!(0))]);
    }
}

fn replica_set(set: &mut Map<String, Value>) {
    if let Some(spec) = part(set, "spec") {
        default(spec, [("replicas", json!(1))]);
    }
}

fn replication_controller(controller: &mut Map<String, Value>) {
    let labels = template_labels(controller);
    if let Some(spec) = part(controller, "spec") {
        default(spec, [("replicas", json!(1))]);
        if let Some(labels) = labels.clone() {
            spec.entry("selector").or_insert(labels);
        }
    }
    labels_from_template(controller, labels);
}

fn job(job: &mut Map<String, Value>) {
    let labels = template_labels(job);
    if let Some(spec) = part(job, "spec") {
        if !spec.contains_key("parallelism") {
            default(spec, [("completions", json!(1))]);
        }
        let limit = if spec.contains_key("backoffLimitPerIndex") {
            i32::MAX
        } else {
            6
        };
        let replacement = if spec.contains_key("podFailurePolicy") {
            "Failed"
        } else {
            "TerminatingOrFailed"
        };
        default(
            spec,
            [
                ("parallelism", json!(1)),
                ("backoffLimit", json!(limit)),
                ("completionMode", json!("NonIndexed")),
                ("suspend", json!(false)),
                ("podReplacementPolicy", json!(replacement)),
                ("manualSelector", json!(false)),
            ],
        );
    }
    labels_from_template(job, labels);
}

fn cron_job(job: &mut Map<String, Value>) {
    if let Some(spec) = part(job, "spec") {
        default(
            spec,
            [
                ("concurrencyPolicy", json!("Allow")),
                ("suspend", json!(false)),
                ("successfulJobsHistoryLimit", json!(3)),
                ("failedJobsHistoryLimit", json!(1)),
            ],
        );
    }
}

fn autoscaler(autoscaler: &mut Map<String, Value>) {
    let Some(spec) = part(autoscaler, "spec") else {
        return;
    };
    let cpu = json!([{
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }]);
    default(spec, [("minReplicas", json!(1)), ("metrics", cpu)]);
    let Some(Value::Object(behavior)) = spec.get_mut("behavior") else {
        return;
    };
    let policy =
        |type_: &str, value: i64| json!({"type": type_, "value": value, "periodSeconds": 15});
    if let Some(up) = part(behavior, "scaleUp") {
        let policies = json!([policy("Pods", 4), policy("Percent", 100)]);
        default(
            up,
            [
                ("stabilizationWindowSeconds", json!(0)),
                ("selectPolicy", json!("Max")),
                ("policies", policies),
            ],
        );
    }
    if let Some(down) = part(behavior, "scaleDown") {
        let policies = json!([policy("Percent", 100)]);
        default(
            down,
            [("selectPolicy", json!("Max")), ("policies", policies)],
        );
    }
}
