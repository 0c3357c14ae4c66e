//! An action that is interrupted at any of its requests is resumed by the next one, with the same result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use outrigger_chart::Chart;
use outrigger_release::{Cluster, Options};
use outrigger_testing::embedded_api::Loss;
use serde_json::{Value, json};

use crate::charts::{WEB_OBJECTS, chart, hook, web};
use crate::harness::{Harness, deploy, set};

/// The state of the release before the interrupted action.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Absent,
    /// An install was interrupted after it had written its pending record.
    PendingInstall,
    Installed,
}

fn options() -> Options {
    Options {
        // Requests hang after the fault; the test must not.
        timeout: Duration::from_secs(20),
        ..Options::default()
    }
}

/// Interrupts an action at each of its requests, before and after the server processes it; then runs `after` with a
/// description of the interruption.
async fn interrupt_at_each_request(
    chart: &Arc<Chart>,
    before: Before,
    action: impl AsyncFn(&Cluster, &Harness),
    after: impl AsyncFn(&Harness, &str),
) {
    let harness = Harness::start().await;
    for loss in [Loss::Request, Loss::Response] {
        for requests in 0.. {
            match before {
                Before::Absent => {}
                Before::PendingInstall => interrupt_install(&harness, chart).await,
                Before::Installed => install(&harness.cluster, &harness, chart, &json!({})).await,
            }
            let (cluster, connection) = harness.hanging(requests, loss);
            let is_complete = tokio::select! {
                () = Box::pin(action(&cluster, &harness)) => true,
                () = connection.fault_hit() => false,
            };
            after(&harness, &format!("{loss:?} lost after {requests}")).await;
            reset(&harness).await;
            if is_complete {
                break;
            }
        }
    }
    harness.stop().await;
}

async fn reset(harness: &Harness) {
    if !harness.statuses().await.is_empty() {
        harness.uninstall(&options()).await.unwrap();
    }
    assert_eq!(harness.objects().await, BTreeSet::new());
}

async fn install(cluster: &Cluster, harness: &Harness, chart: &Arc<Chart>, values: &Value) {
    let outcome = deploy(cluster, &harness.id, chart, values, &options(), &|_| {}).await;
    outcome.unwrap();
}

/// Interrupts an install after it has written its pending record.
async fn interrupt_install(harness: &Harness, chart: &Arc<Chart>) {
    for requests in 0.. {
        let (cluster, connection) = harness.hanging(requests, Loss::Response);
        let values = json!({});
        tokio::select! {
            () = Box::pin(install(&cluster, harness, chart, &values)) => {}
            () = connection.fault_hit() => {}
        }
        if !harness.statuses().await.is_empty() {
            return;
        }
    }
}

async fn uninstall(cluster: &Cluster, harness: &Harness) {
    let options = options();
    let outcome = outrigger_release::uninstall(cluster, &harness.id, &[], &options, &|_| {}).await;
    outcome.unwrap();
}

#[tokio::test]
async fn an_install_interrupted_at_any_request_is_resumed() {
    let chart = web();
    let values = json!({});
    let action = async |cluster: &Cluster, harness: &Harness| {
        install(cluster, harness, &chart, &values).await;
    };
    interrupt_at_each_request(
        &chart,
        Before::Absent,
        action,
        async |harness, interruption| {
            install(&harness.cluster, harness, &chart, &values).await;
            assert_eq!(harness.objects().await, set(&WEB_OBJECTS), "{interruption}");
            // The interrupted revision was resumed, without a new one.
            assert_eq!(harness.statuses().await, ["1 deployed"], "{interruption}");
        },
    )
    .await;
}

#[tokio::test]
async fn an_upgrade_interrupted_at_any_request_is_replaced_by_a_different_one() {
    let chart = web();
    let second = json!({"map": "two", "secret": false});
    let action = async |cluster: &Cluster, harness: &Harness| {
        install(cluster, harness, &chart, &second).await;
    };
    interrupt_at_each_request(
        &chart,
        Before::Installed,
        action,
        async |harness, interruption| {
            // The desired values changed meanwhile.
            let third = json!({"map": "three", "service": false});
            install(&harness.cluster, harness, &chart, &third).await;
            let expected = set(&[
                "configmaps/web-map",
                "deployments/web",
                "secrets/web-secret",
            ]);
            assert_eq!(harness.objects().await, expected, "{interruption}");
            let map = harness
                .get("/api/v1/namespaces/default/configmaps/web-map")
                .await;
            assert_eq!(map.unwrap()["data"]["text"], "three", "{interruption}");
            let statuses = harness.statuses().await;
            assert!(
                statuses.last().unwrap().ends_with("deployed"),
                "{interruption}: {statuses:?}"
            );
            let deployed = statuses.iter().filter(|status| status.contains("deployed"));
            assert_eq!(deployed.count(), 1, "{interruption}: {statuses:?}");
            assert!(
                !statuses.iter().any(|status| status.contains("pending")),
                "{interruption}: {statuses:?}"
            );
        },
    )
    .await;
}

/// Interrupts a deployment and repeats it.
async fn interrupt_and_repeat(before: Before, expected: [&str; 2]) {
    let chart = web();
    let second = json!({"map": "two"});
    let action = async |cluster: &Cluster, harness: &Harness| {
        install(cluster, harness, &chart, &second).await;
    };
    interrupt_at_each_request(&chart, before, action, async |harness, interruption| {
        install(&harness.cluster, harness, &chart, &second).await;
        assert_eq!(harness.statuses().await, expected, "{interruption}");
    })
    .await;
}

#[tokio::test]
async fn a_second_interrupted_install_leaves_no_pending_record() {
    interrupt_and_repeat(Before::PendingInstall, ["1 failed", "2 deployed"]).await;
}

#[tokio::test]
async fn a_repeated_upgrade_leaves_one_deployed_record() {
    interrupt_and_repeat(Before::Installed, ["1 superseded", "2 deployed"]).await;
}

#[tokio::test]
async fn an_uninstall_interrupted_at_any_request_is_resumed() {
    let policy = "    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded\n";
    let hooks = [
        hook("before", "pre-delete", policy),
        hook("after", "post-delete", policy),
    ]
    .concat();
    let chart = chart(&[
        ("templates/h.yaml", &hooks),
        (
            "templates/m.yaml",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: b}}\n",
        ),
    ]);
    interrupt_at_each_request(
        &chart,
        Before::Installed,
        uninstall,
        async |harness, interruption| {
            harness.uninstall(&options()).await.unwrap();
            assert_eq!(harness.objects().await, BTreeSet::new(), "{interruption}");
            assert!(harness.statuses().await.is_empty(), "{interruption}");
        },
    )
    .await;
}

#[tokio::test]
async fn an_install_after_an_interrupted_uninstall_supersedes_its_record() {
    let chart = web();
    interrupt_at_each_request(
        &chart,
        Before::Installed,
        uninstall,
        async |harness, interruption| {
            install(&harness.cluster, harness, &chart, &json!({})).await;
            let statuses = harness.statuses().await;
            let (last, others) = statuses.split_last().unwrap();
            assert!(last.ends_with(" deployed"), "{interruption} {statuses:?}");
            let is_superseded = |status: &String| status.ends_with(" superseded");
            assert!(
                others.iter().all(is_superseded),
                "{interruption} {statuses:?}"
            );
        },
    )
    .await;
}

#[tokio::test]
async fn an_install_interrupted_at_any_request_can_be_uninstalled() {
    let chart = web();
    let action = async |cluster: &Cluster, harness: &Harness| {
        install(cluster, harness, &chart, &json!({})).await;
    };
    interrupt_at_each_request(
        &chart,
        Before::Absent,
        action,
        async |harness, interruption| {
            harness.uninstall(&options()).await.unwrap();
            assert_eq!(harness.objects().await, BTreeSet::new(), "{interruption}");
            assert!(harness.statuses().await.is_empty(), "{interruption}");
        },
    )
    .await;
}

/// The uids of the Jobs by name.
async fn jobs(harness: &Harness) -> BTreeMap<String, String> {
    let jobs = harness.get("/apis/batch/v1/namespaces/default/jobs").await;
    let jobs = jobs.unwrap()["items"].as_array().cloned().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let metadata = jobs.iter().map(|job| &job["metadata"]);
    metadata
        .map(|metadata| (text(&metadata["name"]), text(&metadata["uid"])))
        .collect()
}

/// Interrupts an action, resumes it, and checks that no hook ran twice: each Job is still the one that was created first.
async fn interrupt_hooks(
    before: Before,
    events: [&str; 2],
    action: impl AsyncFn(&Cluster, &Harness, &Arc<Chart>),
) {
    let hooks = [hook("before", events[0], ""), hook("after", events[1], "")].concat();
    let both = hook("both", &events.join(","), "");
    let map =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {v: '{{ .Values.v }}'}}";
    let chart = chart(&[
        ("templates/h.yaml", hooks.as_str()),
        ("templates/b.yaml", both.as_str()),
        ("templates/m.yaml", map),
    ]);
    let run = async |cluster: &Cluster, harness: &Harness| action(cluster, harness, &chart).await;
    let found = std::cell::Cell::new(0);
    interrupt_at_each_request(&chart, before, run, async |harness, interruption| {
        let created = jobs(harness).await;
        action(&harness.cluster, harness, &chart).await;
        let now = jobs(harness).await;
        for name in ["before", "after"] {
            let (Some(first), Some(last)) = (created.get(name), now.get(name)) else {
                continue;
            };
            assert_eq!(first, last, "{name}, {interruption}");
            found.set(found.get() + 1);
        }
        for path in now.keys() {
            let path = format!("/apis/batch/v1/namespaces/default/jobs/{path}");
            harness
                .send("DELETE", &path, "application/json", &json!({}))
                .await;
        }
    })
    .await;
    assert!(
        found.get() > 10,
        "only {} interruptions after a hook",
        found.get()
    );
}

#[tokio::test]
async fn hooks_of_an_interrupted_install_run_once() {
    interrupt_hooks(
        Before::Absent,
        ["pre-install", "post-install"],
        async |cluster, harness, chart| install(cluster, harness, chart, &json!({"v": "1"})).await,
    )
    .await;
}

#[tokio::test]
async fn hooks_of_an_interrupted_upgrade_run_once() {
    interrupt_hooks(
        Before::Installed,
        ["pre-upgrade", "post-upgrade"],
        async |cluster, harness, chart| install(cluster, harness, chart, &json!({"v": "2"})).await,
    )
    .await;
}
