//! The controller is killed at each of its writes, and another one goes on.

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use kube::runtime::wait::await_condition;
use outrigger_api::plugin::{Phase, Plugin};
use serde_json::{Value, json};

use crate::stage::Stage;

/// Kills the controller as it begins to write once more than it may, or when it has nothing left to do. True if it was
/// in the middle of something.
async fn kill(stage: &mut Stage) -> bool {
    let is_settled = |plugin: Option<&Plugin>| {
        plugin.is_none_or(|plugin| {
            plugin.is_observed() && matches!(plugin.phase(), Phase::Ready | Phase::Disabled)
        })
    };
    let was_busy = tokio::select! {
        () = stage.wire.refused() => true,
        settled = await_condition(stage.plugins(), "web", is_settled) => {
            settled.unwrap();
            false
        }
    };
    stage.kill();
    was_busy
}

/// The next controller, which may write as it likes.
fn go_on(stage: &mut Stage) {
    stage.wire.allow(usize::MAX);
    stage.start(|_| {});
}

/// The states of all records, in order.
async fn records(stage: &Stage) -> Vec<String> {
    let secrets = stage.objects("v1", "Secret");
    let list = secrets.list(&Default::default()).await.unwrap();
    let status = |secret: &DynamicObject| secret.labels().get("status").cloned();
    list.items.iter().filter_map(status).collect()
}

#[tokio::test]
async fn what_a_killed_one_began_is_brought_to_an_end() {
    let mut stage = Stage::new().await;
    for writes in 0.. {
        stage.wire.allow(writes);
        stage.create("web", "web", json!({})).await;
        let mut was_busy = kill(&mut stage).await;
        go_on(&mut stage);
        stage.until_ready("web").await;
        assert_eq!(records(&stage).await, ["deployed"], "{writes} writes");
        stage.wire.allow(writes);
        let other = json!({"spec": {"values": {"text": "other"}}});
        stage.patch("web", other).await;
        was_busy |= kill(&mut stage).await;
        go_on(&mut stage);
        stage.until_ready("web").await;
        assert_eq!(stage.text("web").await.as_deref(), Some("other"));
        let expected = ["superseded", "deployed"];
        assert_eq!(records(&stage).await, expected, "{writes} writes");
        stage.wire.allow(writes);
        stage.delete("web").await;
        was_busy |= kill(&mut stage).await;
        go_on(&mut stage);
        stage.until_gone("web").await;
        assert_eq!(stage.owned().await, [""; 0], "{writes} writes");
        if !was_busy {
            break;
        }
    }
    stage.close().await;
}

/// Makes a change and takes it back while no controller is there, after each number of writes.
async fn take_back(change: Value, back: Value) {
    let mut stage = Stage::new().await;
    for writes in 0.. {
        stage.create("web", "web", json!({})).await;
        stage.until_ready("web").await;
        stage.wire.allow(writes);
        stage.patch("web", json!({"spec": change})).await;
        let was_busy = kill(&mut stage).await;
        stage.patch("web", json!({"spec": back})).await;
        go_on(&mut stage);
        stage.until_ready("web").await;
        let text = stage.text("web").await;
        assert_eq!(text.as_deref(), Some("hello"), "{writes} writes");
        let states = records(&stage).await;
        let open = ["pending-install", "pending-upgrade", "uninstalling"];
        let is_open = |state: &String| open.contains(&state.as_str());
        assert!(!states.iter().any(is_open), "{writes} writes: {states:?}");
        let deployed = states.iter().filter(|state| *state == "deployed");
        assert_eq!(deployed.count(), 1, "{writes} writes: {states:?}");
        stage.delete("web").await;
        stage.until_gone("web").await;
        if !was_busy {
            break;
        }
    }
    stage.close().await;
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
