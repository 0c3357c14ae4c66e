//! Controllers that are killed or compete, and API servers that fail.

use outrigger_testing::embedded_api::{Fault, Loss};
use serde_json::json;

use super::fixture::{FIRST, Fixture};

/// The hooks of creating a cluster, each once.
const EXPECTED: [&str; 6] = [
    "PostClusterInstall@10.0.0.1",
    "PostInstall@10.0.0.1",
    "PostInstall@10.0.0.2",
    "PreClusterInstall@10.0.0.1",
    "PreInstall@10.0.0.1",
    "PreInstall@10.0.0.2",
];

fn sorted(fixture: &Fixture) -> Vec<String> {
    let mut hooks = fixture.hooks();
    hooks.sort();
    hooks
}

#[tokio::test]
async fn a_controller_that_is_killed_at_any_write_repeats_nothing() {
    for loss in [Loss::Request, Loss::Response] {
        for after in (1..60).step_by(12) {
            let mut fixture = Fixture::without_controller().await;
            fixture.create("a", json!({})).await;
            fixture
                .harness
                .connection
                .inject(Fault::Hang { after, loss });
            fixture.start();
            let hit = fixture.harness.connection.fault_hit();
            let finished = fixture.until_running("a");
            tokio::select! {
                () = hit => {}
                _ = finished => {}
            }
            fixture.harness.kill();
            fixture.harness.connection.inject(Fault::None);
            fixture.start();
            fixture.until_running("a").await;
            assert_eq!(sorted(&fixture), EXPECTED, "{loss:?} after {after}");
            fixture.close().await;
        }
    }
}

#[tokio::test]
async fn a_hook_outlives_its_controller_and_is_not_started_again() {
    let mut fixture = Fixture::new().await;
    fixture.machines.hang(FIRST, "PreInstall");
    fixture.create("a", json!({})).await;
    fixture.machines.until_begun(FIRST, "PreInstall").await;
    fixture.harness.kill();
    fixture.start();
    fixture.machines.release();
    fixture.until_running("a").await;
    assert_eq!(sorted(&fixture), EXPECTED);
    fixture.close().await;
}

#[tokio::test]
async fn two_controllers_run_nothing_twice() {
    let mut fixture = Fixture::new().await;
    let first = fixture.harness.detach();
    fixture.start();
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    assert_eq!(sorted(&fixture), EXPECTED);
    fixture.harness.stop().await;
    first.stop().await;
    fixture.close().await;
}
