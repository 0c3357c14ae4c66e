//! When a cluster is where a command wants it to be. Pure.

use kube::{Api, Client, ResourceExt as _};
use outrigger_api::annotation::RETRY;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::step::FlowName;
use outrigger_cluster::lifecycle;
use outrigger_cluster::status::ACCEPTED;

use crate::commands::plugin::progress::{Awaited, Key, phase_and_message};
use crate::commands::plugin::wait_condition::WaitStatus;

/// What a command waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClusterCondition {
    /// It runs with the version of its spec.
    Running {
        /// The version that was requested. A mirror gets it later than the object that it mirrors.
        version: Option<String>,
        /// The retry that was requested.
        retry: Option<String>,
    },
    /// A flow that the user asked for is done.
    Done {
        flow: FlowName,
        /// The value of its annotation.
        request: String,
    },
    Deleted,
}

impl ClusterCondition {
    pub(crate) const RUNNING: Self = Self::Running {
        version: None,
        retry: None,
    };

    /// Where a cluster is headed.
    pub(super) fn of(cluster: &Cluster) -> Self {
        if lifecycle::is_deleted(cluster) {
            Self::Deleted
        } else {
            Self::RUNNING
        }
    }
}

impl Awaited for Cluster {
    type Condition = ClusterCondition;
    const NOUN: &'static str = "cluster";

    fn evaluate(object: Option<&Self>, condition: &ClusterCondition) -> WaitStatus {
        match (object, condition) {
            (None, ClusterCondition::Deleted) => WaitStatus::Met,
            (None, ClusterCondition::Running { .. } | ClusterCondition::Done { .. }) => {
                WaitStatus::Failed("deleted".to_owned())
            }
            (Some(cluster), ClusterCondition::Deleted) => evaluate_deletion(cluster),
            (Some(cluster), ClusterCondition::Done { flow, request }) => {
                evaluate_request(cluster, *flow, request)
            }
            (Some(cluster), ClusterCondition::Running { version, retry }) => {
                evaluate_running(cluster, version.as_deref(), retry.as_deref())
            }
        }
    }

    fn describe(&self) -> String {
        let status = self.status.clone().unwrap_or_default();
        phase_and_message(status.phase, &status.message)
    }

    fn api(client: &Client, _: &[Key]) -> Api<Self> {
        Api::all(client.clone())
    }

    fn show_command((_, name): &Key) -> String {
        format!("outrigger cluster status {name}")
    }

    fn failure_hint(&self) -> Option<String> {
        let name = self.name_any();
        if refusal(self).is_some() {
            return Some("correct the spec of the cluster; nothing was changed".to_owned());
        }
        Some(format!(
            "outrigger cluster logs {name} prints the output of hooks; outrigger cluster retry {name} tries again"
        ))
    }
}

fn evaluate_running(cluster: &Cluster, version: Option<&str>, retry: Option<&str>) -> WaitStatus {
    if lifecycle::is_deleted(cluster) {
        return WaitStatus::Failed("being deleted".to_owned());
    }
    let requested = cluster.annotations().get(RETRY).map(String::as_str);
    let is_mirrored = version.is_none_or(|version| lifecycle::desired_version(cluster) == version)
        && (retry.is_none() || retry == requested);
    if !is_mirrored || !is_observed(cluster) {
        return WaitStatus::Pending("not observed by the controller yet".to_owned());
    }
    if let Some(refusal) = refusal(cluster) {
        return WaitStatus::Failed(format!("refused: {}", refusal.message));
    }
    if is_retry_pending(cluster, requested) {
        return WaitStatus::Pending("about to be tried again".to_owned());
    }
    let is_installed =
        lifecycle::installed_version(cluster) == Some(lifecycle::desired_version(cluster));
    match phase(cluster) {
        ClusterPhase::Running if is_installed => WaitStatus::Met,
        ClusterPhase::Failed => WaitStatus::Failed(cluster.describe()),
        _ => WaitStatus::Pending(cluster.describe()),
    }
}

/// Whether a flow was run for a request.
fn evaluate_request(cluster: &Cluster, flow: FlowName, request: &str) -> WaitStatus {
    if lifecycle::is_deleted(cluster) {
        return WaitStatus::Failed("being deleted".to_owned());
    }
    let status = cluster.status.as_ref();
    let handled = status.and_then(|status| status.requests.get(flow.as_str()));
    if handled.is_some_and(|handled| handled == request) {
        return WaitStatus::Met;
    }
    if let Some(refusal) = refusal(cluster) {
        return WaitStatus::Failed(format!("refused: {}", refusal.message));
    }
    let retry = cluster.annotations().get(RETRY).map(String::as_str);
    let has_failed = phase(cluster) == ClusterPhase::Failed
        && lifecycle::annotated_request(cluster, flow) == Some(request)
        && lifecycle::is_run_of_request(cluster, flow)
        && !is_retry_pending(cluster, retry);
    if has_failed {
        return WaitStatus::Failed(cluster.describe());
    }
    WaitStatus::Pending(cluster.describe())
}

fn evaluate_deletion(cluster: &Cluster) -> WaitStatus {
    let is_pending = !lifecycle::is_deleted(cluster) || lifecycle::is_forced(cluster);
    let requested = cluster.annotations().get(RETRY).map(String::as_str);
    let run = lifecycle::current_run(cluster);
    let has_failed = phase(cluster) == ClusterPhase::Failed
        && run.is_some_and(|run| run.flow == FlowName::Delete)
        && !is_retry_pending(cluster, requested);
    if !is_pending && is_observed(cluster) && (has_failed || refusal(cluster).is_some()) {
        return WaitStatus::Failed(format!("not deleted: {}", cluster.describe()));
    }
    WaitStatus::Pending(cluster.describe())
}

fn phase(cluster: &Cluster) -> ClusterPhase {
    let status = cluster.status.as_ref();
    status.map(|status| status.phase).unwrap_or_default()
}

fn is_observed(cluster: &Cluster) -> bool {
    let status = cluster.status.as_ref();
    status.is_some_and(|status| status.observed_generation == cluster.metadata.generation)
}

/// Why the controller does nothing about the current spec.
pub(super) fn refusal(cluster: &Cluster) -> Option<&Condition> {
    let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().find(|condition| {
        condition.kind == ACCEPTED
            && condition.status == ConditionStatus::False
            && condition.observed_generation == cluster.metadata.generation
    })
}

/// Whether a retry was requested that the flow has not handled. A flow that is completed does not.
fn is_retry_pending(cluster: &Cluster, requested: Option<&str>) -> bool {
    let flow = cluster.status.as_ref().and_then(|it| it.flow.as_ref());
    flow.is_some_and(|flow| {
        !flow.completed && requested.is_some() && flow.retry.as_deref() != requested
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cluster(status: Value) -> Cluster {
        let mut status = status;
        status["observedGeneration"] = json!(2);
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster",
            "metadata": {"name": "a", "generation": 2}, "spec": {"version": "v1.1.0"}, "status": status,
        }))
        .unwrap()
    }

    fn deleted(status: Value) -> Cluster {
        let mut cluster = cluster(status);
        let time = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        cluster.metadata.deletion_timestamp = Some(time);
        cluster
    }

    fn failed(cluster: &Cluster, condition: &ClusterCondition) -> bool {
        matches!(
            Cluster::evaluate(Some(cluster), condition),
            WaitStatus::Failed(_)
        )
    }

    #[test]
    fn a_cluster_runs_when_it_has_the_version_that_was_requested() {
        let running = cluster(json!({"phase": "Running", "version": "1.1.0"}));
        let evaluate = |version: &str| {
            let condition = ClusterCondition::Running {
                version: Some(version.to_owned()),
                retry: None,
            };
            Cluster::evaluate(Some(&running), &condition)
        };
        assert_eq!(evaluate("1.1.0"), WaitStatus::Met);
        // The mirror does not have it yet.
        assert!(matches!(evaluate("1.2.0"), WaitStatus::Pending(_)));
        let refused = cluster(json!({
            "phase": "Running", "version": "1.0.0", "message": "no",
            "conditions": [{
                "type": "Accepted", "status": "False", "reason": "Invalid", "message": "no",
                "lastTransitionTime": "", "observedGeneration": 2,
            }],
        }));
        let reason = WaitStatus::Failed("refused: no".to_owned());
        let evaluated = Cluster::evaluate(Some(&refused), &ClusterCondition::RUNNING);
        assert_eq!(evaluated, reason);
        let hint = |cluster: &Cluster| cluster.failure_hint().unwrap();
        assert!(hint(&refused).starts_with("correct the spec"));
        assert!(hint(&running).contains("outrigger cluster retry a"));
    }

    #[test]
    fn a_deletion_ends_when_the_cluster_is_gone_or_the_flow_has_failed() {
        let condition = ClusterCondition::Deleted;
        assert_eq!(Cluster::evaluate(None, &condition), WaitStatus::Met);
        let flow = json!({"name": "Delete", "run": "2-Delete"});
        let deleting = deleted(json!({"phase": "Terminating", "flow": flow}));
        assert!(!failed(&deleting, &condition));
        let mut stuck = deleted(json!({"phase": "Failed", "flow": flow}));
        assert!(failed(&stuck, &condition));
        // The phase of the creation that failed before.
        let create = json!({"name": "Create", "run": "1-Create"});
        let begun = deleted(json!({"phase": "Failed", "flow": create}));
        assert!(!failed(&begun, &condition));
        let annotations = stuck.metadata.annotations.get_or_insert_default();
        annotations.insert(outrigger_api::annotation::FORCE.into(), "true".into());
        assert!(!failed(&stuck, &condition));
    }

    #[test]
    fn a_request_is_done_when_the_status_has_it_and_fails_with_its_own_run() {
        let condition = ClusterCondition::Done {
            flow: FlowName::RenewCertificates,
            request: "now".to_owned(),
        };
        let requested = |status| {
            let mut cluster = cluster(status);
            let annotations = cluster.metadata.annotations.get_or_insert_default();
            let annotation = FlowName::RenewCertificates.request().unwrap();
            annotations.insert(annotation.to_owned(), "now".to_owned());
            cluster
        };
        let done = requested(json!({"phase": "Running", "requests": {"RenewCertificates": "now"}}));
        assert_eq!(Cluster::evaluate(Some(&done), &condition), WaitStatus::Met);
        let before = json!({"name": "RenewCertificates", "run": "2-RenewCertificates-0"});
        let failed_before =
            requested(json!({"phase": "Failed", "version": "1.1.0", "flow": before}));
        assert!(!failed(&failed_before, &condition));
        let mut own = failed_before;
        let lifecycle::Next::Run(run) = lifecycle::next(&own, &[], None) else {
            panic!("nothing is due");
        };
        own.status.as_mut().unwrap().flow.as_mut().unwrap().run = run.id;
        assert!(failed(&own, &condition));
    }

    #[test]
    fn a_failure_before_the_retry_does_not_count() {
        let condition = ClusterCondition::Running {
            version: None,
            retry: Some("now".to_owned()),
        };
        let flow = json!({"name": "Create", "run": "1-Create", "retry": "before"});
        let mut cluster = cluster(json!({"phase": "Failed", "flow": flow}));
        assert!(!failed(&cluster, &condition));
        let annotations = cluster.metadata.annotations.get_or_insert_default();
        annotations.insert(RETRY.to_owned(), "now".to_owned());
        assert!(!failed(&cluster, &condition));
        let status = cluster.status.as_mut().unwrap();
        status.flow.as_mut().unwrap().retry = Some("now".to_owned());
        assert!(failed(&cluster, &condition));
    }
}
