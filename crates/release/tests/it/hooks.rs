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

/// A hook ConfigMap.
fn hook_map(event: &str, policy: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: precious\n  annotations:\n    helm.sh/hook: {event}\n    \
         helm.sh/hook-delete-policy: {policy}\ndata: {{text: stolen}}\n"
    )
}

const PRECIOUS: &str = "/api/v1/namespaces/default/configmaps/precious";

/// Deploys a release with the ConfigMap `precious`, and returns its uid.
async fn deploy_precious(harness: &Harness) -> serde_json::Value {
    let other = outrigger_release::ReleaseId::new("default", "other");
    let owner = chart(&[(
        "templates/m.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: precious}, data: {text: mine}}\n",
    )]);
    let (values, options) = (json!({}), Options::default());
    let deployed = deploy(&harness.cluster, &other, &owner, &values, &options, &|_| {});
    deployed.await.unwrap();
    harness.get(PRECIOUS).await.unwrap()["metadata"]["uid"].clone()
}

async fn assert_untouched(harness: &Harness, uid: &serde_json::Value) {
    let precious = harness.get(PRECIOUS).await.expect("precious was deleted");
    assert_eq!(precious["metadata"]["uid"], *uid);
    assert_eq!(precious["data"]["text"], "mine");
}

#[tokio::test]
async fn a_hook_with_the_name_of_an_object_of_another_release_is_refused_before_any_change() {
    let harness = Harness::start().await;
    let uid = deploy_precious(&harness).await;
    let policies = ["before-hook-creation", "hook-succeeded", "hook-failed"];
    for (event, policy) in ["pre-install", "post-install"]
        .iter()
        .flat_map(|event| policies.map(|policy| (event, policy)))
    {
        let thief = chart(&[
            ("templates/h.yaml", &hook_map(event, policy)),
            ("templates/m.yaml", MAP),
        ]);
        let deployed = harness
            .deploy(&thief, &json!({}), &Options::default())
            .await;
        let error = deployed.unwrap_err();
        assert!(matches!(error, ActionError::Rejected(_)), "{error:?}");
        let text = error.full_message();
        assert!(
            text.starts_with("unable to continue with install: ConfigMap \"precious\" in namespace \"default\" exists and cannot be imported"),
            "{text}"
        );
        assert_untouched(&harness, &uid).await;
        assert_eq!(
            harness.get("/api/v1/namespaces/default/configmaps/m").await,
            None
        );
        assert_eq!(harness.statuses().await, [""; 0]);
    }
    harness.stop().await;
}

#[tokio::test]
async fn removal_leaves_hook_objects_of_another_release_alone() {
    let harness = Harness::start().await;
    let thief = chart(&[
        (
            "templates/h.yaml",
            &hook_map("pre-delete", "before-hook-creation"),
        ),
        (
            "templates/j.yaml",
            &hook(
                "job",
                "pre-install",
                "    helm.sh/hook-delete-policy: hook-failed\n",
            ),
        ),
        ("templates/m.yaml", MAP),
    ]);
    let options = Options::default();
    harness.deploy(&thief, &json!({}), &options).await.unwrap();
    let uid = deploy_precious(&harness).await;
    let error = harness.uninstall(&options).await.unwrap_err();
    assert!(matches!(error, ActionError::Rejected(_)), "{error:?}");
    assert_untouched(&harness, &uid).await;
    // The Job now belongs to another release too.
    let job = "/apis/batch/v1/namespaces/default/jobs/job";
    let owned = json!({"metadata": {
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "other", "meta.helm.sh/release-namespace": "default"},
    }});
    harness
        .send("PATCH", job, "application/merge-patch+json", &owned)
        .await;
    let without_hooks = Options {
        run_hooks: false,
        ..options
    };
    harness.uninstall(&without_hooks).await.unwrap();
    assert_untouched(&harness, &uid).await;
    assert!(harness.get(job).await.is_some());
    harness.stop().await;
}

#[tokio::test]
async fn a_hook_does_not_delete_the_record_of_another_release() {
    let harness = Harness::start().await;
    deploy_precious(&harness).await;
    let record = "/api/v1/namespaces/default/secrets/sh.helm.release.v1.other.v1";
    let before = harness.get(record).await.unwrap();
    let manifest = "{apiVersion: v1, kind: Secret, metadata: {name: sh.helm.release.v1.other.v1, \
                    annotations: {helm.sh/hook: pre-install}}}\n";
    let thief = chart(&[("templates/h.yaml", manifest), ("templates/m.yaml", MAP)]);
    let deployed = harness
        .deploy(&thief, &json!({}), &Options::default())
        .await;
    assert!(matches!(deployed, Err(ActionError::Rejected(_))));
    assert_eq!(harness.get(record).await, Some(before));
    harness.stop().await;
}

#[tokio::test]
async fn a_hook_replaces_objects_of_its_own_release_and_of_nobody() {
    let harness = Harness::start().await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "precious"}});
    let path = "/api/v1/namespaces/default/configmaps";
    harness.send("POST", path, "application/json", &map).await;
    let before = harness.get(PRECIOUS).await.unwrap();
    let chart = chart(&[
        (
            "templates/h.yaml",
            &hook_map("pre-install", "before-hook-creation"),
        ),
        ("templates/m.yaml", MAP),
    ]);
    let options = Options::default();
    harness.deploy(&chart, &json!({}), &options).await.unwrap();
    let after = harness.get(PRECIOUS).await.unwrap();
    assert_ne!(before["metadata"]["uid"], after["metadata"]["uid"]);
    assert_eq!(after["data"]["text"], "stolen");
    harness.stop().await;
}

#[tokio::test]
async fn a_hook_whose_job_is_deleted_fails_at_once() {
    let harness = Harness::start().await;
    let slow = "    outrigger.dev/simulate: slow=60\n";
    let job = hook("migrate", "pre-install", slow).replace(
        "  template:\n    spec:",
        "  template:\n    metadata: {annotations: {outrigger.dev/simulate: slow=60}}\n    spec:",
    );
    let chart = chart(&[("templates/h.yaml", &job), ("templates/m.yaml", MAP)]);
    let options = Options {
        timeout: std::time::Duration::from_secs(20),
        ..Options::default()
    };
    let started = tokio::sync::Notify::new();
    let sink = |progress| {
        if let Progress::Waiting { .. } = progress {
            started.notify_one();
        }
    };
    let values = json!({});
    let deployed = deploy(
        &harness.cluster,
        &harness.id,
        &chart,
        &values,
        &options,
        &sink,
    );
    let deleted = async {
        started.notified().await;
        let path = "/apis/batch/v1/namespaces/default/jobs/migrate?propagationPolicy=Background";
        harness
            .send("DELETE", path, "application/json", &json!({}))
            .await;
    };
    let (deployed, ()) = tokio::join!(deployed, deleted);
    let text = deployed.unwrap_err().full_message();
    assert!(
        text.starts_with("failed pre-install: resource Job/default/migrate not ready. status: NotFound, message: was deleted before it was ready"),
        "{text}"
    );
    harness.stop().await;
}
