//! The records of revisions that were applied and did not become healthy, and what follows them.

use outrigger_api::plugin::Phase;
use outrigger_release::{Cluster, ReleaseId, list_revisions};
use outrigger_testing::embedded_api::charts;
use serde_json::{Value, json};

use crate::harness::Harness;

/// Status and description of the revisions of release `web`, oldest first.
async fn history(harness: &Harness) -> Vec<(String, String)> {
    let cluster = Cluster::new(harness.client.clone());
    let id = ReleaseId::new("default", "web");
    let revisions = list_revisions(&cluster, &id).await.unwrap().into_iter();
    revisions
        .map(|revision| (revision.status.to_string(), revision.description))
        .collect()
}

async fn statuses(harness: &Harness) -> Vec<String> {
    let history = history(harness).await.into_iter();
    history.map(|(status, _)| status).collect()
}

fn simulate(behavior: &str) -> Value {
    json!({"spec": {"values": {"simulate": behavior}}})
}

#[tokio::test]
async fn an_upgrade_that_does_not_become_healthy_is_recorded_as_failed() {
    let harness = Harness::new().await;
    harness.create("web", "web", json!({"timeout": "1s"})).await;
    harness.until_ready("web").await;
    harness.patch("web", simulate("never-ready")).await;
    harness.until_phase("web", Phase::Failed).await;
    let failed = history(&harness).await;
    assert_eq!(statuses(&harness).await, ["deployed", "failed"]);
    let description = &failed[1].1;
    let expected = "Upgrade \"web\" failed: timed out: Deployment default/web: ";
    assert!(description.starts_with(expected), "{description}");

    harness.patch("web", simulate("normal")).await;
    harness.until_ready("web").await;
    assert_eq!(
        statuses(&harness).await,
        ["superseded", "failed", "deployed"]
    );
    harness.close().await;
}

#[tokio::test]
async fn a_revision_that_becomes_healthy_after_the_timeout_is_deployed() {
    let harness = Harness::new().await;
    let spec = json!({"timeout": "1s", "values": {"simulate": "slow=4"}});
    harness.create("web", "web", spec).await;
    harness.until_phase("web", Phase::Failed).await;
    let (status, description) = history(&harness).await.remove(0);
    assert_eq!(status, "failed");
    assert!(
        description.starts_with("Release \"web\" failed: timed out: "),
        "{description}"
    );
    harness.until_ready("web").await;
    let deployed = ("deployed".to_owned(), "Install complete".to_owned());
    assert_eq!(history(&harness).await, [deployed]);
    harness.close().await;
}

#[tokio::test]
async fn a_failed_upgrade_is_rolled_back_to_the_last_revision_that_was_healthy() {
    let harness = Harness::new().await;
    harness.create("web", "web", json!({"timeout": "1s"})).await;
    harness.until_ready("web").await;
    harness.patch("web", simulate("never-ready")).await;
    harness.until_phase("web", Phase::Failed).await;
    let still_bad =
        json!({"spec": {"rollback": true, "values": {"simulate": "never-ready", "text": "other"}}});
    harness.patch("web", still_bad).await;
    harness.until_reason("web", "RolledBack").await;
    let (status, description) = history(&harness).await.pop().unwrap();
    assert_eq!(
        (status.as_str(), description.as_str()),
        ("deployed", "Rollback to 1")
    );
    assert_eq!(harness.text("web").await.as_deref(), Some("hello"));
    harness.close().await;
}

#[tokio::test]
async fn a_deadline_that_an_earlier_revision_exceeded_does_not_fail_the_fix() {
    let harness = Harness::new().await;
    let deadline =
        charts::DEPLOYMENT.replace("spec:\n  rep", "spec:\n  progressDeadlineSeconds: 1\n  rep");
    charts::write(
        harness.charts.path(),
        "late",
        "1.0.0",
        &[("web.yaml", &deadline)],
    );
    harness.create("web", "late", json!({})).await;
    harness.until_ready("web").await;
    harness.patch("web", simulate("never-ready")).await;
    let failed = harness.until_phase("web", Phase::Failed).await;
    let message = &failed.condition("Ready").unwrap().message;
    assert!(message.contains("Progress deadline exceeded"), "{message}");
    // The controller of Deployments reuses the ReplicaSet of the first revision.
    harness
        .patch("web", json!({"spec": {"values": null}}))
        .await;
    let fixed = harness
        .until("web", |plugin| {
            plugin.is_observed() && matches!(plugin.phase(), Phase::Ready | Phase::Failed)
        })
        .await;
    assert_eq!(fixed.phase(), Phase::Ready, "{:#?}", fixed.status);
    harness.close().await;
}

/// The condition Healthy was that of the revision before, and the message that of the Deployment only.
#[tokio::test]
async fn an_upgrade_that_can_be_rolled_back_reports_why_its_pods_are_not_ready() {
    let harness = Harness::new().await;
    let spec = json!({"rollback": true, "timeout": "60s"});
    harness.create("web", "web", spec).await;
    harness.until_ready("web").await;
    harness.patch("web", simulate("crash-loop")).await;
    let is_explained = |plugin: &outrigger_api::plugin::Plugin| {
        let ready = plugin.condition("Ready");
        ready.is_some_and(|ready| ready.message.contains("CrashLoopBackOff"))
    };
    let plugin = harness.until("web", is_explained).await;
    assert_eq!(plugin.phase(), Phase::Upgrading);
    let healthy = plugin.condition("Healthy").unwrap();
    assert_eq!(healthy.reason, "Progressing");
    assert_eq!(
        healthy.status,
        outrigger_api::condition::ConditionStatus::False
    );
    assert!(healthy.message.contains("CrashLoopBackOff"), "{healthy:?}");
    harness.close().await;
}

#[tokio::test]
async fn a_rollback_reports_the_health_of_what_it_restored() {
    let harness = Harness::new().await;
    let spec = json!({"rollback": true, "timeout": "4s"});
    harness.create("web", "web", spec).await;
    harness.until_ready("web").await;
    harness.patch("web", simulate("never-ready")).await;
    let is_rolled_back = |plugin: &outrigger_api::plugin::Plugin| {
        let ready = plugin.condition("Ready");
        ready.is_some_and(|ready| ready.reason == "RolledBack")
    };
    let plugin = harness.until("web", is_rolled_back).await;
    let healthy = plugin.condition("Healthy").unwrap();
    assert_eq!(healthy.reason, "Healthy", "{healthy:?}");
    harness.close().await;
}
