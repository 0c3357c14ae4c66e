//! The number of requests: few per installation, none for a reconcile without changes.

use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::Harness;

fn writes(requests: &[String]) -> Vec<&String> {
    let is_event = |request: &&String| !request.contains("/events");
    let is_write = |request: &&String| !request.starts_with("GET") && !request.starts_with("WATCH");
    requests.iter().filter(is_write).filter(is_event).collect()
}

#[tokio::test]
async fn an_installation_of_ten_objects_makes_few_requests() {
    let harness = Harness::new().await;
    let ten: String = (0..10)
        .map(|number| {
            format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {{{{ .Release.Name }}}}-{number}}}\n")
        })
        .collect();
    charts::write(harness.charts.path(), "ten", "1.0.0", &[("ten.yaml", &ten)]);
    harness.create("first", "ten", json!({})).await;
    harness.until_ready("first").await;
    harness.until_event("first", "Installed").await;
    harness.connection.take_requests();
    harness.create("second", "ten", json!({})).await;
    harness.until_ready("second").await;
    harness.until_event("second", "Installed").await;
    let requests = harness.connection.take_requests();
    let writes = writes(&requests).len();
    let reads = requests
        .iter()
        .filter(|request| request.starts_with("GET"))
        .count();
    // Ten objects, two writes of the record, the finalizer, and one status, or two if the node is very slow.
    assert!((14..=15).contains(&writes), "{requests:#?}");
    // The watch knows which ConfigMaps exist, so missing ones are not read. Secrets are not watched, so the release
    // records are listed.
    assert_eq!(reads, 1, "{requests:#?}");
    harness.close().await;
}

#[tokio::test]
async fn an_installation_reads_nothing_if_secrets_are_watched() {
    let harness = Harness::new().await;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Release.Name }}}\n";
    charts::write(
        harness.charts.path(),
        "secret",
        "1.0.0",
        &[("secret.yaml", secret)],
    );
    harness.create("first", "secret", json!({})).await;
    harness.until_ready("first").await;
    harness.connection.take_requests();
    harness.create("second", "secret", json!({})).await;
    harness.until_ready("second").await;
    let requests = harness.connection.take_requests();
    let is_read = |request: &&String| request.starts_with("GET");
    assert_eq!(requests.iter().filter(is_read).count(), 0, "{requests:#?}");
    harness.close().await;
}

#[tokio::test]
async fn a_removal_reads_the_release_record_once() {
    let harness = Harness::new().await;
    harness.create("first", "config", json!({})).await;
    harness.until_ready("first").await;
    harness.connection.take_requests();
    harness.delete("first").await;
    harness.until_deleted("first").await;
    // Would be installed after a second removal, if there was one.
    harness.create("last", "config", json!({})).await;
    harness.until_ready("last").await;
    let requests = harness.connection.take_requests();
    let count = |request: &str| {
        requests
            .iter()
            .filter(|one| one.starts_with(request))
            .count()
    };
    let plugin = "/apis/outrigger.dev/v1beta1/namespaces/default/plugins/first";
    assert_eq!(count(&format!("PATCH {plugin}")), 1, "{requests:#?}");
    let record = "/api/v1/namespaces/default/secrets/sh.helm.release.v1.first.v1";
    assert_eq!(count(&format!("GET {record}")), 1, "{requests:#?}");
    // No CustomResourceDefinition was removed, so the kinds are not discovered again.
    assert_eq!(count("GET /version"), 0, "{requests:#?}");
    harness.close().await;
}

#[tokio::test]
async fn a_reconcile_without_changes_makes_no_requests() {
    let harness = Harness::new().await;
    for name in ["one", "two", "three"] {
        harness.create(name, "web", json!({})).await;
    }
    for name in ["one", "two", "three"] {
        harness.until_ready(name).await;
        harness.until_event(name, "Installed").await;
    }
    harness.connection.take_requests();
    for name in ["one", "two", "three"] {
        harness
            .patch(
                name,
                json!({"metadata": {"annotations": {"note": "touched"}}}),
            )
            .await;
    }
    // Installed after the others are reconciled.
    harness.create("last", "config", json!({})).await;
    harness.until_ready("last").await;
    let requests = harness.connection.take_requests();
    let about = |name: &str| {
        requests
            .iter()
            .filter(|request| request.contains(name))
            .count()
    };
    for name in ["/one", "/two", "/three"] {
        assert_eq!(about(name), 0, "{requests:#?}");
    }
    harness.close().await;
}

#[tokio::test]
async fn a_restart_writes_nothing_for_ready_plugins() {
    let mut harness = Harness::new().await;
    charts::write(harness.charts.path(), "empty", "1.0.0", &[]);
    harness.create("empty", "empty", json!({})).await;
    harness.until_ready("empty").await;
    harness.until_event("empty", "Installed").await;
    harness.create("base", "web", json!({})).await;
    harness
        .create("app", "config", json!({"dependencies": [{"name": "base"}]}))
        .await;
    harness.until_ready("app").await;
    harness.until_event("app", "Installed").await;
    harness.stop().await;
    harness.connection.take_requests();
    harness.start(|_| {});
    harness
        .create("last", "config", json!({"dependencies": [{"name": "app"}]}))
        .await;
    harness.until_ready("last").await;
    let requests = harness.connection.take_requests();
    // The record of the last one is created in the collection of Secrets.
    let is_last = |request: &str| request.contains("last") || request.ends_with("/secrets");
    let others = writes(&requests)
        .into_iter()
        .filter(|request| !is_last(request));
    assert_eq!(others.count(), 0, "{requests:#?}");
    harness.close().await;
}
