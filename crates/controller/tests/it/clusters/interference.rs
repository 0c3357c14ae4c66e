//! What others do meanwhile: invalid specs, shared machines, changes and deletions in the middle of a flow.

use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::condition::ConditionStatus;
use outrigger_api::flow_status::{FlowStatus, TaskState};
use outrigger_api::machine::MachinePhase;
use serde_json::json;

use super::fixture::{FIRST, Fixture, SECOND, has_condition};

#[tokio::test]
async fn an_invalid_spec_is_refused_before_any_machine_is_touched() {
    let fixture = Fixture::new().await;
    let skip = json!({"features": {"skipConditions": ["EnsureKublet"]}});
    fixture.create("a", skip).await;
    let refused =
        |cluster: &Cluster| has_condition(cluster, "Accepted", ConditionStatus::False, "Invalid");
    let cluster = fixture.until("a", refused).await;
    let message = cluster.status.unwrap().message;
    assert!(message.contains("did you mean EnsureKubelet?"), "{message}");
    assert_eq!(fixture.hooks(), [""; 0]);
    fixture
        .patch("a", json!({"spec": {"features": {"skipConditions": null}}}))
        .await;
    fixture.until_running("a").await;
    fixture.close().await;
}

#[tokio::test]
async fn a_missing_file_is_reported_and_a_deletion_is_still_possible() {
    let fixture = Fixture::new().await;
    fs_err::remove_file(fixture.files.path().join("PreInstall")).unwrap();
    fixture.create("a", json!({})).await;
    let refused = |cluster: &Cluster| {
        has_condition(cluster, "Accepted", ConditionStatus::False, "FilesInvalid")
    };
    let cluster = fixture.until("a", refused).await;
    let message = cluster.status.unwrap().message;
    assert!(message.contains("PreInstall"), "{message}");
    fixture.delete("a").await;
    fixture.until_deleted("a").await;
    fixture.close().await;
}

#[tokio::test]
async fn a_machine_belongs_to_the_first_cluster_that_claims_it() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    let before = fixture.hooks().len();
    let machines = json!({"machines": [{"ip": "10.0.0.2", "password": "eA=="}]});
    fixture.create("b", machines).await;
    let cluster = fixture
        .until("b", |cluster| {
            has_condition(
                cluster,
                "Accepted",
                ConditionStatus::False,
                "MachineRefused",
            )
        })
        .await;
    let message = cluster.status.unwrap().message;
    let expected = "b-10-0-0-2: 10.0.0.2:22 belongs to machine a-10-0-0-2 of cluster a";
    assert_eq!(message, expected);
    assert_eq!(fixture.hooks().len(), before);
    fixture.delete("a").await;
    fixture.until_deleted("a").await;
    fixture.until_running("b").await;
    fixture.close().await;
}

#[tokio::test]
async fn a_refused_cluster_keeps_one_status_and_is_not_written_again() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    // Both machines belong to the other cluster.
    fixture.create("b", json!({})).await;
    let refused = |cluster: &Cluster| {
        has_condition(
            cluster,
            "Accepted",
            ConditionStatus::False,
            "MachineRefused",
        )
    };
    let cluster = fixture.until("b", refused).await;
    let message = cluster.status.unwrap().message;
    let expected = "b-10-0-0-1: 10.0.0.1:22 belongs to machine a-10-0-0-1 of cluster a";
    assert_eq!(message, expected);
    fixture.harness.connection.take_requests();
    let machines = json!([{"ip": "10.0.0.3", "password": "eA=="}]);
    fixture.create("c", json!({"machines": machines})).await;
    fixture.until_running("c").await;
    let mut requests = fixture.harness.connection.take_requests();
    requests.retain(|it| it.starts_with("PATCH") && it.contains("/b"));
    assert_eq!(requests, [""; 0]);
    // The address is free when the other machine has another one.
    let machines =
        json!([{"ip": "10.0.0.7", "password": "eA=="}, {"ip": "10.0.0.8", "password": "eA=="}]);
    fixture
        .patch("a", json!({"spec": {"machines": machines}}))
        .await;
    fixture.until_running("b").await;
    fixture.close().await;
}

#[tokio::test]
async fn a_machine_name_of_another_cluster_is_reported() {
    let fixture = Fixture::new().await;
    fixture.add_worker("a-10-0-0-1", "other", "10.0.0.9").await;
    fixture.create("a", json!({})).await;
    let cluster = fixture
        .until("a", |cluster| {
            let kind = ("Accepted", ConditionStatus::False, "MachineRefused");
            has_condition(cluster, kind.0, kind.1, kind.2)
        })
        .await;
    assert_eq!(
        cluster.status.unwrap().message,
        "a-10-0-0-1: a machine of this name belongs to cluster other"
    );
    fixture.close().await;
}

#[tokio::test]
async fn a_cluster_that_is_deleted_while_it_is_created_stops_what_runs() {
    let fixture = Fixture::new().await;
    fixture.machines.hang(SECOND, "PreInstall");
    fixture.create("a", json!({})).await;
    fixture.machines.until_begun(SECOND, "PreInstall").await;
    fixture.delete("a").await;
    fixture.until_deleted("a").await;
    let hooks = fixture.hooks();
    assert!(
        !hooks
            .iter()
            .any(|it| it.starts_with("PostInstall@10.0.0.2")),
        "{hooks:?}"
    );
    assert_eq!(
        hooks[hooks.len() - 2..],
        ["PreClusterDelete@10.0.0.1", "PostClusterDelete@10.0.0.1"]
    );
    assert_eq!(fixture.machines.files(SECOND).len(), 0);
    fixture.close().await;
}

/// Whoever edits the status of a cluster could otherwise make it wait until the timeout of the hook.
#[tokio::test]
async fn the_result_of_a_hook_counts_when_its_record_is_edited_while_it_runs() {
    let fixture = Fixture::new().await;
    let timeout = json!({"features": {"hookTimeout": "24h"}});
    fixture.machines.hang(FIRST, "PreClusterInstall");
    fixture.machines.hang(SECOND, "PreInstall");
    fixture.create("a", timeout).await;
    fixture
        .machines
        .until_begun(FIRST, "PreClusterInstall")
        .await;
    let clusters = fixture.clusters();
    fixture
        .patch_status(clusters, "a", json!({"flow": null, "hooks": null}))
        .await;
    let is_running = |flow: Option<&FlowStatus>| {
        let mut tasks = flow.into_iter().flat_map(|flow| &flow.tasks);
        tasks.any(|task| task.state == TaskState::Running)
    };
    fixture
        .until("a", |cluster| {
            is_running(cluster.status.as_ref().unwrap().flow.as_ref())
        })
        .await;
    fixture.machines.release_machine(FIRST);
    fixture.machines.until_begun(SECOND, "PreInstall").await;
    let edits = [
        json!(null),
        json!({"flow": {"run": "1-Create", "attempt": 2, "tasks": []}}),
    ];
    for edit in edits {
        let machines = fixture.machine_api();
        fixture.patch_status(machines, "a-10-0-0-2", edit).await;
        fixture
            .until_machine("a-10-0-0-2", |machine| {
                let status = machine.status.as_ref();
                is_running(status.and_then(|status| status.flow.as_ref()))
            })
            .await;
    }
    fixture.machines.release();
    fixture.until_running("a").await;
    let hooks = fixture.hooks();
    let count = |hook: &str| hooks.iter().filter(|it| *it == hook).count();
    assert_eq!(count("PreClusterInstall@10.0.0.1"), 1, "{hooks:?}");
    assert_eq!(count("PreInstall@10.0.0.2"), 1, "{hooks:?}");
    fixture.close().await;
}

#[tokio::test]
async fn an_unreachable_machine_does_not_keep_a_forced_deletion() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    fixture.machines.set_offline(SECOND, true);
    fixture.delete("a").await;
    fixture
        .until("a", |cluster| {
            let status = cluster.status.as_ref().unwrap();
            status.phase == ClusterPhase::Terminating
                && status.message.contains("failed to connect")
        })
        .await;
    fixture
        .patch(
            "a",
            json!({"metadata": {"annotations": {"outrigger.dev/force": "true"}}}),
        )
        .await;
    fixture.until_deleted("a").await;
    fixture.close().await;
}

#[tokio::test]
async fn an_unreachable_worker_fails_alone() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    fixture.machines.set_offline("10.0.0.8:22", true);
    fixture.add_worker("dead", "a", "10.0.0.8").await;
    fixture.add_worker("good", "a", "10.0.0.9").await;
    let is_running = |machine: &outrigger_api::machine::Machine| {
        machine
            .status
            .as_ref()
            .is_some_and(|it| it.phase == MachinePhase::Running)
    };
    fixture.until_machine("good", is_running).await;
    let dead = fixture
        .until_machine("dead", |machine| {
            let status = machine.status.clone().unwrap_or_default();
            status.message.contains("failed to connect to 10.0.0.8:22")
        })
        .await;
    assert_eq!(dead.status.unwrap().version, None);
    fixture.machines.set_offline("10.0.0.8:22", false);
    fixture.until_machine("dead", is_running).await;
    fixture.close().await;
}

#[tokio::test]
async fn a_version_that_changes_during_an_upgrade_starts_another_one() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    fixture.machines.hang(FIRST, "PreUpgrade");
    fixture
        .patch("a", json!({"spec": {"version": "1.1.0"}}))
        .await;
    fixture.machines.until_begun(FIRST, "PreUpgrade").await;
    fixture
        .patch("a", json!({"spec": {"version": "1.2.0"}}))
        .await;
    fixture
        .until("a", |cluster| {
            let flow = cluster.status.as_ref().unwrap().flow.as_ref();
            flow.is_some_and(|flow| flow.run.ends_with("Upgrade-1.2.0"))
        })
        .await;
    fixture.machines.release();
    let cluster = fixture.until_running("a").await;
    assert_eq!(cluster.status.unwrap().version.as_deref(), Some("1.2.0"));
    let machine = fixture.machine_api().get("a-10-0-0-2").await.unwrap();
    assert_eq!(machine.status.unwrap().version.as_deref(), Some("1.2.0"));
    fixture.close().await;
}

#[tokio::test]
async fn a_machine_that_leaves_the_spec_is_removed_and_a_new_one_is_added() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    let machines = json!([
        {"ip": "10.0.0.1", "password": "c2VjcmV0"}, {"ip": "10.0.0.3", "password": "bmV3"},
    ]);
    fixture
        .patch("a", json!({"spec": {"machines": machines}}))
        .await;
    fixture
        .until_machine("a-10-0-0-3", |machine| {
            machine
                .status
                .as_ref()
                .is_some_and(|it| it.phase == MachinePhase::Running)
        })
        .await;
    let gone = |machine: Option<&outrigger_api::machine::Machine>| machine.is_none();
    let waiting = kube::runtime::wait::await_condition(fixture.machine_api(), "a-10-0-0-2", gone);
    let waited = tokio::time::timeout(crate::harness::TIMEOUT, waiting).await;
    waited.unwrap().unwrap();
    let hooks = fixture.hooks();
    assert_eq!(
        hooks
            .iter()
            .filter(|it| it.starts_with("PostClusterInstall"))
            .count(),
        1
    );
    assert_eq!(
        hooks
            .iter()
            .filter(|it| *it == "PostInstall@10.0.0.1")
            .count(),
        1
    );
    assert_eq!(fixture.machines.files(SECOND).len(), 0);
    fixture.close().await;
}

#[tokio::test]
async fn a_machine_that_was_never_reached_is_removed_without_force() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    fixture.machines.set_offline("10.0.0.8:22", true);
    fixture.add_worker("dead", "a", "10.0.0.8").await;
    fixture
        .until_machine("dead", |machine| {
            let status = machine.status.clone().unwrap_or_default();
            status.message.contains("failed to connect to 10.0.0.8:22")
        })
        .await;
    let api = fixture.machine_api();
    api.delete("dead", &Default::default()).await.unwrap();
    let gone = |machine: Option<&outrigger_api::machine::Machine>| machine.is_none();
    let waiting = kube::runtime::wait::await_condition(api, "dead", gone);
    let waited = tokio::time::timeout(crate::harness::TIMEOUT, waiting).await;
    waited.unwrap().unwrap();
    fixture.close().await;
}

#[tokio::test]
async fn a_worker_that_cannot_be_removed_does_not_hold_up_an_upgrade_and_new_workers() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.add_worker("dead", "a", "10.0.0.8").await;
    let is_running = |machine: &outrigger_api::machine::Machine| {
        let status = machine.status.as_ref();
        status.is_some_and(|it| it.phase == MachinePhase::Running)
    };
    fixture.until_machine("dead", is_running).await;
    fixture.machines.set_offline("10.0.0.8:22", true);
    let api = fixture.machine_api();
    api.delete("dead", &Default::default()).await.unwrap();
    fixture
        .until_machine("dead", |it| {
            let status = it.status.as_ref().unwrap();
            status.phase == MachinePhase::Failed
        })
        .await;
    fixture
        .patch("a", json!({"spec": {"version": "1.1.0"}}))
        .await;
    fixture.add_worker("good", "a", "10.0.0.9").await;
    let good = fixture.until_machine("good", is_running).await;
    assert_eq!(good.status.unwrap().version.as_deref(), Some("1.1.0"));
    fixture.machines.set_offline("10.0.0.8:22", false);
    let retry = json!({"metadata": {"annotations": {"outrigger.dev/retry": "1"}}});
    fixture.patch("a", retry).await;
    let gone = |machine: Option<&outrigger_api::machine::Machine>| machine.is_none();
    let waiting = kube::runtime::wait::await_condition(api, "dead", gone);
    let waited = tokio::time::timeout(crate::harness::TIMEOUT, waiting).await;
    waited.unwrap().unwrap();
    fixture.close().await;
}

#[tokio::test]
async fn a_cluster_whose_machines_were_never_reached_is_deleted_without_force() {
    let fixture = Fixture::new().await;
    fixture.machines.set_offline(FIRST, true);
    fixture.machines.set_offline(SECOND, true);
    fixture.create("a", json!({})).await;
    let failed = |cluster: &Cluster| {
        let status = cluster.status.clone().unwrap_or_default();
        status.message.contains("failed to connect")
    };
    fixture.until("a", failed).await;
    fixture.delete("a").await;
    fixture.until_deleted("a").await;
    assert_eq!(fixture.hooks(), [""; 0]);
    fixture.close().await;
}

#[tokio::test]
async fn one_machine_under_two_addresses_is_refused() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    fixture.machines.alias("10.0.0.9:22", FIRST);
    let before = fixture.hooks().len();
    fixture.add_worker("twin", "a", "10.0.0.9").await;
    let twin = fixture
        .until_machine("twin", |machine| {
            let status = machine.status.clone().unwrap_or_default();
            !status.message.is_empty()
        })
        .await;
    let message = twin.status.unwrap().message;
    let expected = "10.0.0.9:22 is the same machine as a-10-0-0-1 of cluster a (10.0.0.1:22)";
    assert!(message.contains(expected), "{message}");
    assert_eq!(fixture.hooks().len(), before);
    fixture.close().await;
}

#[tokio::test]
async fn a_deleted_cluster_leaves_no_records_of_hooks_on_its_machines() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    assert_ne!(fixture.machines.attempts(FIRST), [""; 0]);
    fixture.delete("a").await;
    fixture.until_deleted("a").await;
    assert_eq!(fixture.machines.attempts(FIRST), [""; 0]);
    assert_eq!(fixture.machines.attempts(SECOND), [""; 0]);
    fixture.close().await;
}

#[tokio::test]
async fn a_downgrade_and_a_key_that_cannot_work_are_refused_and_the_cluster_stays_running() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({"version": "v1.1.0"})).await;
    let running = |cluster: &Cluster| {
        let status = cluster.status.clone().unwrap_or_default();
        status.phase == ClusterPhase::Running && status.version.as_deref() == Some("1.1.0")
    };
    fixture.until("a", running).await;
    let before = fixture.hooks().len();
    // The same version, written differently, and an older one.
    fixture
        .patch("a", json!({"spec": {"version": "1.1.0"}}))
        .await;
    fixture
        .patch("a", json!({"spec": {"version": "1.0.0"}}))
        .await;
    let refused =
        |cluster: &Cluster| has_condition(cluster, "Accepted", ConditionStatus::False, "Downgrade");
    let cluster = fixture.until("a", refused).await;
    assert_eq!(cluster.status.unwrap().phase, ClusterPhase::Running);
    let machines = json!([{"ip": "10.0.0.1", "privateKey": "aGVsbG8="}]);
    fixture
        .patch(
            "a",
            json!({"spec": {"version": "1.1.0", "machines": machines}}),
        )
        .await;
    let refused =
        |cluster: &Cluster| has_condition(cluster, "Accepted", ConditionStatus::False, "Invalid");
    let cluster = fixture.until("a", refused).await;
    let message = cluster.status.unwrap().message;
    assert!(
        message.contains("spec.machines[0].privateKey: is not a private key"),
        "{message}"
    );
    assert_eq!(fixture.hooks().len(), before);
    fixture.close().await;
}

#[tokio::test]
async fn failures_and_phases_are_events_of_the_cluster_and_its_machines() {
    let fixture = Fixture::new().await;
    fixture.machines.fail(FIRST, "PreInstall", 1);
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    let note = fixture.harness.until_event("a", "Running").await;
    assert_eq!(note, "version 1.0.0");
    let note = fixture
        .harness
        .until_event("a-10-0-0-1", "StepRetrying")
        .await;
    assert!(
        note.starts_with("EnsurePreInstallHook: PreInstall exited with code 1"),
        "{note}"
    );
    fixture.close().await;
}

#[tokio::test]
async fn the_only_control_plane_is_not_removed_by_a_deletion_of_its_machine() {
    let fixture = Fixture::new().await;
    let first = json!({"ip": "10.0.0.1", "password": "eA=="});
    fixture.create("a", json!({"machines": [first]})).await;
    fixture.until_running("a").await;
    let api = fixture.machine_api();
    let before = api.get("a-10-0-0-1").await.unwrap();
    api.delete("a-10-0-0-1", &Default::default()).await.unwrap();
    let kept = |machine: &outrigger_api::machine::Machine| {
        let status = machine.status.clone().unwrap_or_default();
        let message = "the only machine of the control plane is not removed";
        status.phase == MachinePhase::Terminating && status.message.starts_with(message)
    };
    fixture.until_machine("a-10-0-0-1", kept).await;
    // It stays a part of the cluster.
    fixture
        .patch("a", json!({"spec": {"version": "1.1.0"}}))
        .await;
    fixture.until_running("a").await;
    assert!(fixture.hooks().contains(&"PreUpgrade@10.0.0.1".to_owned()));
    assert_ne!(fixture.machines.files(FIRST).len(), 0);
    // Another one takes over, so that it can be removed. The spec has it, so that it is added again.
    let machines = json!([first, {"ip": "10.0.0.2", "password": "eA=="}]);
    fixture
        .patch("a", json!({"spec": {"machines": machines}}))
        .await;
    let is_new = |machine: &outrigger_api::machine::Machine| {
        let status = machine.status.clone().unwrap_or_default();
        machine.metadata.uid != before.metadata.uid && status.phase == MachinePhase::Running
    };
    fixture.until_machine("a-10-0-0-1", is_new).await;
    fixture.close().await;
}
