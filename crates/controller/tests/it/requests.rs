//! What it costs: an installation has few requests, a look that finds nothing new has none.

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
    // Ten objects, two records, finalizer and one status, or two if the machine is very slow.
    assert!((14..=15).contains(&writes), "{requests:#?}");
    // Names of objects are known from the watch: what is not there need not be asked for. Nobody watches Secrets, so
    // the records are listed.
    assert_eq!(reads, 1, "{requests:#?}");
    harness.close().await;
}

#[tokio::test]
async fn where_secrets_are_watched_an_installation_reads_nothing() {
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
async fn a_removal_asks_for_the_records_and_is_done_once() {
    let harness = Harness::new().await;
    harness.create("first", "config", json!({})).await;
    harness.until_ready("first").await;
    harness.connection.take_requests();
    harness.delete("first").await;
    harness.until_gone("first").await;
    // What is installed after it would come after a second removal.
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
    // No kinds went with it.
    assert_eq!(count("GET /version"), 0, "{requests:#?}");
    harness.close().await;
}

#[tokio::test]
async fn a_look_that_finds_nothing_new_asks_and_writes_nothing() {
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
    // A fourth one is installed after all looks at the others.
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
async fn a_start_over_ready_plugins_writes_nothing() {
    let mut harness = Harness::new().await;
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
    // The record of the last one is posted to all Secrets.
    let is_last = |request: &str| request.contains("last") || request.ends_with("/secrets");
    let others = writes(&requests)
        .into_iter()
        .filter(|request| !is_last(request));
    assert_eq!(others.count(), 0, "{requests:#?}");
    harness.close().await;
}
