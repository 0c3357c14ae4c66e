//! The controller is killed at each of its writes, and another one resumes.

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use kube::runtime::wait::await_condition;
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_testing::embedded_api::Fault;
use serde_json::{Value, json};

use crate::harness::Harness;

/// Kills the controller at its first failed write, or when the plugin is reconciled. Returns whether a write failed.
async fn kill(harness: &mut Harness) -> bool {
    let is_reconciled = |plugin: Option<&Plugin>| {
        plugin.is_none_or(|plugin| {
            plugin.is_observed() && matches!(plugin.phase(), Phase::Ready | Phase::Disabled)
        })
    };
    let was_interrupted = tokio::select! {
        () = harness.connection.fault_hit() => true,
        reconciled = await_condition(harness.plugins(), "web", is_reconciled) => {
            reconciled.unwrap();
            false
        }
    };
    harness.kill();
    was_interrupted
}

/// Starts the next controller, without faults.
fn restart(harness: &mut Harness) {
    harness.connection.inject(Fault::None);
    harness.start(|_| {});
}

/// The statuses of all release records, in order.
async fn records(harness: &Harness) -> Vec<String> {
    let secrets = harness.objects("v1", "Secret");
    let list = secrets.list(&Default::default()).await.unwrap();
    let status = |secret: &DynamicObject| secret.labels().get("status").cloned();
    list.items.iter().filter_map(status).collect()
}

#[tokio::test]
async fn interrupted_operations_are_resumed() {
    let mut harness = Harness::new().await;
    for writes in 0.. {
        harness
            .connection
            .inject(Fault::FailWrites { after: writes });
        harness.create("web", "web", json!({})).await;
        let mut was_interrupted = kill(&mut harness).await;
        restart(&mut harness);
        harness.until_ready("web").await;
        assert_eq!(records(&harness).await, ["deployed"], "{writes} writes");
        harness
            .connection
            .inject(Fault::FailWrites { after: writes });
        let other = json!({"spec": {"values": {"text": "other"}}});
        harness.patch("web", other).await;
        was_interrupted |= kill(&mut harness).await;
        restart(&mut harness);
        harness.until_ready("web").await;
        assert_eq!(harness.text("web").await.as_deref(), Some("other"));
        let expected = ["superseded", "deployed"];
        assert_eq!(records(&harness).await, expected, "{writes} writes");
        harness
            .connection
            .inject(Fault::FailWrites { after: writes });
        harness.delete("web").await;
        was_interrupted |= kill(&mut harness).await;
        restart(&mut harness);
        harness.until_deleted("web").await;
        assert_eq!(harness.release_objects().await, [""; 0], "{writes} writes");
        if !was_interrupted {
            break;
        }
    }
    harness.close().await;
}

/// Interrupts a change after each number of writes, and reverts it before the next controller starts.
async fn check_reverted(change: Value, revert: Value) {
    let mut harness = Harness::new().await;
    for writes in 0.. {
        harness.create("web", "web", json!({})).await;
        harness.until_ready("web").await;
        harness
            .connection
            .inject(Fault::FailWrites { after: writes });
        harness.patch("web", json!({"spec": change})).await;
        let was_interrupted = kill(&mut harness).await;
        harness.patch("web", json!({"spec": revert})).await;
        restart(&mut harness);
        harness.until_ready("web").await;
        let text = harness.text("web").await;
        assert_eq!(text.as_deref(), Some("hello"), "{writes} writes");
        let statuses = records(&harness).await;
        let pending = ["pending-install", "pending-upgrade", "uninstalling"];
        let is_pending = |status: &String| pending.contains(&status.as_str());
        assert!(
            !statuses.iter().any(is_pending),
            "{writes} writes: {statuses:?}"
        );
        let deployed = statuses.iter().filter(|status| *status == "deployed");
        assert_eq!(deployed.count(), 1, "{writes} writes: {statuses:?}");
        harness.delete("web").await;
        harness.until_deleted("web").await;
        if !was_interrupted {
            break;
        }
    }
    harness.close().await;
}

#[tokio::test]
async fn an_interrupted_upgrade_can_be_reverted() {
    let values = |text: Value| json!({"values": {"text": text}});
    check_reverted(values(json!("other")), values(Value::Null)).await;
}

#[tokio::test]
async fn an_interrupted_removal_can_be_reverted() {
    check_reverted(json!({"enabled": false}), json!({"enabled": true})).await;
}
