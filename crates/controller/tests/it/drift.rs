//! Drift and health of installed objects: drift is corrected, reported or ignored.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use outrigger_api::plugin::Phase;
use outrigger_testing::embedded_api::charts;
use serde_json::{Value, json};

use crate::harness::{Harness, is_drifted};

async fn modify(harness: &Harness, name: &str, text: &str) {
    let parameters = PatchParams {
        field_manager: Some("someone-else".to_owned()),
        ..PatchParams::default()
    };
    let patch = json!({"data": {"text": text}});
    let maps = harness.config_maps();
    maps.patch(name, &parameters, &Patch::Merge(&patch))
        .await
        .unwrap();
}

#[tokio::test]
async fn drift_is_corrected() {
    let harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    modify(&harness, "config", "wrong").await;
    harness.until_text("config", "hello").await;
    let note = harness.until_event("config", "DriftCorrected").await;
    assert_eq!(note, "ConfigMap default/config was modified: .data.text");
    let plugin = harness.until_ready("config").await;
    assert_eq!(plugin.status.unwrap().revision, Some(1));
    harness.close().await;
}

#[tokio::test]
async fn a_deleted_object_is_recreated() {
    let harness = Harness::new().await;
    harness.create("web", "web", json!({})).await;
    harness.until_ready("web").await;
    harness
        .config_maps()
        .delete("web", &Default::default())
        .await
        .unwrap();
    harness.until_text("web", "hello").await;
    harness.until_ready("web").await;
    harness.close().await;
}

#[tokio::test]
async fn drift_is_reported_and_kept_with_policy_warn() {
    let harness = Harness::new().await;
    harness
        .create("config", "config", json!({"drift": "warn"}))
        .await;
    harness.until_ready("config").await;
    modify(&harness, "config", "wrong").await;
    let note = harness.until_event("config", "Drifted").await;
    assert!(
        note.contains("ConfigMap default/config was modified"),
        "{note}"
    );
    harness.until("config", is_drifted).await;
    assert_eq!(harness.text("config").await.as_deref(), Some("wrong"));
    harness
        .patch("config", json!({"spec": {"drift": "correct"}}))
        .await;
    harness.until_text("config", "hello").await;
    harness
        .until("config", |plugin| !is_drifted(plugin) && plugin.is_ready())
        .await;
    harness.close().await;
}

#[tokio::test]
async fn drift_is_ignored_with_policy_ignore() {
    let harness = Harness::new().await;
    harness
        .create("config", "config", json!({"drift": "ignore"}))
        .await;
    harness.create("other", "config", json!({})).await;
    harness.until_ready("config").await;
    harness.until_ready("other").await;
    modify(&harness, "config", "wrong").await;
    modify(&harness, "other", "wrong").await;
    // The same watch reports both, the other one later.
    harness.until_text("other", "hello").await;
    assert_eq!(harness.text("config").await.as_deref(), Some("wrong"));
    let reasons = harness.events("config").await;
    assert!(
        !reasons
            .iter()
            .any(|(reason, _)| reason.starts_with("Drift")),
        "{reasons:?}"
    );
    harness.close().await;
}

#[tokio::test]
async fn drift_while_the_controller_was_down_is_corrected() {
    let mut harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    harness.stop().await;
    modify(&harness, "config", "wrong").await;
    let record = "sh.helm.release.v1.config.v1";
    let secrets = harness.objects("v1", "Secret");
    secrets.delete(record, &Default::default()).await.unwrap();
    harness.start(|_| {});
    harness.until_text("config", "hello").await;
    harness.until_exists("v1", "Secret", record).await;
    harness.until_ready("config").await;
    harness.close().await;
}

#[tokio::test]
async fn fields_of_other_managers_are_not_drift() {
    let harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    harness.create("other", "config", json!({})).await;
    harness.until_ready("config").await;
    harness.until_ready("other").await;
    let parameters = PatchParams::apply("someone-else").force();
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}, "data": {"more": "x"}});
    harness
        .config_maps()
        .patch("config", &parameters, &Patch::Apply(&object))
        .await
        .unwrap();
    modify(&harness, "other", "wrong").await;
    harness.until_text("other", "hello").await;
    let map = harness.config_maps().get("config").await.unwrap();
    assert_eq!(map.data["data"]["more"], "x");
    let events = harness.events("config").await;
    assert!(
        !events.iter().any(|(reason, _)| reason == "DriftCorrected"),
        "{events:?}"
    );
    harness.close().await;
}

#[tokio::test]
async fn an_unhealthy_deployment_degrades_the_plugin_until_it_recovers() {
    let harness = Harness::new().await;
    harness
        .create("web", "web", json!({"drift": "ignore"}))
        .await;
    harness.until_ready("web").await;
    let deployments = harness.objects("apps/v1", "Deployment");
    let simulate = |mode: Value| {
        Patch::Merge(
            json!({"spec": {"template": {"metadata": {"annotations": {"outrigger.dev/simulate": mode}}}}}),
        )
    };
    let parameters = PatchParams::default();
    deployments
        .patch("web", &parameters, &simulate(json!("never-ready")))
        .await
        .unwrap();
    let plugin = harness.until_phase("web", Phase::Degraded).await;
    let message = &plugin.condition("Healthy").unwrap().message;
    assert!(message.contains("Deployment default/web"), "{message}");
    deployments
        .patch("web", &parameters, &simulate(json!(null)))
        .await
        .unwrap();
    harness.until_ready("web").await;
    harness.until_event("web", "Recovered").await;
    harness.close().await;
}

/// The grace is for scaling.
#[tokio::test]
async fn a_ready_plugin_whose_pods_crash_is_degraded_without_a_grace() {
    let harness = Harness::with(|options| options.progress_grace = Duration::from_hours(1)).await;
    harness
        .create("web", "web", json!({"drift": "ignore"}))
        .await;
    harness.until_ready("web").await;
    let patch = json!({"spec": {"template": {"metadata": {"annotations": {"outrigger.dev/simulate": "crash-loop"}}}}});
    harness
        .objects("apps/v1", "Deployment")
        .patch("web", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    let plugin = harness.until_phase("web", Phase::Degraded).await;
    let message = &plugin.condition("Ready").unwrap().message;
    assert!(message.contains("CrashLoopBackOff"), "{message}");
    harness.close().await;
}

#[tokio::test]
async fn correcting_drift_keeps_generated_passwords() {
    let harness = Harness::new().await;
    let random = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data:
  text: hello
  password: {{ randAlphaNum 20 }}
";
    charts::write(
        harness.charts.path(),
        "random",
        "1.0.0",
        &[("random.yaml", random)],
    );
    harness.create("random", "random", json!({})).await;
    harness.until_ready("random").await;
    let password = async || {
        let map = harness.config_maps().get("random").await.unwrap();
        map.data["data"]["password"].as_str().unwrap().to_owned()
    };
    let before = password().await;
    modify(&harness, "random", "wrong").await;
    harness.until_text("random", "hello").await;
    harness.until_ready("random").await;
    assert_eq!(password().await, before);
    harness.close().await;
}

/// Changes a value by server-side apply as Helm 4 does: with its field manager, which is ours as well. Managed fields have
/// times in seconds, so it waits for the next one.
async fn apply_as_helm(harness: &Harness, name: &str, text: &str) {
    let live = harness.config_maps().get(name).await.unwrap();
    let fields = live.metadata.managed_fields.unwrap();
    let applied = fields.into_iter().find_map(|entry| entry.time).unwrap();
    while Timestamp::now().as_second() <= applied.0.as_second() {
        tokio::task::yield_now().await;
    }
    apply_as_helm_at_once(harness, name, text).await;
}

async fn apply_as_helm_at_once(harness: &Harness, name: &str, text: &str) {
    let maps = harness.config_maps();
    let mut live = maps.get(name).await.unwrap();
    live.metadata.managed_fields = None;
    let parameters = PatchParams::apply("helm").force();
    live.metadata.resource_version = None;
    live.data["data"]["text"] = json!(text);
    let patch = Patch::Apply(&live);
    maps.patch(name, &parameters, &patch).await.unwrap();
}

#[tokio::test]
async fn a_change_by_the_same_field_manager_is_corrected() {
    let harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    apply_as_helm(&harness, "config", "wrong").await;
    harness.until_text("config", "hello").await;
    harness.until_event("config", "DriftCorrected").await;
    harness.until_ready("config").await;
    harness.close().await;
}

#[tokio::test]
async fn a_change_by_the_same_field_manager_in_the_same_second_is_corrected() {
    let harness = Harness::new().await;
    // Several tries, because a second may end between the two applies.
    for number in 0..3 {
        let name = format!("config-{number}");
        harness.create(&name, "config", json!({})).await;
        harness.until_ready(&name).await;
        apply_as_helm_at_once(&harness, &name, "wrong").await;
        harness.until_text(&name, "hello").await;
        harness.until_ready(&name).await;
    }
    harness.close().await;
}

/// What the phase and the condition Ready of a plugin were at each of its versions.
async fn record_states(
    api: kube::Api<outrigger_api::plugin::Plugin>,
    states: Arc<Mutex<Vec<(Phase, bool, String)>>>,
) {
    use futures::StreamExt as _;
    let mut events = std::pin::pin!(kube::runtime::watcher(api, Default::default()));
    while let Some(event) = events.next().await {
        if let Ok(kube::runtime::watcher::Event::Apply(plugin)) = event
            && let Some(ready) = plugin.condition("Ready")
        {
            let is_true = ready.status == outrigger_api::condition::ConditionStatus::True;
            let state = (plugin.phase(), is_true, ready.reason.clone());
            states.lock().unwrap().push(state);
        }
    }
}

#[tokio::test]
async fn phase_and_ready_never_contradict_each_other_after_helm_uninstall() {
    let harness = Harness::with(|options| options.status_delay = Duration::ZERO).await;
    harness.create("web", "web", json!({})).await;
    harness.until_ready("web").await;
    let states = Arc::default();
    let recorder = tokio::spawn(record_states(harness.plugins(), Arc::clone(&states)));
    // A finalizer delays the deletion, so that the correction takes some time.
    let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
    let maps = harness.config_maps();
    let merge = |patch: &Value| Patch::Merge(patch.clone());
    maps.patch("web", &Default::default(), &merge(&held))
        .await
        .unwrap();
    let records = kube::api::ListParams::default().labels("owner=helm");
    let secrets = harness.objects("v1", "Secret");
    secrets
        .delete_collection(&Default::default(), &records)
        .await
        .unwrap();
    let deployments = harness.objects("apps/v1", "Deployment");
    deployments
        .delete("web", &Default::default())
        .await
        .unwrap();
    maps.delete("web", &Default::default()).await.unwrap();
    harness
        .until("web", |plugin| plugin.phase() != Phase::Ready)
        .await;
    let released = json!({"metadata": {"finalizers": null}});
    maps.patch("web", &Default::default(), &merge(&released))
        .await
        .unwrap();
    harness.until_ready("web").await;
    recorder.abort();
    let states: Vec<_> = states.lock().unwrap().clone();
    assert!(states.len() > 1, "{states:?}");
    for (phase, is_ready, reason) in &states {
        assert_eq!(*phase == Phase::Ready, *is_ready, "{reason}: {states:?}");
    }
    harness.close().await;
}
