//! Steps that an external operator does.

use kube::api::{Patch, PatchParams};
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::condition::ConditionStatus;
use serde_json::{Value, json};

use super::fixture::{Fixture, condition, has_condition};

/// What an operator does with plain Kubernetes calls: a server-side apply of its condition.
async fn report(fixture: &Fixture, name: &str, step: &str, status: &str, message: &str) {
    let patch = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": name},
        "status": {"conditions": [{
            "type": step, "status": status, "reason": "Reported", "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    });
    let parameters = PatchParams::apply("my-operator").force();
    let applied = fixture
        .clusters()
        .patch_status(name, &parameters, &Patch::Apply(&patch))
        .await;
    applied.unwrap();
}

fn delegated(step: &'static str) -> impl Fn(&Cluster) -> bool {
    move |cluster| has_condition(cluster, step, ConditionStatus::Unknown, "Delegated")
}

fn features(step: &str, timeout: &str) -> Value {
    json!({"features": {
        "delegateConditions": [step], "delegation": {"owner": "my-operator", "timeout": timeout},
    }})
}

#[tokio::test]
async fn nothing_after_a_delegated_step_starts_before_the_operator_reports() {
    let fixture = Fixture::new().await;
    fixture.create("a", features("EnsureCilium", "1h")).await;
    let cluster = fixture.until("a", delegated("EnsureCilium")).await;
    let message = condition(&cluster, "EnsureCilium").unwrap().message;
    assert!(
        message.starts_with("waiting for my-operator until 20"),
        "{message}"
    );
    assert_eq!(cluster.status.unwrap().phase, ClusterPhase::Initializing);
    assert!(!fixture.hooks().iter().any(|it| it.starts_with("Post")));
    report(&fixture, "a", "EnsureCilium", "True", "").await;
    let cluster = fixture.until_running("a").await;
    assert!(has_condition(
        &cluster,
        "EnsureCilium",
        ConditionStatus::True,
        "Done"
    ));
    assert!(
        fixture
            .hooks()
            .iter()
            .any(|it| it.starts_with("PostClusterInstall"))
    );
    fixture.close().await;
}

#[tokio::test]
async fn a_failure_that_the_operator_reports_fails_the_step() {
    let fixture = Fixture::new().await;
    fixture.create("a", features("EnsureCilium", "1h")).await;
    fixture.until("a", delegated("EnsureCilium")).await;
    report(&fixture, "a", "EnsureCilium", "False", "no network").await;
    let cluster = fixture
        .until("a", |cluster| {
            cluster.status.as_ref().unwrap().phase == ClusterPhase::Failed
        })
        .await;
    let message = cluster.status.unwrap().message;
    assert_eq!(message, "EnsureCilium: failed: no network");
    fixture.close().await;
}

#[tokio::test]
async fn without_an_operator_the_step_times_out() {
    let fixture = Fixture::new().await;
    fixture.create("a", features("EnsureCilium", "300ms")).await;
    let cluster = fixture
        .until("a", |cluster| {
            has_condition(cluster, "EnsureCilium", ConditionStatus::False, "Failed")
        })
        .await;
    let message = condition(&cluster, "EnsureCilium").unwrap().message;
    assert!(
        message.contains("my-operator did not finish the step in time"),
        "{message}"
    );
    fixture.close().await;
}

#[tokio::test]
async fn a_retry_of_a_delegated_step_waits_for_a_new_report() {
    let fixture = Fixture::new().await;
    fixture.create("a", features("EnsureCilium", "1h")).await;
    fixture.until("a", delegated("EnsureCilium")).await;
    report(&fixture, "a", "EnsureCilium", "False", "no network").await;
    let has_failed =
        |cluster: &Cluster| cluster.status.as_ref().unwrap().phase == ClusterPhase::Failed;
    fixture.until("a", has_failed).await;
    let retry = json!({"metadata": {"annotations": {"outrigger.dev/retry": "1"}}});
    fixture.patch("a", retry).await;
    fixture.until("a", delegated("EnsureCilium")).await;
    report(&fixture, "a", "EnsureCilium", "True", "").await;
    fixture.until_running("a").await;
    fixture.close().await;
}
