//! Order: chains, diamonds, cycles, versions.

use outrigger_api::plugin::Phase;
use serde_json::json;

use crate::charts;
use crate::stage::Stage;

fn on(names: &[&str]) -> serde_json::Value {
    let dependencies: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
    json!({"dependencies": dependencies})
}

/// When the release of a plugin was made: later ones have greater versions.
async fn born(stage: &Stage, name: &str) -> u64 {
    let map = stage.config_maps().get(name).await.unwrap();
    map.metadata.resource_version.unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_chain_is_installed_in_order_whatever_order_it_comes_in() {
    let stage = Stage::new().await;
    stage.create("c", "config", on(&["b"])).await;
    stage.create("b", "config", on(&["a"])).await;
    let message = stage.until_reason("b", "DependencyMissing").await;
    assert_eq!(message, "there is no plugin a");
    stage.create("a", "config", json!({})).await;
    stage.until_ready("c").await;
    assert!(born(&stage, "a").await < born(&stage, "b").await);
    assert!(born(&stage, "b").await < born(&stage, "c").await);
    stage.close().await;
}

#[tokio::test]
async fn a_diamond_waits_for_both_sides() {
    let stage = Stage::new().await;
    stage.create("top", "config", on(&["left", "right"])).await;
    stage.create("left", "config", on(&["base"])).await;
    stage.create("right", "config", on(&["base"])).await;
    stage.create("base", "config", json!({})).await;
    stage.until_ready("top").await;
    let top = born(&stage, "top").await;
    assert!(born(&stage, "left").await < top && born(&stage, "right").await < top);
    stage.close().await;
}

#[tokio::test]
async fn a_cycle_is_named_and_is_free_when_it_is_opened() {
    let stage = Stage::new().await;
    stage.create("a", "config", on(&["b"])).await;
    stage.create("b", "config", on(&["a"])).await;
    let message = stage.until_reason("a", "DependencyCycle").await;
    assert_eq!(message, "depends on itself: a -> b -> a");
    stage.until_reason("b", "DependencyCycle").await;
    stage
        .patch("b", json!({"spec": {"dependencies": null}}))
        .await;
    stage.until_ready("a").await;
    stage.close().await;
}

#[tokio::test]
async fn a_version_that_is_too_old_is_waited_for() {
    let stage = Stage::new().await;
    charts::write(
        stage.charts.path(),
        "lib",
        "1.9.0",
        &[("config.yaml", charts::CONFIG)],
    );
    stage.create("lib", "lib", json!({})).await;
    let spec = json!({"dependencies": [{"name": "lib", "version": ">=2, <3"}]});
    stage.create("app", "config", spec).await;
    let message = stage.until_reason("app", "DependencyVersion").await;
    assert_eq!(
        message,
        "plugin lib is at version 1.9.0, but >=2, <3 is needed"
    );
    charts::write(
        stage.charts.path(),
        "lib",
        "2.1.0",
        &[("config.yaml", charts::CONFIG)],
    );
    stage
        .patch("lib", json!({"spec": {"values": {"text": "newer"}}}))
        .await;
    stage.until_ready("app").await;
    stage.close().await;
}

#[tokio::test]
async fn a_change_waits_for_a_dependency_that_broke_and_what_runs_goes_on() {
    let stage = Stage::new().await;
    stage.create("db", "web", json!({})).await;
    stage.create("app", "config", on(&["db"])).await;
    stage.until_ready("app").await;
    stage
        .patch(
            "db",
            json!({"spec": {"values": {"simulate": "never-ready"}}}),
        )
        .await;
    stage.until_phase("db", Phase::Upgrading).await;
    stage
        .patch("app", json!({"spec": {"values": {"text": "later"}}}))
        .await;
    stage.until_reason("app", "DependencyNotReady").await;
    assert_eq!(stage.text("app").await.as_deref(), Some("hello"));
    stage
        .patch("db", json!({"spec": {"values": {"simulate": null}}}))
        .await;
    stage.until_ready("app").await;
    assert_eq!(stage.text("app").await.as_deref(), Some("later"));
    stage.close().await;
}
