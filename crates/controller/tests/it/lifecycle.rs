//! Install, change, switch off.

use outrigger_api::condition::Truth;
use outrigger_api::plugin::Phase;
use serde_json::json;

use crate::charts;
use crate::stage::Stage;

#[tokio::test]
async fn a_plugin_is_installed_changed_and_removed_without_a_trace() {
    let stage = Stage::new().await;
    stage.create("web", "web", json!({})).await;
    let plugin = stage.until_ready("web").await;
    let status = plugin.status.clone().unwrap();
    assert_eq!(status.version.as_deref(), Some("1.2.3"));
    assert_eq!(status.app_version.as_deref(), Some("7"));
    assert_eq!(status.revision, Some(1));
    assert_eq!(status.inventory.len(), 2);
    assert_eq!(stage.text("web").await.as_deref(), Some("hello"));
    for kind in ["Fetched", "Rendered", "Applied", "Healthy", "Ready"] {
        let condition = plugin.condition(kind).unwrap();
        assert_eq!(condition.status, Truth::True, "{condition:?}");
        assert_eq!(condition.observed_generation, plugin.metadata.generation);
    }

    stage
        .patch("web", json!({"spec": {"values": {"text": "changed"}}}))
        .await;
    let plugin = stage.until_ready("web").await;
    assert_eq!(plugin.status.unwrap().revision, Some(2));
    assert_eq!(stage.text("web").await.as_deref(), Some("changed"));

    stage
        .patch("web", json!({"spec": {"enabled": false}}))
        .await;
    let plugin = stage.until_phase("web", Phase::Disabled).await;
    assert_eq!(stage.owned().await, [""; 0]);
    assert!(plugin.metadata.finalizers.unwrap_or_default().is_empty());
    assert!(plugin.status.unwrap().inventory.is_empty());

    stage.patch("web", json!({"spec": {"enabled": true}})).await;
    stage.until_ready("web").await;
    stage.delete("web").await;
    stage.until_gone("web").await;
    assert_eq!(stage.owned().await, [""; 0]);
    stage.close().await;
}

#[tokio::test]
async fn events_tell_the_transitions_once() {
    let stage = Stage::new().await;
    stage.create("config", "config", json!({})).await;
    stage.until_ready("config").await;
    stage.until_event("config", "Installed").await;
    stage
        .patch("config", json!({"spec": {"values": {"text": "x"}}}))
        .await;
    stage.until_event("config", "Upgraded").await;
    stage
        .patch("config", json!({"spec": {"enabled": false}}))
        .await;
    stage.until_event("config", "Removed").await;
    let events = stage.events("config").await;
    let reasons: Vec<&str> = events.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["Installed", "Upgraded", "Removed"]);
    stage.close().await;
}

#[tokio::test]
async fn a_plugin_of_manifests_applies_what_it_has_in_itself() {
    let stage = Stage::new().await;
    let spec = json!({"kind": "manifests", "repo": null, "chart": null, "resources": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inline"}, "data": {"text": "in"}},
    ]});
    stage.create("plain", "", spec).await;
    stage.until_ready("plain").await;
    assert_eq!(stage.text("inline").await.as_deref(), Some("in"));
    stage.delete("plain").await;
    stage.until_gone("plain").await;
    assert_eq!(stage.text("inline").await, None);
    stage.close().await;
}

#[tokio::test]
async fn values_come_from_config_maps_and_secrets_and_changes_of_them_are_followed() {
    let stage = Stage::new().await;
    let spec = json!({"valuesFrom": [{"kind": "Secret", "name": "texts", "key": "values.yaml"}]});
    stage.create("config", "config", spec).await;
    let message = stage.until_reason("config", "ValuesMissing").await;
    assert!(message.contains("Secret texts is missing"), "{message}");
    assert_eq!(stage.get("config").await.phase(), Phase::Waiting);

    let secrets = stage.objects("v1", "Secret");
    let secret = |text: &str| {
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "texts"},
            "stringData": {"values.yaml": format!("text: {text}")},
        }))
        .unwrap()
    };
    secrets
        .create(&Default::default(), &secret("first"))
        .await
        .unwrap();
    let plugin = stage.until_ready("config").await;
    assert_eq!(stage.text("config").await.as_deref(), Some("first"));
    assert!(!serde_json::to_string(&plugin).unwrap().contains("first"));

    secrets
        .patch(
            "texts",
            &Default::default(),
            &kube::api::Patch::Merge(json!({"stringData": {"values.yaml": "text: second"}})),
        )
        .await
        .unwrap();
    stage
        .until("config", |plugin| {
            plugin
                .status
                .as_ref()
                .is_some_and(|status| status.revision == Some(2) && status.phase == Phase::Ready)
        })
        .await;
    assert_eq!(stage.text("config").await.as_deref(), Some("second"));
    stage.close().await;
}

#[tokio::test]
async fn long_work_is_told_and_short_work_is_not() {
    let stage = Stage::new().await;
    let spec = json!({"values": {"simulate": "slow=1"}});
    stage.create("web", "web", spec).await;
    let message = stage.until_phase("web", Phase::Installing).await;
    let message = message.condition("Ready").unwrap().message.clone();
    assert!(message.contains("Deployment default/web"), "{message}");
    stage.until_ready("web").await;
    stage.close().await;
}

#[tokio::test]
async fn files_are_put_into_the_chart() {
    let stage = Stage::new().await;
    let spec = json!({"fileOverrides": [{"name": "values.yaml", "content": "text: mine\n"}]});
    stage.create("config", "config", spec).await;
    stage.until_ready("config").await;
    assert_eq!(stage.text("config").await.as_deref(), Some("mine"));
    stage.close().await;
}

#[tokio::test]
async fn images_are_taken_from_the_registry_of_the_plugin_else_of_the_cluster() {
    let stage = Stage::without_controller().await;
    let mut stage = stage;
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> =
        kube::Api::all(stage.client.clone());
    let namespace =
        serde_json::from_value(json!({"metadata": {"name": "outrigger-system"}})).unwrap();
    namespaces
        .create(&Default::default(), &namespace)
        .await
        .unwrap();
    let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::namespaced(stage.client.clone(), "outrigger-system");
    let map = serde_json::from_value(json!({
        "metadata": {"name": "outrigger-defaults"}, "data": {"imageRegistry": "cluster.local"},
    }))
    .unwrap();
    maps.create(&Default::default(), &map).await.unwrap();
    stage.start(|_| {});
    stage.create("one", "web", json!({})).await;
    stage
        .create(
            "two",
            "web",
            json!({"imageRegistry": "own.local:5000/site"}),
        )
        .await;
    stage.until_ready("one").await;
    stage.until_ready("two").await;
    let deployments = stage.objects("apps/v1", "Deployment");
    let image = |object: kube::core::DynamicObject| {
        object.data["spec"]["template"]["spec"]["containers"][0]["image"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let one = image(deployments.get("one").await.unwrap());
    let two = image(deployments.get("two").await.unwrap());
    assert!(one.starts_with("cluster.local/"), "{one}");
    assert!(two.starts_with("own.local:5000/site/"), "{two}");

    maps.delete("outrigger-defaults", &Default::default())
        .await
        .unwrap();
    stage
        .until("one", |plugin| {
            plugin.status.as_ref().unwrap().revision == Some(2)
        })
        .await;
    assert_eq!(
        image(deployments.get("one").await.unwrap()),
        "example.com/web:1"
    );
    stage.close().await;
}

#[tokio::test]
async fn a_failed_hook_fails_the_plugin_and_hooks_are_refused_in_templates() {
    let stage = Stage::new().await;
    let job = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-check
  annotations:
    helm.sh/hook: pre-install
    outrigger.dev/simulate: job-fails
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {outrigger.dev/simulate: job-fails}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: example.com/check:1}]
";
    charts::write(stage.charts.path(), "hooked", "1.0.0", &[("job.yaml", job)]);
    stage
        .create("hooked", "hooked", json!({"retries": 0}))
        .await;
    let message = stage.until_reason("hooked", "HookFailed").await;
    assert!(message.contains("given up after 1 attempts"), "{message}");
    stage
        .create("template", "hooked", json!({"kind": "template"}))
        .await;
    let message = stage.until_reason("template", "HooksRefused").await;
    assert!(message.contains("Job template-check"), "{message}");
    stage.close().await;
}
