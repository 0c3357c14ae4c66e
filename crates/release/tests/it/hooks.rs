//! Hooks: order, policies, failures.

use std::sync::Mutex;

use outrigger_release::{ActionError, Options, Progress};
use serde_json::json;

use crate::charts::{chart, hook};
use crate::stage::{Stage, deploy};

const MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}\n";

#[tokio::test]
async fn hooks_run_around_the_objects_in_their_order_and_tests_do_not() {
    let stage = Stage::open().await;
    let chart = chart(&[
        ("templates/m.yaml", MAP),
        (
            "templates/hooks.yaml",
            &[
                hook("late", "pre-install", "    helm.sh/hook-weight: '5'\n"),
                hook("early", "pre-install", "    helm.sh/hook-weight: '-5'\n"),
                hook("after", "post-install", ""),
                hook("exam", "test", ""),
                hook("upgrade", "pre-upgrade", ""),
            ]
            .concat(),
        ),
    ]);
    let seen = Mutex::new(Vec::new());
    let note = |progress| {
        seen.lock().unwrap().push(match progress {
            Progress::HookStarted { object, .. } => format!("start {}", object.name),
            Progress::HookFinished { object, .. } => format!("end {}", object.name),
            Progress::Applied { object, .. } => format!("apply {}", object.name),
            _ => return,
        });
    };
    let options = Options::default();
    deploy(
        &stage.cluster,
        &stage.id,
        &chart,
        &json!({}),
        &options,
        &note,
    )
    .await
    .unwrap();
    assert_eq!(
        *seen.lock().unwrap(),
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
    let record = outrigger_release::get_release(&stage.cluster, &stage.id, None).await;
    let record = record.unwrap();
    let phase = |name: &str| {
        let hook = record.hooks.iter().find(|hook| hook.name == name);
        hook.unwrap().last_run.phase.clone()
    };
    assert_eq!(
        (phase("early"), phase("exam")),
        ("Succeeded".to_owned(), String::new())
    );
    stage.close().await;
}

#[tokio::test]
async fn hooks_are_deleted_when_their_policies_say_so() {
    let stage = Stage::open().await;
    let policy = |policy: &str| format!("    helm.sh/hook-delete-policy: {policy}\n");
    let hooks = [
        hook("usual", "pre-install,pre-upgrade", ""),
        hook("goes", "pre-install", &policy("hook-succeeded")),
        hook("stays", "pre-install", &policy("hook-failed")),
    ];
    let chart = chart(&[
        ("templates/h.yaml", &hooks.concat()),
        ("templates/m.yaml", MAP),
    ]);
    let options = Options::default();
    stage.deploy(&chart, &json!({}), &options).await.unwrap();
    let objects = stage.objects().await;
    let jobs: Vec<&str> = objects
        .iter()
        .filter_map(|name| name.strip_prefix("jobs/"))
        .collect();
    assert_eq!(jobs, ["stays", "usual"]);
    let uid = || async {
        let job = stage
            .get("/apis/batch/v1/namespaces/default/jobs/usual")
            .await;
        job.unwrap()["metadata"]["uid"].clone()
    };
    let before = uid().await;
    // A hook without a policy is made anew each time.
    stage
        .deploy(&chart, &json!({"x": 1}), &options)
        .await
        .unwrap();
    assert_ne!(uid().await, before);
    // Removal takes what hooks left.
    stage.uninstall(&options).await.unwrap();
    assert!(stage.objects().await.is_empty());
    stage.close().await;
}

#[tokio::test]
async fn a_hook_that_fails_fails_the_release_before_any_object() {
    let stage = Stage::open().await;
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
    let failure = stage
        .deploy(&chart, &json!({}), &options)
        .await
        .unwrap_err();
    assert!(matches!(
        failure,
        ActionError::Hook {
            event: "pre-install",
            ..
        }
    ));
    let text = failure.full_message();
    assert!(
        text.contains("failed pre-install: resource Job/default/second not ready. status: Failed, message: Job Failed"),
        "{text}"
    );
    assert!(stage.objects().await.is_empty());
    assert_eq!(stage.statuses().await, ["1 failed"]);
    let record = outrigger_release::get_release(&stage.cluster, &stage.id, None).await;
    let description = record.unwrap().info.description;
    assert!(
        description.starts_with("Release \"web\" failed: failed pre-install"),
        "{description}"
    );
    stage.close().await;
}

#[tokio::test]
async fn hooks_run_before_and_after_removal() {
    let stage = Stage::open().await;
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
    stage.deploy(&chart, &json!({}), &options).await.unwrap();
    let seen = Mutex::new(Vec::new());
    let note = |progress| {
        if let Progress::HookFinished { object, .. } | Progress::Deleted { object } = progress {
            seen.lock().unwrap().push(object.name);
        }
    };
    outrigger_release::uninstall(&stage.cluster, &stage.id, &[], &options, &note)
        .await
        .unwrap();
    assert_eq!(*seen.lock().unwrap(), ["before", "m", "after"]);
    assert!(stage.objects().await.is_empty());
    stage.close().await;
}
