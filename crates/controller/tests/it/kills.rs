//! The controller is killed at each of its writes, and another one goes on.

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use kube::runtime::wait::await_condition;
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_testing::embedded_api::Fault;
use serde_json::{Value, json};

use crate::harness::Harness;

/// Kills the controller as it begins to write once more than it may, or when it has nothing left to do. True if it was
/// in the middle of something.
async fn kill(harness: &mut Harness) -> bool {
    let is_settled = |plugin: Option<&Plugin>| {
        plugin.is_none_or(|plugin| {
            plugin.is_observed() && matches!(plugin.phase(), Phase::Ready | Phase::Disabled)
        })
    };
    let was_busy = tokio::select! {
        () = harness.connection.fault_hit() => true,
        settled = await_condition(harness.plugins(), "web", is_settled) => {
            settled.unwrap();
            false
        }
    };
    harness.kill();
    was_busy
}

/// The next controller, which may write as it likes.
fn go_on(harness: &mut Harness) {
    harness.connection.inject(Fault::None);
    harness.start(|_| {});
}

/// The states of all records, in order.
async fn records(harness: &Harness) -> Vec<String> {
    let secrets = harness.objects("v1", "Secret");
    let list = secrets.list(&Default::default()).await.unwrap();
    let status = |secret: &DynamicObject| secret.labels().get("status").cloned();
    list.items.iter().filter_map(status).collect()
}

#[tokio::test]
async fn what_a_killed_one_began_is_brought_to_an_end() {
    let mut harness = Harness::new().await;
    for writes in 0.. {
        harness
            .connection
            .inject(Fault::FailWrites { after: writes });
        harness.create("web", "web", json!({})).await;
        let mut was_busy = kill(&mut harness).await;
        go_on(&mut harness);
        harness.until_ready("web").await;
        assert_eq!(records(&harness).await, ["deployed"], "{writes} writes");
        harness
            .connection
            .inject(Fault::FailWrites { after: writes });
        let other = json!({"spec": {"values": {"text": "other"}}});
        harness.patch("web", other).await;
        was_busy |= kill(&mut harness).await;
        go_on(&mut harness);
        harness.until_ready("web").await;
        assert_eq!(harness.text("web").await.as_deref(), Some("other"));
        let expected = ["superseded", "deployed"];
        assert_eq!(records(&harness).await, expected, "{writes} writes");
        harness
            .connection
            .inject(Fault::FailWrites { after: writes });
        harness.delete("web").await;
        was_busy |= kill(&mut harness).await;
        go_on(&mut harness);
        harness.until_gone("web").await;
        assert_eq!(harness.owned().await, [""; 0], "{writes} writes");
        if !was_busy {
            break;
        }
    }
    harness.close().await;
}

/// Makes a change and takes it back while no controller is there, after each number of writes.
async fn take_back(change: Value, back: Value) {
    let mut harness = Harness::new().await;
    for writes in 0.. {
        harness.create("web", "web", json!({})).await;
        harness.until_ready("web").await;
        harness
            .connection
            .inject(Fault::FailWrites { after: writes });
        harness.patch("web", json!({"spec": change})).await;
        let was_busy = kill(&mut harness).await;
        harness.patch("web", json!({"spec": back})).await;
        go_on(&mut harness);
        harness.until_ready("web").await;
        let text = harness.text("web").await;
        assert_eq!(text.as_deref(), Some("hello"), "{writes} writes");
        let states = records(&harness).await;
        let open = ["pending-install", "pending-upgrade", "uninstalling"];
        let is_open = |state: &String| open.contains(&state.as_str());
        assert!(!states.iter().any(is_open), "{writes} writes: {states:?}");
        let deployed = states.iter().filter(|state| *state == "deployed");
        assert_eq!(deployed.count(), 1, "{writes} writes: {states:?}");
        harness.delete("web").await;
        harness.until_gone("web").await;
        if !was_busy {
            break;
        }
    }
    harness.close().await;
}

#[tokio::test]
async fn an_upgrade_that_is_no_longer_wanted_leaves_nothing() {
    let values = |text: Value| json!({"values": {"text": text}});
    take_back(values(json!("other")), values(Value::Null)).await;
}

#[tokio::test]
async fn a_removal_that_is_no_longer_wanted_leaves_nothing_undone() {
    take_back(json!({"enabled": false}), json!({"enabled": true})).await;
}
