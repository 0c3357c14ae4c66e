//! Each hook runs once for each machine or cluster, in order, and its result is recorded.

use kube::api::{DeleteParams, ListParams};
use outrigger_api::condition::ConditionStatus;
use outrigger_api::machine::MachinePhase;
use serde_json::{Value, json};

use super::fixture::{FIRST, Fixture, SECOND, WORKER, condition, has_condition, names};

fn position(hooks: &[String], hook: &str) -> usize {
    let found = hooks.iter().position(|it| it == hook);
    found.unwrap_or_else(|| panic!("{hook} is not among {hooks:?}"))
}

#[track_caller]
fn assert_order(hooks: &[String], order: &[&str]) {
    for pair in order.windows(2) {
        assert!(
            position(hooks, pair[0]) < position(hooks, pair[1]),
            "{pair:?} in {hooks:?}"
        );
    }
}

#[tokio::test]
async fn hooks_of_create_upgrade_and_delete_run_once_and_in_order() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    let cluster = fixture.until_running("a").await;
    let mut hooks = fixture.hooks();
    assert_eq!(hooks.len(), 6, "{hooks:?}");
    for machine in ["10.0.0.1", "10.0.0.2"] {
        let (pre, post) = (
            format!("PreInstall@{machine}"),
            format!("PostInstall@{machine}"),
        );
        let order = [
            "PreClusterInstall@10.0.0.1",
            &pre,
            &post,
            "PostClusterInstall@10.0.0.1",
        ];
        assert_order(&hooks, &order);
    }
    let recorded = cluster.status.unwrap().hooks;
    let recorded: Vec<_> = recorded
        .iter()
        .map(|it| (it.name.as_str(), it.exit_code))
        .collect();
    let expected = [
        ("PreClusterInstall", Some(0)),
        ("PostClusterInstall", Some(0)),
    ];
    assert_eq!(recorded, expected);

    fixture
        .patch("a", json!({"spec": {"version": "1.1.0"}}))
        .await;
    let cluster = fixture.until_running("a").await;
    let all = fixture.hooks();
    let upgrade = all[hooks.len()..].to_vec();
    let order = [
        "PreClusterUpgrade@10.0.0.1",
        "PreUpgrade@10.0.0.1",
        "PostUpgrade@10.0.0.1",
        "PreUpgrade@10.0.0.2",
        "PostUpgrade@10.0.0.2",
        "PostClusterUpgrade@10.0.0.1",
    ];
    assert_eq!(upgrade, order);
    assert_eq!(cluster.status.unwrap().flow.unwrap().name, "Upgrade");

    hooks = all;
    fixture.delete("a").await;
    fixture.until_deleted("a").await;
    let all = fixture.hooks();
    let order = ["PreClusterDelete@10.0.0.1", "PostClusterDelete@10.0.0.1"];
    assert_eq!(all[hooks.len()..], order);
    let machines = fixture
        .machine_api()
        .list(&ListParams::default())
        .await
        .unwrap();
    assert_eq!(names(&machines.items), [""; 0]);
    assert_eq!(fixture.machines.files(FIRST).len(), 0);
    fixture.close().await;
}

#[tokio::test]
async fn only_cluster_hooks_get_labels_and_annotations_each_as_one_argument() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    for run in fixture.machines.runs() {
        let expected: &[&str] = if run.hook.contains("Cluster") {
            &["location=xa", "note=it's $(x)"]
        } else {
            &[]
        };
        assert_eq!(run.arguments, expected, "{}", run.hook);
        let context: Value = serde_json::from_str(&run.context).unwrap();
        assert_eq!(context["cluster"], "a");
    }
    assert_eq!(
        fixture.machines.password(FIRST).as_deref(),
        Some(&b"secret"[..])
    );
    fixture.close().await;
}

#[tokio::test]
async fn a_failing_hook_is_retried_shown_and_does_not_hold_up_other_machines() {
    let fixture = Fixture::new().await;
    fixture.machines.fail(SECOND, "PreInstall", 2);
    fixture.create("a", json!({})).await;
    let failing = fixture
        .until_machine("a-10-0-0-2", |machine| {
            let status = machine.status.clone().unwrap_or_default();
            status
                .message
                .starts_with("EnsurePreInstallHook: attempt 1 failed")
        })
        .await;
    let message = failing.status.unwrap().message;
    assert!(
        message.contains("PreInstall exited with code 1: PreInstall ends with 1"),
        "{message}"
    );
    let cluster = fixture.until_running("a").await;
    assert_eq!(cluster.status.unwrap().message, "");
    let count = |hook: &str| fixture.hooks().iter().filter(|it| *it == hook).count();
    assert_eq!(count("PreInstall@10.0.0.2"), 3);
    assert_eq!(count("PreInstall@10.0.0.1"), 1);
    let machine = fixture.machine_api().get("a-10-0-0-2").await.unwrap();
    let status = machine.status.unwrap();
    assert_eq!(status.phase, MachinePhase::Running);
    assert_eq!(
        status
            .hooks
            .iter()
            .find(|it| it.name == "PreInstall")
            .unwrap()
            .exit_code,
        Some(0)
    );
    assert_eq!(status.host_key.as_deref(), Some("ssh-ed25519 10.0.0.2:22"));
    assert_eq!(status.facts.unwrap().architecture, "amd64");
    fixture.close().await;
}

#[tokio::test]
async fn a_hook_that_keeps_failing_ends_as_failed_until_the_user_asks_again() {
    let fixture = Fixture::new().await;
    fixture.machines.fail(FIRST, "PreClusterInstall", 2);
    fixture
        .create("a", json!({"features": {"hookAttempts": 1}}))
        .await;
    let is_failed = |cluster: &outrigger_api::cluster::Cluster| {
        has_condition(
            cluster,
            "EnsurePreClusterInstallHook",
            ConditionStatus::False,
            "Failed",
        ) && cluster
            .status
            .as_ref()
            .unwrap()
            .message
            .contains("failed: ")
    };
    fixture.until("a", is_failed).await;
    let before = fixture.hooks().len();
    fixture
        .patch(
            "a",
            json!({"metadata": {"annotations": {"outrigger.dev/retry": "1"}}}),
        )
        .await;
    fixture
        .until("a", |cluster| {
            let flow = cluster.status.as_ref().unwrap().flow.clone().unwrap();
            flow.retry.as_deref() == Some("1") && is_failed(cluster)
        })
        .await;
    assert_eq!(fixture.hooks().len(), before + 1);
    fixture
        .patch(
            "a",
            json!({"metadata": {"annotations": {"outrigger.dev/retry": "2"}}}),
        )
        .await;
    fixture.until_running("a").await;
    fixture.close().await;
}

#[tokio::test]
async fn workers_are_added_and_removed_without_touching_other_machines() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    let before = fixture.hooks().len();
    fixture.add_worker("w", "a", "10.0.0.9").await;
    let worker = fixture
        .until_machine("w", |machine| {
            let status = machine.status.clone().unwrap_or_default();
            status.phase == MachinePhase::Running
        })
        .await;
    assert_eq!(worker.status.unwrap().version.as_deref(), Some("1.0.0"));
    assert_eq!(
        fixture.hooks()[before..],
        ["PreInstall@10.0.0.9", "PostInstall@10.0.0.9"]
    );
    assert_eq!(fixture.machines.files(WORKER).len(), 10);

    let api = fixture.machine_api();
    api.delete("w", &DeleteParams::default()).await.unwrap();
    let gone = |machine: Option<&outrigger_api::machine::Machine>| machine.is_none();
    let waiting = kube::runtime::wait::await_condition(api, "w", gone);
    tokio::time::timeout(crate::harness::TIMEOUT, waiting)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(fixture.machines.files(WORKER).len(), 0);
    assert_eq!(fixture.machines.files(FIRST).len(), 10);
    fixture.close().await;
}

#[tokio::test]
async fn skipped_steps_are_recorded_and_passed() {
    let fixture = Fixture::new().await;
    let skip = json!([
        "EnsurePreClusterInstallHook",
        "EnsureDocker",
        "EnsurePreInstallHook"
    ]);
    fixture
        .create("a", json!({"features": {"skipConditions": skip}}))
        .await;
    let cluster = fixture.until_running("a").await;
    let skipped = condition(&cluster, "EnsurePreClusterInstallHook").unwrap();
    assert_eq!(
        (skipped.status, skipped.reason.as_str()),
        (ConditionStatus::True, "Skipped")
    );
    let machine = fixture.machine_api().get("a-10-0-0-1").await.unwrap();
    let conditions = machine.status.unwrap().conditions;
    for step in ["EnsureContainerRuntime", "EnsurePreInstallHook"] {
        let condition = conditions.iter().find(|it| it.kind == step).unwrap();
        assert_eq!(condition.reason, "Skipped");
    }
    let mut hooks = fixture.hooks();
    hooks.sort();
    let expected = [
        "PostClusterInstall@10.0.0.1",
        "PostInstall@10.0.0.1",
        "PostInstall@10.0.0.2",
    ];
    assert_eq!(hooks, expected);
    fixture.close().await;
}

#[tokio::test]
async fn an_upgrade_ships_changed_hooks_and_a_change_alone_runs_nothing() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    let (before, files) = (fixture.hooks().len(), fixture.machines.files(FIRST));
    let script = fixture.files.path().join("PreInstall");
    fs_err::write(script, "#!/bin/sh\necho changed\n").unwrap();
    fixture
        .patch("a", json!({"metadata": {"labels": {"more": "x"}}}))
        .await;
    fixture
        .patch("a", json!({"spec": {"version": "1.1.0"}}))
        .await;
    fixture.until_running("a").await;
    let after = fixture.hooks();
    assert!(
        !after[before..]
            .iter()
            .any(|it| it.starts_with("PreInstall")),
        "{after:?}"
    );
    let changed = fixture.machines.files(FIRST);
    assert_ne!(
        changed["/opt/hooks/PreInstall"],
        files["/opt/hooks/PreInstall"]
    );
    assert_eq!(
        changed["/opt/hooks/PostInstall"],
        files["/opt/hooks/PostInstall"]
    );
    fixture.close().await;
}
