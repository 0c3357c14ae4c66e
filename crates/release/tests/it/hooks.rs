//! Hooks: order, delete policies, failures.

use std::sync::Mutex;

use outrigger_release::{ActionError, Options, Progress};
use serde_json::json;

use crate::charts::{chart, hook};
use crate::harness::{Harness, deploy};

const MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}\n";

#[tokio::test]
async fn hooks_run_by_weight_before_and_after_the_objects() {
    let harness = Harness::start().await;
    let chart = chart(&[
        ("templates/m.yaml", MAP),
        (
            "templates/hooks.yaml",
            &[
                hook("late", "pre-install", "    helm.sh/hook-weight: '5'\n"),
                hook("early", "pre-install", "    helm.sh/hook-weight: '-5'\n"),
                hook("after", "post-install", ""),
                hook("test", "test", ""),
                hook("upgrade", "pre-upgrade", ""),
            ]
            .concat(),
        ),
    ]);
    let events = Mutex::new(Vec::new());
    let sink = |progress| {
        events.lock().unwrap().push(match progress {
            Progress::HookStarted { object, .. } => format!("start {}", object.name),
            Progress::HookFinished { object, .. } => format!("end {}", object.name),
            Progress::Applied { object, .. } => format!("apply {}", object.name),
            _ => return,
        });
    };
    let options = Options::default();
    deploy(
        &harness.cluster,
        &harness.id,
        &chart,
        &json!({}),
        &options,
        &sink,
    )
    .await
    .unwrap();
    assert_eq!(
        *events.lock().unwrap(),
        [
            "start early",
            "end early",
            "start late",
            "end late",
            "apply m",
            "start after",
            "end after",
        ]
    );
    let record = outrigger_release::get_release(&harness.cluster, &harness.id, None).await;
    let record = record.unwrap();
    let phase = |name: &str| {
        let hook = record.hooks.iter().find(|hook| hook.name == name);
        hook.unwrap().last_run.phase.clone()
    };
    assert_eq!(
        (phase("early"), phase("test")),
        ("Succeeded".to_owned(), String::new())
    );
    harness.stop().await;
}

#[tokio::test]
async fn hooks_are_deleted_by_their_delete_policies() {
    let harness = Harness::start().await;
    let policy = |policy: &str| format!("    helm.sh/hook-delete-policy: {policy}\n");
    let hooks = [
        hook("default", "pre-install,pre-upgrade", ""),
        hook("on-success", "pre-install", &policy("hook-succeeded")),
        hook("on-error", "pre-install", &policy("hook-failed")),
    ];
    let chart = chart(&[
        ("templates/h.yaml", &hooks.concat()),
        ("templates/m.yaml", MAP),
    ]);
    let options = Options::default();
    harness.deploy(&chart, &json!({}), &options).await.unwrap();
    let objects = harness.objects().await;
    let jobs: Vec<&str> = objects
        .iter()
        .filter_map(|name| name.strip_prefix("jobs/"))
        .collect();
    assert_eq!(jobs, ["default", "on-error"]);
    let uid = || async {
        let job = harness
            .get("/apis/batch/v1/namespaces/default/jobs/default")
            .await;
        job.unwrap()["metadata"]["uid"].clone()
    };
    let before = uid().await;
    // A hook with the default policy is created again each time.
    harness
        .deploy(&chart, &json!({"x": 1}), &options)
        .await
        .unwrap();
    assert_ne!(uid().await, before);
    // Uninstall deletes the Jobs of hooks.
    harness.uninstall(&options).await.unwrap();
    assert!(harness.objects().await.is_empty());
    harness.stop().await;
}

#[tokio::test]
async fn a_failed_pre_install_hook_fails_the_release_before_any_object() {
    let harness = Harness::start().await;
    let fails =
        "    outrigger.dev/simulate: job-fails\n    helm.sh/hook-delete-policy: hook-failed\n";
    let hooks = [
        hook("first", "pre-install", "    helm.sh/hook-delete-policy: hook-succeeded\n"),
        hook("second", "pre-install", fails).replace(
            "  template:\n    spec:",
            "  template:\n    metadata: {annotations: {outrigger.dev/simulate: job-fails}}\n    spec:",
        ),
    ];
    let chart = chart(&[
        ("templates/h.yaml", &hooks.concat()),
        ("templates/m.yaml", MAP),
    ]);
    let options = Options::default();
    let error = harness
        .deploy(&chart, &json!({}), &options)
        .await
        .unwrap_err();
    assert!(matches!(
        error,
        ActionError::Hook {
            event: "pre-install",
            ..
        }
    ));
    let text = error.full_message();
    assert!(
        text.contains("failed pre-install: resource Job/default/second not ready. status: Failed, message: Job Failed"),
        "{text}"
    );
    assert!(harness.objects().await.is_empty());
    assert_eq!(harness.statuses().await, ["1 failed"]);
    let record = outrigger_release::get_release(&harness.cluster, &harness.id, None).await;
    let description = record.unwrap().info.description;
    assert!(
        description.starts_with("Release \"web\" failed: failed pre-install"),
        "{description}"
    );
    harness.stop().await;
}

#[tokio::test]
async fn delete_hooks_run_before_and_after_uninstall() {
    let harness = Harness::start().await;
    let policy = "    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded\n";
    let hooks = [
        hook("before", "pre-delete", policy),
        hook("after", "post-delete", policy),
    ];
    let chart = chart(&[
        ("templates/h.yaml", &hooks.concat()),
        ("templates/m.yaml", MAP),
    ]);
    let options = Options::default();
    harness.deploy(&chart, &json!({}), &options).await.unwrap();
    let events = Mutex::new(Vec::new());
    let sink = |progress| {
        if let Progress::HookFinished { object, .. } | Progress::Deleted { object } = progress {
            events.lock().unwrap().push(object.name);
        }
    };
    outrigger_release::uninstall(&harness.cluster, &harness.id, &[], &options, &sink)
        .await
        .unwrap();
    assert_eq!(*events.lock().unwrap(), ["before", "m", "after"]);
    assert!(harness.objects().await.is_empty());
    harness.stop().await;
}
