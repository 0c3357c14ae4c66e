//! A run that is killed at any of its requests is taken over, and the end is the same.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use outrigger_chart::Chart;
use outrigger_release::{Cluster, Options};
use outrigger_testing::embedded_api::Loss;
use serde_json::{Value, json};

use crate::charts::{WEB_OBJECTS, chart, hook, web};
use crate::stage::{Stage, deploy};

/// What is there before the run that is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// An installation was killed after it had written its record.
    Begun,
    Installed,
}

fn options() -> Options {
    Options {
        // Nobody answers after the kill; a test that hangs is a failure.
        timeout: Duration::from_secs(20),
        ..Options::default()
    }
}

/// Kills a run at each of its requests, before and after the server did it; then `after` looks at what is left, and
/// where that was.
async fn at_each_request(
    chart: &Arc<Chart>,
    before: Before,
    run: impl AsyncFn(&Cluster, &Stage),
    after: impl AsyncFn(&Stage, &str),
) {
    let stage = Stage::open().await;
    for loss in [Loss::Request, Loss::Response] {
        for requests in 0.. {
            match before {
                Before::Nothing => {}
                Before::Begun => begin(&stage, chart).await,
                Before::Installed => install(&stage.cluster, &stage, chart, &json!({})).await,
            }
            let (cluster, connection) = stage.hanging(requests, loss);
            let is_done = tokio::select! {
                () = Box::pin(run(&cluster, &stage)) => true,
                () = connection.fault_hit() => false,
            };
            after(&stage, &format!("{loss:?} lost after {requests}")).await;
            clear(&stage).await;
            if is_done {
                break;
            }
        }
    }
    stage.close().await;
}

/// Makes the stage as it was at first.
async fn clear(stage: &Stage) {
    if !stage.statuses().await.is_empty() {
        stage.uninstall(&options()).await.unwrap();
    }
    assert_eq!(stage.objects().await, BTreeSet::new());
}

async fn install(cluster: &Cluster, stage: &Stage, chart: &Arc<Chart>, values: &Value) {
    let done = deploy(cluster, &stage.id, chart, values, &options(), &|_| {}).await;
    done.unwrap();
}

/// Kills an installation as soon as its record is there.
async fn begin(stage: &Stage, chart: &Arc<Chart>) {
    for requests in 0.. {
        let (cluster, connection) = stage.hanging(requests, Loss::Response);
        let values = json!({});
        tokio::select! {
            () = Box::pin(install(&cluster, stage, chart, &values)) => {}
            () = connection.fault_hit() => {}
        }
        if !stage.statuses().await.is_empty() {
            return;
        }
    }
}

async fn uninstall(cluster: &Cluster, stage: &Stage) {
    let options = options();
    let done = outrigger_release::uninstall(cluster, &stage.id, &[], &options, &|_| {}).await;
    done.unwrap();
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[tokio::test]
async fn an_installation_killed_at_any_request_is_taken_over() {
    let chart = web();
    let values = json!({});
    let run = async |cluster: &Cluster, stage: &Stage| {
        install(cluster, stage, &chart, &values).await;
    };
    at_each_request(&chart, Before::Nothing, run, async |stage, place| {
        install(&stage.cluster, stage, &chart, &values).await;
        assert_eq!(stage.objects().await, names(&WEB_OBJECTS), "{place}");
        // The interrupted revision was gone on with, not followed by another.
        assert_eq!(stage.statuses().await, ["1 deployed"], "{place}");
    })
    .await;
}

#[tokio::test]
async fn an_upgrade_killed_at_any_request_is_taken_over_by_another_one() {
    let chart = web();
    let second = json!({"map": "two", "secret": false});
    let run = async |cluster: &Cluster, stage: &Stage| {
        install(cluster, stage, &chart, &second).await;
    };
    at_each_request(&chart, Before::Installed, run, async |stage, place| {
        // What is wanted changed in the meantime.
        let third = json!({"map": "three", "service": false});
        install(&stage.cluster, stage, &chart, &third).await;
        let expected = names(&[
            "configmaps/web-map",
            "deployments/web",
            "secrets/web-secret",
        ]);
        assert_eq!(stage.objects().await, expected, "{place}");
        let map = stage
            .get("/api/v1/namespaces/default/configmaps/web-map")
            .await;
        assert_eq!(map.unwrap()["data"]["text"], "three", "{place}");
        let statuses = stage.statuses().await;
        assert!(
            statuses.last().unwrap().ends_with("deployed"),
            "{place}: {statuses:?}"
        );
        let deployed = statuses.iter().filter(|status| status.contains("deployed"));
        assert_eq!(deployed.count(), 1, "{place}: {statuses:?}");
        assert!(
            !statuses.iter().any(|status| status.contains("pending")),
            "{place}: {statuses:?}"
        );
    })
    .await;
}

/// A change is killed and asked for again: these records are left.
async fn ask_again(before: Before, expected: [&str; 2]) {
    let chart = web();
    let second = json!({"map": "two"});
    let run = async |cluster: &Cluster, stage: &Stage| {
        install(cluster, stage, &chart, &second).await;
    };
    at_each_request(&chart, before, run, async |stage, place| {
        install(&stage.cluster, stage, &chart, &second).await;
        assert_eq!(stage.statuses().await, expected, "{place}");
    })
    .await;
}

#[tokio::test]
async fn an_installation_that_follows_a_killed_one_and_is_killed_too_leaves_no_open_record() {
    ask_again(Before::Begun, ["1 failed", "2 deployed"]).await;
}

#[tokio::test]
async fn an_upgrade_killed_at_any_request_and_asked_for_again_leaves_one_deployed_record() {
    ask_again(Before::Installed, ["1 superseded", "2 deployed"]).await;
}

#[tokio::test]
async fn a_removal_killed_at_any_request_is_taken_over() {
    let policy = "    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded\n";
    let hooks = [
        hook("before", "pre-delete", policy),
        hook("after", "post-delete", policy),
    ]
    .concat();
    let chart = chart(&[
        ("templates/h.yaml", &hooks),
        (
            "templates/m.yaml",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: b}}\n",
        ),
    ]);
    at_each_request(
        &chart,
        Before::Installed,
        uninstall,
        async |stage, place| {
            stage.uninstall(&options()).await.unwrap();
            assert_eq!(stage.objects().await, BTreeSet::new(), "{place}");
            assert!(stage.statuses().await.is_empty(), "{place}");
        },
    )
    .await;
}

#[tokio::test]
async fn a_removal_killed_at_any_request_and_followed_by_an_installation_leaves_no_open_record() {
    let chart = web();
    at_each_request(
        &chart,
        Before::Installed,
        uninstall,
        async |stage, place| {
            install(&stage.cluster, stage, &chart, &json!({})).await;
            let statuses = stage.statuses().await;
            let (last, others) = statuses.split_last().unwrap();
            assert!(last.ends_with(" deployed"), "{place} {statuses:?}");
            let is_closed = |status: &String| status.ends_with(" superseded");
            assert!(others.iter().all(is_closed), "{place} {statuses:?}");
        },
    )
    .await;
}

#[tokio::test]
async fn an_installation_killed_at_any_request_can_be_removed() {
    let chart = web();
    let run = async |cluster: &Cluster, stage: &Stage| {
        install(cluster, stage, &chart, &json!({})).await;
    };
    at_each_request(&chart, Before::Nothing, run, async |stage, place| {
        stage.uninstall(&options()).await.unwrap();
        assert_eq!(stage.objects().await, BTreeSet::new(), "{place}");
        assert!(stage.statuses().await.is_empty(), "{place}");
    })
    .await;
}
