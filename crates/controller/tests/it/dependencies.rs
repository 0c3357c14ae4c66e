//! Dependencies: install order, cycles, version ranges.

use outrigger_api::plugin::Phase;
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::Harness;

fn depends_on(names: &[&str]) -> serde_json::Value {
    let dependencies: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
    json!({"dependencies": dependencies})
}

/// The resource version of the ConfigMap of a release, which orders installations.
async fn installed_at(harness: &Harness, name: &str) -> u64 {
    let map = harness.config_maps().get(name).await.unwrap();
    map.metadata.resource_version.unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_chain_is_installed_in_dependency_order() {
    let harness = Harness::new().await;
    harness.create("c", "config", depends_on(&["b"])).await;
    harness.create("b", "config", depends_on(&["a"])).await;
    let message = harness.until_reason("b", "DependencyMissing").await;
    assert_eq!(message, "plugin a does not exist");
    harness.create("a", "config", json!({})).await;
    harness.until_ready("c").await;
    assert!(installed_at(&harness, "a").await < installed_at(&harness, "b").await);
    assert!(installed_at(&harness, "b").await < installed_at(&harness, "c").await);
    harness.close().await;
}

#[tokio::test]
async fn a_diamond_waits_for_both_sides() {
    let harness = Harness::new().await;
    harness
        .create("top", "config", depends_on(&["left", "right"]))
        .await;
    harness
        .create("left", "config", depends_on(&["base"]))
        .await;
    harness
        .create("right", "config", depends_on(&["base"]))
        .await;
    harness.create("base", "config", json!({})).await;
    harness.until_ready("top").await;
    let top = installed_at(&harness, "top").await;
    assert!(
        installed_at(&harness, "left").await < top && installed_at(&harness, "right").await < top
    );
    harness.close().await;
}

#[tokio::test]
async fn a_cycle_is_reported_and_resolves_when_it_is_broken() {
    let harness = Harness::new().await;
    harness.create("a", "config", depends_on(&["b"])).await;
    harness.create("b", "config", depends_on(&["a"])).await;
    let message = harness.until_reason("a", "DependencyCycle").await;
    assert_eq!(message, "dependency cycle: a -> b -> a");
    harness.until_reason("b", "DependencyCycle").await;
    for name in ["a", "b"] {
        let plugin = harness.get(name).await;
        let dependencies = plugin.condition("DependenciesReady").unwrap();
        assert_eq!(dependencies.reason, "DependencyCycle", "{name}");
    }
    harness
        .patch("b", json!({"spec": {"dependencies": null}}))
        .await;
    harness.until_ready("a").await;
    harness.close().await;
}

#[tokio::test]
async fn a_plugin_waits_for_a_newer_version_of_its_dependency() {
    let harness = Harness::new().await;
    charts::write(
        harness.charts.path(),
        "lib",
        "1.9.0",
        &[("config.yaml", charts::CONFIG_MAP)],
    );
    harness.create("lib", "lib", json!({})).await;
    let spec = json!({"dependencies": [{"name": "lib", "version": ">=2, <3"}]});
    harness.create("app", "config", spec).await;
    let message = harness
        .until_reason("app", "DependencyVersionMismatch")
        .await;
    assert_eq!(
        message,
        "plugin lib has version 1.9.0, but >=2, <3 is required"
    );
    charts::write(
        harness.charts.path(),
        "lib",
        "2.1.0",
        &[("config.yaml", charts::CONFIG_MAP)],
    );
    harness
        .patch("lib", json!({"spec": {"values": {"text": "newer"}}}))
        .await;
    harness.until_ready("app").await;
    harness.close().await;
}

#[tokio::test]
async fn an_upgrade_waits_for_an_unready_dependency_and_the_release_keeps_running() {
    let harness = Harness::new().await;
    harness.create("db", "web", json!({})).await;
    harness.create("app", "config", depends_on(&["db"])).await;
    harness.until_ready("app").await;
    harness
        .patch(
            "db",
            json!({"spec": {"values": {"simulate": "never-ready"}}}),
        )
        .await;
    harness.until_phase("db", Phase::Upgrading).await;
    harness
        .patch("app", json!({"spec": {"values": {"text": "later"}}}))
        .await;
    harness.until_reason("app", "DependencyNotReady").await;
    assert_eq!(harness.text("app").await.as_deref(), Some("hello"));
    harness
        .patch("db", json!({"spec": {"values": {"simulate": null}}}))
        .await;
    harness.until_ready("app").await;
    assert_eq!(harness.text("app").await.as_deref(), Some("later"));
    harness.close().await;
}
