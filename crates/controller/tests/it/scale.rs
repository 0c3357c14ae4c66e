//! Many plugins and long chains become ready with few writes. Times are printed, not asserted.

use std::time::Instant;

use outrigger_api::plugin::Phase;
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::Harness;

fn ten_config_maps() -> String {
    let maps = (0..10).map(|number| {
        format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {{{{ .Release.Name }}}}-{number}}}\n")
    });
    maps.collect()
}

async fn until_all_ready(harness: &Harness, names: &[String]) {
    for name in names {
        harness.until_ready(name).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plugins_of_ten_objects_are_installed_with_few_writes() {
    let harness = Harness::new().await;
    charts::write(
        harness.charts.path(),
        "ten",
        "1.0.0",
        &[("ten.yaml", &ten_config_maps())],
    );
    let count = std::env::var("OUTRIGGER_SCALE")
        .ok()
        .and_then(|text| text.parse().ok());
    let names: Vec<String> = (0..count.unwrap_or(30))
        .map(|number: u32| format!("p{number}"))
        .collect();
    let started_at = Instant::now();
    for name in &names {
        harness.create(name, "ten", json!({})).await;
    }
    until_all_ready(&harness, &names).await;
    println!(
        "{} plugins of 10 objects: {:?}",
        names.len(),
        started_at.elapsed()
    );
    let requests = harness.connection.take_requests();
    let statuses = requests
        .iter()
        .filter(|request| request.ends_with("/status"))
        .count();
    // One per plugin, and a second one only if the node is slow.
    assert!(statuses <= 2 * names.len(), "{statuses} statuses");
    let records = requests
        .iter()
        .filter(|request| request.starts_with("POST /api/v1"))
        .count();
    assert_eq!(records, names.len());
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_of_thirty_is_driven_by_events() {
    // With these delays the test would time out if anything was polled.
    let harness = Harness::with(|options| {
        options.backoff.initial = std::time::Duration::from_mins(10);
        options.backoff.max = options.backoff.initial;
    })
    .await;
    for number in (0..30).rev() {
        let dependencies = match number {
            0 => json!([]),
            _ => json!([{"name": format!("p{}", number - 1)}]),
        };
        let spec = json!({"dependencies": dependencies});
        if number > 0 {
            harness.create(&format!("p{number}"), "config", spec).await;
        }
    }
    harness.until_phase("p1", Phase::Waiting).await;
    let started_at = Instant::now();
    harness.create("p0", "config", json!({})).await;
    harness.until_ready("p29").await;
    println!("a chain of 30: {:?}", started_at.elapsed());
    harness.close().await;
}
