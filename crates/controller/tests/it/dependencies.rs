//! Order: chains, diamonds, cycles, versions.

use outrigger_api::plugin::Phase;
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::Harness;

fn on(names: &[&str]) -> serde_json::Value {
    let dependencies: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
    json!({"dependencies": dependencies})
}

/// When the release of a plugin was made: later ones have greater versions.
async fn born(harness: &Harness, name: &str) -> u64 {
    let map = harness.config_maps().get(name).await.unwrap();
    map.metadata.resource_version.unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_chain_is_installed_in_order_whatever_order_it_comes_in() {
    let harness = Harness::new().await;
    harness.create("c", "config", on(&["b"])).await;
    harness.create("b", "config", on(&["a"])).await;
    let message = harness.until_reason("b", "DependencyMissing").await;
    assert_eq!(message, "there is no plugin a");
    harness.create("a", "config", json!({})).await;
    harness.until_ready("c").await;
    assert!(born(&harness, "a").await < born(&harness, "b").await);
    assert!(born(&harness, "b").await < born(&harness, "c").await);
    harness.close().await;
}

#[tokio::test]
async fn a_diamond_waits_for_both_sides() {
    let harness = Harness::new().await;
    harness
        .create("top", "config", on(&["left", "right"]))
        .await;
    harness.create("left", "config", on(&["base"])).await;
    harness.create("right", "config", on(&["base"])).await;
    harness.create("base", "config", json!({})).await;
    harness.until_ready("top").await;
    let top = born(&harness, "top").await;
    assert!(born(&harness, "left").await < top && born(&harness, "right").await < top);
    harness.close().await;
}

#[tokio::test]
async fn a_cycle_is_named_and_is_free_when_it_is_opened() {
    let harness = Harness::new().await;
    harness.create("a", "config", on(&["b"])).await;
    harness.create("b", "config", on(&["a"])).await;
    let message = harness.until_reason("a", "DependencyCycle").await;
    assert_eq!(message, "depends on itself: a -> b -> a");
    harness.until_reason("b", "DependencyCycle").await;
    harness
        .patch("b", json!({"spec": {"dependencies": null}}))
        .await;
    harness.until_ready("a").await;
    harness.close().await;
}

#[tokio::test]
async fn a_version_that_is_too_old_is_waited_for() {
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
    let message = harness.until_reason("app", "DependencyVersion").await;
    assert_eq!(
        message,
        "plugin lib is at version 1.9.0, but >=2, <3 is needed"
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
async fn a_change_waits_for_a_dependency_that_broke_and_what_runs_goes_on() {
    let harness = Harness::new().await;
    harness.create("db", "web", json!({})).await;
    harness.create("app", "config", on(&["db"])).await;
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
