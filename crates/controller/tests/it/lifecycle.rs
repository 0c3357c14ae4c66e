//! Install, upgrade, disable; the spec fields that shape the release.

use outrigger_api::condition::ConditionStatus;
use outrigger_api::plugin::Phase;
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::Harness;

#[tokio::test]
async fn a_plugin_is_installed_upgraded_disabled_and_deleted() {
    let harness = Harness::new().await;
    harness.create("web", "web", json!({})).await;
    let plugin = harness.until_ready("web").await;
    let status = plugin.status.clone().unwrap();
    assert_eq!(status.version.as_deref(), Some("1.2.3"));
    assert_eq!(status.app_version.as_deref(), Some("7"));
    assert_eq!(status.revision, Some(1));
    assert_eq!(status.inventory.len(), 2);
    assert_eq!(harness.text("web").await.as_deref(), Some("hello"));
    for kind in ["Fetched", "Rendered", "Applied", "Healthy", "Ready"] {
        let condition = plugin.condition(kind).unwrap();
        assert_eq!(condition.status, ConditionStatus::True, "{condition:?}");
        assert_eq!(condition.observed_generation, plugin.metadata.generation);
    }

    harness
        .patch("web", json!({"spec": {"values": {"text": "changed"}}}))
        .await;
    let plugin = harness.until_ready("web").await;
    assert_eq!(plugin.status.unwrap().revision, Some(2));
    assert_eq!(harness.text("web").await.as_deref(), Some("changed"));

    harness
        .patch("web", json!({"spec": {"enabled": false}}))
        .await;
    let plugin = harness.until_phase("web", Phase::Disabled).await;
    assert_eq!(harness.release_objects().await, [""; 0]);
    assert!(plugin.metadata.finalizers.unwrap_or_default().is_empty());
    assert!(plugin.status.unwrap().inventory.is_empty());

    harness
        .patch("web", json!({"spec": {"enabled": true}}))
        .await;
    harness.until_ready("web").await;
    harness.delete("web").await;
    harness.until_deleted("web").await;
    assert_eq!(harness.release_objects().await, [""; 0]);
    harness.close().await;
}

/// The event said that the version was installed again.
#[tokio::test]
async fn a_reverted_change_that_could_not_be_deployed_is_not_an_installation() {
    let harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    harness
        .patch("config", json!({"spec": {"version": "9.9.9"}}))
        .await;
    harness.until_reason("config", "ChartNotFound").await;
    harness
        .patch("config", json!({"spec": {"version": null}}))
        .await;
    harness.until_ready("config").await;
    let note = harness.until_event("config", "Recovered").await;
    assert_eq!(
        note,
        "revision 1 is as specified, and all objects are healthy"
    );
    harness.close().await;
}

#[tokio::test]
async fn each_transition_emits_one_event() {
    let harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    harness.until_event("config", "Installed").await;
    harness
        .patch("config", json!({"spec": {"values": {"text": "x"}}}))
        .await;
    harness.until_event("config", "Upgraded").await;
    harness
        .patch("config", json!({"spec": {"enabled": false}}))
        .await;
    harness.until_event("config", "Removed").await;
    let events = harness.events("config").await;
    let reasons: Vec<&str> = events.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["Installed", "Upgraded", "Removed"]);
    harness.close().await;
}

#[tokio::test]
async fn inline_manifests_are_applied() {
    let harness = Harness::new().await;
    let spec = json!({"kind": "manifests", "repo": null, "chart": null, "resources": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inline"}, "data": {"text": "in"}},
    ]});
    harness.create("plain", "", spec).await;
    harness.until_ready("plain").await;
    assert_eq!(harness.text("inline").await.as_deref(), Some("in"));
    harness.delete("plain").await;
    harness.until_deleted("plain").await;
    assert_eq!(harness.text("inline").await, None);
    harness.close().await;
}

#[tokio::test]
async fn values_come_from_secrets_and_follow_their_changes() {
    let harness = Harness::new().await;
    let spec = json!({"valuesFrom": [{"kind": "Secret", "name": "texts", "key": "values.yaml"}]});
    harness.create("config", "config", spec).await;
    let message = harness.until_reason("config", "ValuesMissing").await;
    assert!(message.contains("Secret texts does not exist"), "{message}");
    assert_eq!(harness.get("config").await.phase(), Phase::Waiting);

    let secrets = harness.objects("v1", "Secret");
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
    let plugin = harness.until_ready("config").await;
    assert_eq!(harness.text("config").await.as_deref(), Some("first"));
    assert!(!serde_json::to_string(&plugin).unwrap().contains("first"));

    secrets
        .patch(
            "texts",
            &Default::default(),
            &kube::api::Patch::Merge(json!({"stringData": {"values.yaml": "text: second"}})),
        )
        .await
        .unwrap();
    harness
        .until("config", |plugin| {
            plugin
                .status
                .as_ref()
                .is_some_and(|status| status.revision == Some(2) && status.phase == Phase::Ready)
        })
        .await;
    assert_eq!(harness.text("config").await.as_deref(), Some("second"));
    harness.close().await;
}

#[tokio::test]
async fn a_long_installation_reports_its_progress() {
    let harness = Harness::new().await;
    let spec = json!({"values": {"simulate": "slow=1"}});
    harness.create("web", "web", spec).await;
    let message = harness.until_phase("web", Phase::Installing).await;
    let message = message.condition("Ready").unwrap().message.clone();
    assert!(message.contains("Deployment default/web"), "{message}");
    harness.until_ready("web").await;
    harness.close().await;
}

#[tokio::test]
async fn health_rules_of_the_spec_apply_and_can_change() {
    let harness = Harness::new().await;
    let rule = |expression: &str| json!({"health": [{"apiVersion": "v1", "kind": "ConfigMap", "healthy": expression}]});
    harness
        .create("config", "config", rule("self.data.text == 'go'"))
        .await;
    let plugin = harness.until_phase("config", Phase::Installing).await;
    let message = plugin.condition("Ready").unwrap().message.clone();
    assert!(message.contains("ConfigMap default/config"), "{message}");
    harness
        .patch("config", json!({"spec": rule("self.data.text == 'hello'")}))
        .await;
    harness.until_ready("config").await;
    harness.create("bad", "config", rule("self.data.")).await;
    harness.until_reason("bad", "BadHealthRule").await;
    harness.close().await;
}

#[tokio::test]
async fn an_invalid_health_rule_fails_an_installed_plugin_and_leaves_its_objects() {
    let harness = Harness::new().await;
    let rule = |expression: &str| json!({"health": [{"apiVersion": "v1", "kind": "ConfigMap", "healthy": expression}]});
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    let installed = harness.config_maps().get("config").await.unwrap();
    harness
        .patch("config", json!({"spec": rule("self.data.")}))
        .await;
    let plugin = harness.until_phase("config", Phase::Failed).await;
    assert_eq!(plugin.condition("Ready").unwrap().reason, "BadHealthRule");
    let left = harness.config_maps().get("config").await.unwrap();
    assert_eq!(
        left.metadata.resource_version,
        installed.metadata.resource_version
    );
    // An expression that cannot be evaluated is not met.
    harness
        .patch("config", json!({"spec": rule("self.data.absent == 'x'")}))
        .await;
    let plugin = harness
        .until("config", |plugin| {
            let ready = plugin.condition("Ready");
            plugin.is_observed() && ready.is_some_and(|ready| ready.message.contains("absent"))
        })
        .await;
    assert!(!plugin.is_ready());
    harness
        .patch("config", json!({"spec": rule("self.data.text == 'hello'")}))
        .await;
    harness.until_ready("config").await;
    harness.close().await;
}

#[tokio::test]
async fn file_overrides_are_applied_to_the_chart() {
    let harness = Harness::new().await;
    let spec = json!({"fileOverrides": [{"name": "values.yaml", "content": "text: mine\n"}]});
    harness.create("config", "config", spec).await;
    harness.until_ready("config").await;
    assert_eq!(harness.text("config").await.as_deref(), Some("mine"));
    harness.close().await;
}

#[tokio::test]
async fn the_image_registry_comes_from_the_plugin_or_the_cluster_defaults() {
    let mut harness = Harness::without_controller().await;
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> =
        kube::Api::all(harness.client.clone());
    let namespace =
        serde_json::from_value(json!({"metadata": {"name": "outrigger-system"}})).unwrap();
    namespaces
        .create(&Default::default(), &namespace)
        .await
        .unwrap();
    let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::namespaced(harness.client.clone(), "outrigger-system");
    let map = serde_json::from_value(json!({
        "metadata": {"name": "outrigger-defaults"}, "data": {"imageRegistry": "cluster.local"},
    }))
    .unwrap();
    maps.create(&Default::default(), &map).await.unwrap();
    harness.start(|_| {});
    harness.create("one", "web", json!({})).await;
    harness
        .create(
            "two",
            "web",
            json!({"imageRegistry": "own.local:5000/site"}),
        )
        .await;
    harness.until_ready("one").await;
    harness.until_ready("two").await;
    let deployments = harness.objects("apps/v1", "Deployment");
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
    harness
        .until("one", |plugin| {
            plugin.status.as_ref().unwrap().revision == Some(2)
        })
        .await;
    assert_eq!(
        image(deployments.get("one").await.unwrap()),
        "example.com/web:1"
    );
    harness.close().await;
}

#[tokio::test]
async fn a_failed_hook_fails_the_plugin_and_kind_template_rejects_hooks() {
    let harness = Harness::new().await;
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
    charts::write(
        harness.charts.path(),
        "hooked",
        "1.0.0",
        &[("job.yaml", job)],
    );
    harness
        .create("hooked", "hooked", json!({"retries": 0}))
        .await;
    let message = harness.until_reason("hooked", "HookFailed").await;
    assert!(
        message.contains("; not retried until the plugin or its inputs change"),
        "{message}"
    );
    harness
        .create("template", "hooked", json!({"kind": "template"}))
        .await;
    let message = harness.until_reason("template", "HooksRefused").await;
    assert!(message.contains("Job template-check"), "{message}");
    harness.close().await;
}
