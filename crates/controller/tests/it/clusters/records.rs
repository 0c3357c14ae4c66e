//! What is recorded decides: everything else in a status follows from it, and from the current spec.

use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::condition::Condition;
use outrigger_api::flow_status::FlowStatus;
use outrigger_api::machine::{Machine, MachinePhase};
use serde_json::json;

use super::fixture::{Fixture, condition};

fn is_observed(cluster: &Cluster) -> bool {
    let observed = cluster
        .status
        .as_ref()
        .and_then(|it| it.observed_generation);
    observed == cluster.metadata.generation
}

#[tokio::test]
async fn a_change_that_needs_no_flow_is_observed() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    fixture.add_worker("w", "a", "10.0.0.9").await;
    let is_running = |machine: &Machine| {
        let status = machine.status.clone().unwrap_or_default();
        status.phase == MachinePhase::Running
            && status.observed_generation == machine.metadata.generation
    };
    fixture.until_machine("w", is_running).await;
    let before = fixture.hooks().len();
    fixture
        .patch("a", json!({"spec": {"displayName": "A"}}))
        .await;
    let cluster = fixture.until("a", is_observed).await;
    assert_eq!(cluster.metadata.generation, Some(2));
    let machine = json!({"spec": {"labels": {"a": "b"}}});
    fixture.patch_machine("w", machine).await.unwrap();
    let machine = fixture.until_machine("w", is_running).await;
    assert_eq!(machine.metadata.generation, Some(2));
    assert_eq!(fixture.hooks().len(), before);
    fixture.close().await;
}

#[tokio::test]
async fn a_status_that_somebody_edits_is_written_again_from_the_records() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    let cluster = fixture.until_running("a").await;
    let machine = fixture.machine_api().get("a-10-0-0-2").await.unwrap();
    let condition = json!({
        "type": "EnsurePreflight", "status": "False", "reason": "Edited", "message": "edited",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let edited = json!({
        "phase": "Failed", "message": "edited", "observedGeneration": 77, "machines": {"Failed": 9},
        "conditions": [condition],
    });
    fixture
        .patch_status(fixture.clusters(), "a", edited.clone())
        .await;
    fixture
        .patch_status(fixture.machine_api(), "a-10-0-0-2", edited)
        .await;
    let kinds = |conditions: &[Condition]| {
        let summary = conditions
            .iter()
            .map(|it| (it.kind.clone(), it.status, it.reason.clone()));
        let mut summary: Vec<_> = summary.collect();
        summary.sort_by(|a, b| a.0.cmp(&b.0));
        summary
    };
    let (cluster, machine) = (cluster.status.unwrap(), machine.status.unwrap());
    fixture
        .until("a", |it| {
            let status = it.status.clone().unwrap();
            status.phase == ClusterPhase::Running
                && status.message.is_empty()
                && status.machines == cluster.machines
                && kinds(&status.conditions) == kinds(&cluster.conditions)
                && is_observed(it)
        })
        .await;
    fixture
        .until_machine("a-10-0-0-2", |it| {
            let status = it.status.clone().unwrap();
            (status.phase, &status.message) == (MachinePhase::Running, &String::new())
                && kinds(&status.conditions) == kinds(&machine.conditions)
                && status.observed_generation == machine.observed_generation
        })
        .await;
    fixture.close().await;
}

/// The record of a flow in which a step failed.
fn failed(run: &str) -> serde_json::Value {
    let task = json!({
        "step": "EnsurePreflight", "state": "Failed", "since": "2026-01-01T00:00:00Z", "message": "edited",
    });
    json!({"name": "Create", "run": run, "step": "EnsurePreflight", "tasks": [task]})
}

#[tokio::test]
async fn a_running_cluster_does_not_report_failures_that_somebody_wrote_into_its_records() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    let before = fixture.hooks().len();
    let is_true = |flow: Option<FlowStatus>, conditions: &[Condition]| {
        let flow = flow.unwrap_or_default();
        flow.step.is_none()
            && flow.tasks.iter().all(|it| it.message != "edited")
            && conditions.iter().all(|it| it.reason != "Failed")
    };
    let edited = json!({"flow": failed("1-Create")});
    fixture
        .patch_status(fixture.machine_api(), "a-10-0-0-2", edited.clone())
        .await;
    fixture
        .until_machine("a-10-0-0-2", |it| {
            let status = it.status.clone().unwrap();
            status.phase == MachinePhase::Running
                && status.message.is_empty()
                && is_true(status.flow, &status.conditions)
        })
        .await;
    for is_completed in [true, false] {
        let mut edited = edited.clone();
        edited["flow"]["completed"] = json!(is_completed);
        fixture.patch_status(fixture.clusters(), "a", edited).await;
        fixture
            .until("a", |it| {
                let status = it.status.clone().unwrap();
                status.phase == ClusterPhase::Running
                    && status.message.is_empty()
                    && is_true(status.flow, &status.conditions)
            })
            .await;
    }
    // Nothing is done again.
    assert_eq!(fixture.hooks().len(), before);
    fixture.close().await;
}

#[tokio::test]
async fn a_refused_cluster_does_not_keep_a_phase_that_somebody_wrote() {
    let fixture = Fixture::new().await;
    let skip = json!({"features": {"skipConditions": ["EnsureKublet"]}});
    fixture.create("a", skip).await;
    let has_phase = |phase: ClusterPhase| {
        move |it: &Cluster| {
            let status = it.status.clone().unwrap_or_default();
            status.phase == phase
                && status.machines.is_empty()
                && status.message.contains("EnsureKublet")
        }
    };
    fixture.until("a", has_phase(ClusterPhase::Failed)).await;
    let edited = json!({"phase": "Running", "message": "edited", "machines": {"Running": 3}});
    fixture.patch_status(fixture.clusters(), "a", edited).await;
    fixture.until("a", has_phase(ClusterPhase::Failed)).await;
    fixture.close().await;
}

#[tokio::test]
async fn a_failure_of_a_step_that_is_no_longer_part_of_the_flow_is_forgotten() {
    let fixture = Fixture::new().await;
    let features = json!({"features": {
        "delegateConditions": ["EnsureCilium"],
        "delegation": {"owner": "my-operator", "timeout": "300ms"},
    }});
    fixture.create("a", features).await;
    let failed = |cluster: &Cluster| {
        let status = cluster.status.clone().unwrap_or_default();
        status.phase == ClusterPhase::Failed && status.message.contains("did not finish the step")
    };
    fixture.until("a", failed).await;
    // The provider has nothing to do in this step.
    let features = json!({"delegateConditions": null});
    fixture
        .patch("a", json!({"spec": {"features": features}}))
        .await;
    let cluster = fixture.until_running("a").await;
    assert_eq!(condition(&cluster, "EnsureCilium"), None);
    assert_eq!(cluster.status.unwrap().message, "");
    fixture.close().await;
}

#[tokio::test]
async fn a_hook_that_is_taken_out_of_the_spec_has_no_condition() {
    let fixture = Fixture::new().await;
    fixture.machines.fail("10.0.0.1:22", "PreClusterInstall", 9);
    let features = json!({"features": {"hookAttempts": 1}});
    fixture.create("a", features).await;
    let failed = |cluster: &Cluster| {
        let status = cluster.status.clone().unwrap_or_default();
        status.phase == ClusterPhase::Failed
    };
    fixture.until("a", failed).await;
    let hooks = json!({"hooks": {"PreClusterInstall": null}});
    fixture
        .patch("a", json!({"spec": {"features": hooks}}))
        .await;
    let cluster = fixture.until_running("a").await;
    assert_eq!(condition(&cluster, "EnsurePreClusterInstallHook"), None);
    fixture.close().await;
}
