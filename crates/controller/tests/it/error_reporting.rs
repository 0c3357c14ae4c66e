//! Each failure is reported in the status and in an event, both with the relevant names.

use outrigger_testing::embedded_api::charts;
use serde_json::{Value, json};

use crate::harness::Harness;

/// Checks that the message of the condition Ready and the note of the event contain all words.
async fn check_reported(harness: &Harness, name: &str, reason: &str, event: &str, words: &[&str]) {
    let message = harness.until_reason(name, reason).await;
    let note = harness.until_event(name, event).await;
    for word in words {
        assert!(
            message.contains(word),
            "{word} is not in the status: {message}"
        );
        assert!(note.contains(word), "{word} is not in the event: {note}");
    }
}

#[tokio::test]
async fn a_missing_chart_is_reported_with_similar_names() {
    let harness = Harness::new().await;
    harness.create("web", "wbe", json!({})).await;
    let words = ["wbe", "web"];
    check_reported(&harness, "web", "ChartNotFound", "Failed", &words).await;
    harness.close().await;
}

#[tokio::test]
async fn an_invalid_version_range_is_quoted() {
    let harness = Harness::new().await;
    let spec = json!({"version": ">=1.x.y, <<2"});
    harness.create("web", "config", spec).await;
    let words = [">=1.x.y, <<2"];
    check_reported(&harness, "web", "InvalidSpec", "Refused", &words).await;
    harness.close().await;
}

#[tokio::test]
async fn a_cycle_is_reported_by_each_member() {
    let harness = Harness::new().await;
    for (name, needs) in [("a", "b"), ("b", "c"), ("c", "a")] {
        let spec = json!({"dependencies": [{"name": needs}]});
        harness.create(name, "config", spec).await;
    }
    for name in ["a", "b", "c"] {
        let words = ["dependency cycle", "a", "b", "c", " -> "];
        check_reported(&harness, name, "DependencyCycle", "Refused", &words).await;
    }
    harness.close().await;
}

#[tokio::test]
async fn a_missing_secret_is_named_and_its_content_is_never_reported() {
    let harness = Harness::new().await;
    let spec =
        json!({"valuesFrom": [{"kind": "Secret", "name": "passwords", "key": "values.yaml"}]});
    harness.create("web", "config", spec).await;
    let words = ["Secret passwords"];
    check_reported(&harness, "web", "ValuesMissing", "Waiting", &words).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "passwords"},
        "stringData": {"values.yaml": "text: [hunter2"},
    });
    let secret = serde_json::from_value(secret).unwrap();
    let secrets = harness.objects("v1", "Secret");
    secrets.create(&Default::default(), &secret).await.unwrap();
    let words = ["Secret passwords", "values.yaml"];
    check_reported(&harness, "web", "BadValues", "Failed", &words).await;
    let plugin = serde_json::to_string(&harness.get("web").await).unwrap();
    assert!(!plugin.contains("hunter2"), "{plugin}");
    let events = harness.events("web").await;
    assert!(!format!("{events:?}").contains("hunter2"), "{events:?}");
    harness.close().await;
}

#[tokio::test]
async fn a_schema_violation_names_the_value() {
    let harness = Harness::new().await;
    let directory = harness.charts.path();
    charts::write(
        directory,
        "strict",
        "1.0.0",
        &[("config.yaml", charts::CONFIG_MAP)],
    );
    let schema = r#"{"type": "object", "properties": {"text": {"type": "string"}}}"#;
    fs_err::write(directory.join("strict/values.schema.json"), schema).unwrap();
    let spec = json!({"values": {"text": 5}});
    harness.create("strict", "strict", spec).await;
    let words = ["text", "string"];
    check_reported(&harness, "strict", "RenderFailed", "Failed", &words).await;
    harness.close().await;
}

#[tokio::test]
async fn a_change_of_an_immutable_field_is_reported_before_anything_is_applied() {
    let harness = Harness::new().await;
    let map = format!("{}---\n{}", charts::CONFIG_MAP, charts::DEPLOYMENT);
    let map = map.replace(
        "matchLabels: {app: {{ .Release.Name }}}",
        "matchLabels: {app: {{ .Values.app | default .Release.Name }}}",
    );
    charts::write(
        harness.charts.path(),
        "fixed",
        "1.0.0",
        &[("all.yaml", &map)],
    );
    harness.create("web", "fixed", json!({})).await;
    harness.until_ready("web").await;
    let change = json!({"spec": {"values": {"app": "other", "text": "changed"}}});
    harness.patch("web", change).await;
    let words = ["Deployment", "web", "spec.selector"];
    check_reported(&harness, "web", "Refused", "Failed", &words).await;
    assert_eq!(harness.text("web").await.as_deref(), Some("hello"));
    harness.close().await;
}

#[tokio::test]
async fn missing_permissions_are_reported_with_the_account() {
    let harness = Harness::new().await;
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "limited"},
    });
    let account = serde_json::from_value(account).unwrap();
    let accounts = harness.objects("v1", "ServiceAccount");
    accounts
        .create(&Default::default(), &account)
        .await
        .unwrap();
    let spec = json!({"serviceAccountName": "limited"});
    harness.create("web", "config", spec).await;
    let words = ["system:serviceaccount:default:limited", "secrets"];
    check_reported(&harness, "web", "Forbidden", "Failed", &words).await;
    harness.close().await;
}

#[tokio::test]
async fn a_digest_mismatch_is_reported_with_the_digest_and_the_archive() {
    let harness = Harness::new().await;
    let directory = harness.charts.path().join("lying");
    fs_err::create_dir(&directory).unwrap();
    fs_err::write(directory.join("web-1.0.0.tgz"), b"not what was promised").unwrap();
    let promised = "0".repeat(64);
    let index = json!({
        "apiVersion": "v1",
        "entries": {"web": [{
            "name": "web", "version": "1.0.0", "urls": ["web-1.0.0.tgz"], "digest": promised,
        }]},
    });
    fs_err::write(directory.join("index.yaml"), index.to_string()).unwrap();
    let spec: Value = json!({"repo": format!("file://{}", directory.display())});
    harness.create("web", "web", spec).await;
    let words = [promised.as_str(), "web-1.0.0.tgz"];
    check_reported(&harness, "web", "DigestMismatch", "Failed", &words).await;
    harness.close().await;
}

#[tokio::test]
async fn the_name_of_an_object_that_contains_a_secret_is_not_in_the_status() {
    let harness = Harness::new().await;
    let template = "{apiVersion: v1, kind: ConfigMap, metadata: {name: \"x-{{ .Values.token }}\"}}";
    let files = [("map.yaml", template), ("config.yaml", charts::CONFIG_MAP)];
    charts::write(harness.charts.path(), "named", "1.0.0", &files);
    let secret = json!({"metadata": {"name": "token"}, "stringData": {"values.yaml": "token: hunter2-hunter2"}});
    let secret: kube::core::DynamicObject = serde_json::from_value(secret).unwrap();
    let secrets = harness.objects("v1", "Secret");
    secrets.create(&Default::default(), &secret).await.unwrap();
    let spec = json!({"valuesFrom": [{"kind": "Secret", "name": "token", "key": "values.yaml"}]});
    harness.create("web", "named", spec).await;
    let plugin = harness.until_ready("web").await;
    let text = serde_json::to_string(&plugin).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    let note = harness.until_event("web", "InstallWarnings").await;
    assert_eq!(
        note,
        "1 object is not listed and not watched, because its name contains a value from a Secret"
    );
    let maps = harness.config_maps();
    assert!(maps.get_opt("x-hunter2-hunter2").await.unwrap().is_some());
    harness.delete("web").await;
    harness.until_deleted("web").await;
    assert!(maps.get_opt("x-hunter2-hunter2").await.unwrap().is_none());
    harness.close().await;
}

#[tokio::test]
async fn each_failure_has_one_event_also_if_it_has_the_reason_of_the_last_one() {
    let harness = Harness::new().await;
    harness
        .create("web", "config", json!({"version": "8.8.8"}))
        .await;
    harness.until_note("web", "Failed", "8.8.8").await;
    harness
        .until("web", |plugin| {
            let status = plugin.status.as_ref();
            status.is_some_and(|status| status.attempts > 2)
        })
        .await;
    harness
        .patch("web", json!({"spec": {"version": "9.9.9"}}))
        .await;
    harness.until_note("web", "Failed", "9.9.9").await;
    let events = harness.events("web").await;
    let failures = events.iter().filter(|(reason, _)| reason == "Failed");
    assert_eq!(failures.count(), 2, "{events:#?}");
    harness.close().await;
}

#[tokio::test]
async fn a_server_that_does_not_respond_has_an_event_on_one_line() {
    let harness = Harness::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let spec = json!({"repo": format!("http://127.0.0.1:{port}")});
    harness.create("web", "config", spec).await;
    let note = harness.until_event("web", "Unreachable").await;
    assert!(note.contains(&format!("127.0.0.1:{port}")), "{note}");
    harness.close().await;
}

/// It overflowed the stack of the controller.
#[tokio::test]
async fn a_path_of_too_many_levels_is_reported() {
    let harness = Harness::new().await;
    let map = json!({"metadata": {"name": "tiny"}, "data": {"k": "v"}});
    let map = serde_json::from_value(map).unwrap();
    let maps = harness.config_maps();
    maps.create(&Default::default(), &map).await.unwrap();
    let path = vec!["v"; 1000].join(".");
    let from = json!({"kind": "ConfigMap", "name": "tiny", "key": "k", "targetPath": path});
    harness
        .create("web", "config", json!({"valuesFrom": [from]}))
        .await;
    let words = ["ConfigMap tiny", "100 levels"];
    check_reported(&harness, "web", "InvalidPath", "Failed", &words).await;
    harness.close().await;
}

#[tokio::test]
async fn the_health_of_an_object_that_quotes_a_secret_is_redacted() {
    let harness = Harness::new().await;
    let child = "{apiVersion: outrigger.dev/v1beta1, kind: Plugin, metadata: {name: child}, \
                 spec: {repo: \"{{ .Values.token }}\"}}";
    let files = [("child.yaml", child)];
    charts::write(harness.charts.path(), "parent", "1.0.0", &files);
    let secret = json!({"metadata": {"name": "token"}, "stringData": {"values.yaml": "token: hunter2-hunter2"}});
    let secret = serde_json::from_value(secret).unwrap();
    let secrets = harness.objects("v1", "Secret");
    secrets.create(&Default::default(), &secret).await.unwrap();
    let spec = json!({"valuesFrom": [{"kind": "Secret", "name": "token", "key": "values.yaml"}]});
    harness.create("web", "parent", spec).await;
    let message = harness.until_reason("child", "RepositoryMissing").await;
    assert!(message.contains("hunter2-hunter2"), "{message}");
    let is_quoted = |plugin: &outrigger_api::plugin::Plugin| {
        let healthy = plugin.condition("Healthy");
        healthy.is_some_and(|healthy| healthy.message.contains("does not exist"))
    };
    let plugin = harness.until("web", is_quoted).await;
    let text = serde_json::to_string(&plugin).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    let events = harness.events("web").await;
    assert!(!format!("{events:?}").contains("hunter2"), "{events:?}");
    harness.close().await;
}
