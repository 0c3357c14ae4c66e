//! What others change: corrected, told or left alone. And health that changes later.

use kube::api::{Patch, PatchParams};
use outrigger_api::plugin::Phase;
use serde_json::json;

use crate::stage::Stage;

async fn meddle(stage: &Stage, name: &str, text: &str) {
    let parameters = PatchParams {
        field_manager: Some("meddler".to_owned()),
        ..PatchParams::default()
    };
    let patch = json!({"data": {"text": text}});
    let maps = stage.config_maps();
    maps.patch(name, &parameters, &Patch::Merge(&patch))
        .await
        .unwrap();
}

/// Waits until the ConfigMap of the chart has a text.
async fn until_text(stage: &Stage, name: &str, text: &str) {
    let wanted = |map: Option<&kube::core::DynamicObject>| {
        map.is_some_and(|map| map.data["data"]["text"] == text)
    };
    let waited = kube::runtime::wait::await_condition(stage.config_maps(), name, wanted);
    tokio::time::timeout(crate::stage::SOON, waited)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn drift_is_corrected() {
    let stage = Stage::new().await;
    stage.create("config", "config", json!({})).await;
    stage.until_ready("config").await;
    meddle(&stage, "config", "wrong").await;
    until_text(&stage, "config", "hello").await;
    stage.until_event("config", "DriftCorrected").await;
    let plugin = stage.until_ready("config").await;
    assert_eq!(plugin.status.unwrap().revision, Some(1));
    stage.close().await;
}

#[tokio::test]
async fn an_object_that_is_deleted_comes_back() {
    let stage = Stage::new().await;
    stage.create("web", "web", json!({})).await;
    stage.until_ready("web").await;
    stage
        .config_maps()
        .delete("web", &Default::default())
        .await
        .unwrap();
    until_text(&stage, "web", "hello").await;
    stage.until_ready("web").await;
    stage.close().await;
}

#[tokio::test]
async fn drift_is_told_and_left_if_only_a_warning_is_wanted() {
    let stage = Stage::new().await;
    stage
        .create("config", "config", json!({"drift": "warn"}))
        .await;
    stage.until_ready("config").await;
    meddle(&stage, "config", "wrong").await;
    let note = stage.until_event("config", "Drifted").await;
    assert!(
        note.contains("ConfigMap default/config was changed"),
        "{note}"
    );
    let drifted = |plugin: &outrigger_api::plugin::Plugin| {
        plugin
            .condition("Applied")
            .is_some_and(|applied| applied.reason == "Drifted")
    };
    stage.until("config", drifted).await;
    assert_eq!(stage.text("config").await.as_deref(), Some("wrong"));
    stage
        .patch("config", json!({"spec": {"drift": "correct"}}))
        .await;
    until_text(&stage, "config", "hello").await;
    stage
        .until("config", |plugin| !drifted(plugin) && plugin.is_ready())
        .await;
    stage.close().await;
}

#[tokio::test]
async fn drift_is_left_alone_if_nobody_cares() {
    let stage = Stage::new().await;
    stage
        .create("config", "config", json!({"drift": "ignore"}))
        .await;
    stage.create("other", "config", json!({})).await;
    stage.until_ready("config").await;
    stage.until_ready("other").await;
    meddle(&stage, "config", "wrong").await;
    meddle(&stage, "other", "wrong").await;
    // The same watch tells of both, the other one later.
    until_text(&stage, "other", "hello").await;
    assert_eq!(stage.text("config").await.as_deref(), Some("wrong"));
    let reasons = stage.events("config").await;
    assert!(
        !reasons
            .iter()
            .any(|(reason, _)| reason.starts_with("Drift")),
        "{reasons:?}"
    );
    stage.close().await;
}

#[tokio::test]
async fn drift_from_before_the_start_is_corrected_too() {
    let mut stage = Stage::new().await;
    stage.create("config", "config", json!({})).await;
    stage.until_ready("config").await;
    stage.stop().await;
    meddle(&stage, "config", "wrong").await;
    stage.start(|_| {});
    until_text(&stage, "config", "hello").await;
    stage.close().await;
}

#[tokio::test]
async fn fields_of_others_are_no_drift() {
    let stage = Stage::new().await;
    stage.create("config", "config", json!({})).await;
    stage.create("other", "config", json!({})).await;
    stage.until_ready("config").await;
    stage.until_ready("other").await;
    let parameters = PatchParams::apply("somebody").force();
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}, "data": {"more": "x"}});
    stage
        .config_maps()
        .patch("config", &parameters, &Patch::Apply(&object))
        .await
        .unwrap();
    meddle(&stage, "other", "wrong").await;
    until_text(&stage, "other", "hello").await;
    let map = stage.config_maps().get("config").await.unwrap();
    assert_eq!(map.data["data"]["more"], "x");
    let events = stage.events("config").await;
    assert!(
        !events.iter().any(|(reason, _)| reason == "DriftCorrected"),
        "{events:?}"
    );
    stage.close().await;
}

#[tokio::test]
async fn a_deployment_that_breaks_later_degrades_the_plugin_and_recovers() {
    let stage = Stage::new().await;
    stage.create("web", "web", json!({"drift": "ignore"})).await;
    stage.until_ready("web").await;
    let deployments = stage.objects("apps/v1", "Deployment");
    let simulate = |mode: serde_json::Value| {
        Patch::Merge(
            json!({"spec": {"template": {"metadata": {"annotations": {"outrigger.dev/simulate": mode}}}}}),
        )
    };
    let parameters = PatchParams::default();
    deployments
        .patch("web", &parameters, &simulate(json!("never-ready")))
        .await
        .unwrap();
    let plugin = stage.until_phase("web", Phase::Degraded).await;
    let message = &plugin.condition("Healthy").unwrap().message;
    assert!(message.contains("Deployment default/web"), "{message}");
    deployments
        .patch("web", &parameters, &simulate(json!(null)))
        .await
        .unwrap();
    stage.until_ready("web").await;
    stage.until_event("web", "Recovered").await;
    stage.close().await;
}

#[tokio::test]
async fn a_chart_that_makes_up_passwords_keeps_them_when_drift_is_corrected() {
    let stage = Stage::new().await;
    let random = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data:
  text: hello
  password: {{ randAlphaNum 20 }}
";
    crate::charts::write(
        stage.charts.path(),
        "random",
        "1.0.0",
        &[("random.yaml", random)],
    );
    stage.create("random", "random", json!({})).await;
    stage.until_ready("random").await;
    let password = async || {
        let map = stage.config_maps().get("random").await.unwrap();
        map.data["data"]["password"].as_str().unwrap().to_owned()
    };
    let before = password().await;
    meddle(&stage, "random", "wrong").await;
    until_text(&stage, "random", "hello").await;
    stage.until_ready("random").await;
    assert_eq!(password().await, before);
    stage.close().await;
}
