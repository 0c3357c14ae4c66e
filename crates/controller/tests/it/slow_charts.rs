//! Charts whose templates never end: other plugins, changes and the shutdown do not wait for them.

use std::time::{Duration, Instant};

use outrigger_api::plugin::Phase;
use outrigger_controller::Options;
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::Harness;

/// Generous for a loaded machine: without fair slots it takes minutes.
const PROMPT: Duration = Duration::from_secs(15);

const LOOPS: [&str; 4] = ["loop-a", "loop-b", "loop-c", "loop-d"];

/// A harness with a chart that renders forever.
async fn with_loop_chart(configure: impl FnOnce(&mut Options)) -> Harness {
    let harness = Harness::with(configure).await;
    let template = r#"{{ range until 1000000 }}{{ $ca := genCA "ca" 365 }}{{ end }}"#;
    let files = [("loop.yaml", template)];
    charts::write(harness.charts.path(), "loop", "1.0.0", &files);
    harness
}

/// A harness with four plugins that render forever.
async fn looping() -> Harness {
    let harness = with_loop_chart(|_| {}).await;
    for name in LOOPS {
        harness.create(name, "loop", json!({})).await;
    }
    for name in LOOPS {
        harness.until_phase(name, Phase::Installing).await;
    }
    harness
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ordinary_plugin_is_installed_while_others_loop_and_loops_can_be_disabled() {
    let harness = looping().await;
    let started = Instant::now();
    harness.create("web", "web", json!({})).await;
    harness.until_ready("web").await;
    assert!(started.elapsed() < PROMPT, "{:?}", started.elapsed());
    for name in LOOPS {
        harness
            .patch(name, json!({"spec": {"enabled": false}}))
            .await;
        harness.until_phase(name, Phase::Disabled).await;
    }
    assert!(started.elapsed() < 2 * PROMPT, "{:?}", started.elapsed());
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn charts_that_loop_occupy_no_reconcile_slot() {
    let harness = with_loop_chart(|options| options.max_concurrent_reconciles = 2).await;
    for number in 0..20 {
        let name = format!("loop-{number}");
        harness.create(&name, "loop", json!({})).await;
    }
    harness.create("web", "web", json!({})).await;
    harness.until_ready("web").await;
    harness.until_phase("loop-19", Phase::Installing).await;
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_does_not_wait_for_loops() {
    let mut harness = looping().await;
    let started = Instant::now();
    harness.stop().await;
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
    harness.close().await;
}
