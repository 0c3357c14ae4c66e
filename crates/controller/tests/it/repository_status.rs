//! The status of Repositories lists their charts.

use std::time::Duration;

use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use outrigger_api::condition::Condition;
use outrigger_api::repository::{Repository, RepositorySpec, RepositoryStatus};
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::Harness;

fn repositories(harness: &Harness) -> Api<Repository> {
    Api::all(harness.client.clone())
}

async fn create(harness: &Harness, name: &str, url: String) {
    let spec = RepositorySpec {
        url,
        ..RepositorySpec::default()
    };
    let repository = Repository::new(name, spec);
    let parameters = PostParams::default();
    let api = repositories(harness);
    api.create(&parameters, &repository).await.unwrap();
}

fn ready(repository: &Repository) -> Option<&Condition> {
    let conditions = &repository.status.as_ref()?.conditions;
    conditions.iter().find(|known| known.kind == "Ready")
}

/// Waits until the condition Ready has a reason for the current generation.
async fn until(harness: &Harness, name: &str, reason: &str) -> Repository {
    let is_met = |repository: Option<&Repository>| {
        let generation = repository.and_then(|known| known.metadata.generation);
        let ready = repository.and_then(ready);
        ready.is_some_and(|ready| ready.reason == reason && ready.observed_generation == generation)
    };
    let met = await_condition(repositories(harness), name, is_met);
    let met = tokio::time::timeout(Duration::from_secs(20), met).await;
    met.unwrap_or_else(|_| panic!("{name} does not become {reason}"))
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn the_status_lists_charts_and_versions() {
    let harness = Harness::new().await;
    let directory = tempfile::tempdir().unwrap();
    let config = [("config.yaml", charts::CONFIG_MAP)];
    charts::write(directory.path(), "web", "1.2.0", &config);
    for file in [
        "web-1.10.0.tgz",
        "web-1.9.0.tgz",
        "my-db-0.1.0.tgz",
        "notes.txt",
    ] {
        fs_err::write(directory.path().join(file), b"").unwrap();
    }
    create(
        &harness,
        "charts",
        format!("file://{}", directory.path().display()),
    )
    .await;
    let status = until(&harness, "charts", "Read").await.status.unwrap();
    assert_eq!(status.chart_count, 2);
    let charts: Vec<(&str, Vec<&str>)> = status
        .charts
        .iter()
        .map(|chart| {
            let versions = chart.versions.iter().map(String::as_str).collect();
            (chart.name.as_str(), versions)
        })
        .collect();
    let expected = [
        ("my-db", vec!["0.1.0"]),
        ("web", vec!["1.10.0", "1.9.0", "1.2.0"]),
    ];
    assert_eq!(charts, expected);
    harness.close().await;
}

#[tokio::test]
async fn an_unreadable_repository_is_reported_and_recovers_when_its_url_is_fixed() {
    let harness = Harness::new().await;
    let missing = harness.charts.path().join("nowhere");
    create(&harness, "charts", format!("file://{}", missing.display())).await;
    let repository = until(&harness, "charts", "Unreadable").await;
    let message = &ready(&repository).unwrap().message;
    assert!(message.contains("nowhere"), "{message}");
    let patch = json!({"spec": {"url": harness.repo()}});
    let parameters = PatchParams::default();
    let patch = Patch::Merge(&patch);
    let api = repositories(&harness);
    api.patch("charts", &parameters, &patch).await.unwrap();
    until(&harness, "charts", "Read").await;
    harness.close().await;
}

#[tokio::test]
async fn a_missing_credentials_secret_is_reported() {
    let harness = Harness::new().await;
    create(&harness, "charts", harness.repo()).await;
    let reference = json!({"spec": {"secretRef": {"name": "login", "namespace": "default"}}});
    let patch = Patch::Merge(&reference);
    let api = repositories(&harness);
    let parameters = PatchParams::default();
    api.patch("charts", &parameters, &patch).await.unwrap();
    let repository = until(&harness, "charts", "CredentialsMissing").await;
    let message = &ready(&repository).unwrap().message;
    assert!(message.contains("default/login"), "{message}");
    harness.close().await;
}

/// Writes to the status of a Repository, as `kubectl edit --subresource=status` does.
async fn edit_status(harness: &Harness, name: &str, status: serde_json::Value) {
    let patch = json!({"status": status});
    let patch = Patch::Merge(&patch);
    let parameters = PatchParams::default();
    let api = repositories(harness);
    api.patch_status(name, &parameters, &patch).await.unwrap();
}

async fn until_status(harness: &Harness, name: &str, expected: &RepositoryStatus) {
    let is_met = |repository: Option<&Repository>| {
        repository.is_some_and(|repository| repository.status.as_ref() == Some(expected))
    };
    let met = await_condition(repositories(harness), name, is_met);
    let met = tokio::time::timeout(Duration::from_secs(20), met).await;
    assert!(met.is_ok(), "{:#?}", repositories(harness).get(name).await);
}

#[tokio::test]
async fn an_edited_status_is_restored_by_one_write() {
    let harness = Harness::new().await;
    create(&harness, "charts", harness.repo()).await;
    let missing = harness.charts.path().join("nowhere");
    create(&harness, "missing", format!("file://{}", missing.display())).await;
    let ready = json!([{
        "type": "Ready", "status": "True", "reason": "Read", "message": "all is well",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    }]);
    let cases = [
        (
            "charts",
            "Read",
            json!({"charts": null, "chartCount": 7, "indexDigest": "none"}),
        ),
        ("missing", "Unreadable", json!({"conditions": ready})),
        ("charts", "Read", json!(null)),
    ];
    for (name, reason, edit) in cases {
        let before = until(&harness, name, reason).await.status.unwrap();
        harness.connection.take_requests();
        edit_status(&harness, name, edit).await;
        until_status(&harness, name, &before).await;
        let requests = harness.connection.take_requests();
        let is_write = |request: &&String| request.contains(&format!("/{name}/status"));
        assert_eq!(requests.iter().filter(is_write).count(), 1, "{requests:#?}");
    }
    harness.close().await;
}

/// Creates a plugin whose chart is searched in all repositories, and returns why that failed.
async fn search(harness: &Harness, chart: &str, reason: &str) -> String {
    let spec = json!({"repo": null, "retries": 0});
    harness.create("web", chart, spec).await;
    harness.until_reason("web", reason).await
}

#[tokio::test]
async fn a_search_names_the_repository_that_cannot_be_read() {
    let harness = Harness::new().await;
    let missing = harness.charts.path().join("nowhere");
    create(&harness, "broken", format!("file://{}", missing.display())).await;
    create(&harness, "own", harness.repo()).await;
    let message = search(&harness, "config", "ChartNotFound").await;
    assert!(message.contains("Repository broken"), "{message}");
    assert!(message.contains("--repo NAME"), "{message}");
    harness.close().await;
}

#[tokio::test]
async fn a_chart_with_the_name_of_its_repository_is_explained() {
    let harness = Harness::new().await;
    create(&harness, "own", harness.repo()).await;
    let message = search(&harness, "own/config", "ChartNotFound").await;
    assert!(message.contains("--repo own"), "{message}");
    harness.close().await;
}
