//! A run that is killed at any of its requests is taken over, and the end is the same.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use outrigger_chart::Chart;
use outrigger_release::{Cluster, Options};
use serde_json::{Value, json};

use crate::charts::{WEB_OBJECTS, chart, hook, web};
use crate::stage::{Death, Stage, deploy};

const DEATHS: [Death; 2] = [Death::BeforeTheServer, Death::AfterTheServer];

fn options() -> Options {
    Options {
        // Nobody answers after the kill; a test that hangs is a failure.
        timeout: Duration::from_secs(20),
        ..Options::default()
    }
}

/// Runs until the connection breaks; true if it came to its end.
async fn until_death<T>(work: impl Future<Output = T>, line: &crate::stage::Line) -> bool {
    tokio::select! {
        _ = work => true,
        () = line.died.notified() => false,
    }
}

async fn install(cluster: &Cluster, stage: &Stage, chart: &Arc<Chart>, values: &Value) {
    let done = deploy(cluster, &stage.id, chart, values, &options(), &|_| {}).await;
    done.unwrap();
}

#[tokio::test]
async fn an_installation_killed_at_any_request_is_taken_over() {
    for death in DEATHS {
        for requests in 0.. {
            let stage = Stage::open().await;
            let (cluster, line) = stage.dying(requests, death);
            let values = json!({});
            let done =
                until_death(Box::pin(install(&cluster, &stage, &web(), &values)), &line).await;
            install(&stage.cluster, &stage, &web(), &values).await;
            let place = format!("{death:?} {requests}");
            let expected: BTreeSet<String> =
                WEB_OBJECTS.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(stage.objects().await, expected, "{place}");
            // The interrupted revision was gone on with, not followed by another.
            assert_eq!(stage.statuses().await, ["1 deployed"], "{place}");
            stage.close().await;
            if done {
                break;
            }
        }
    }
}

#[tokio::test]
async fn an_upgrade_killed_at_any_request_is_taken_over_by_another_one() {
    let chart = web();
    for death in DEATHS {
        for requests in 0.. {
            let stage = Stage::open().await;
            install(&stage.cluster, &stage, &chart, &json!({})).await;
            let (cluster, line) = stage.dying(requests, death);
            let second = json!({"map": "two", "secret": false});
            let done =
                until_death(Box::pin(install(&cluster, &stage, &chart, &second)), &line).await;
            // What is wanted changed in the meantime.
            let third = json!({"map": "three", "service": false});
            install(&stage.cluster, &stage, &chart, &third).await;
            let place = format!("{death:?} {requests}");
            let expected = [
                "configmaps/web-map",
                "deployments/web",
                "secrets/web-secret",
            ];
            let expected: BTreeSet<String> = expected.iter().map(|&name| name.to_owned()).collect();
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
            stage.close().await;
            if done {
                break;
            }
        }
    }
}

#[tokio::test]
async fn an_upgrade_killed_at_any_request_and_asked_for_again_leaves_one_deployed_record() {
    let chart = web();
    for death in DEATHS {
        for requests in 0.. {
            let stage = Stage::open().await;
            install(&stage.cluster, &stage, &chart, &json!({})).await;
            let (cluster, line) = stage.dying(requests, death);
            let second = json!({"map": "two"});
            let done =
                until_death(Box::pin(install(&cluster, &stage, &chart, &second)), &line).await;
            install(&stage.cluster, &stage, &chart, &second).await;
            let place = format!("{death:?} {requests}");
            let expected = ["1 superseded", "2 deployed"];
            assert_eq!(stage.statuses().await, expected, "{place}");
            stage.close().await;
            if done {
                break;
            }
        }
    }
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
    for death in DEATHS {
        for requests in 0.. {
            let stage = Stage::open().await;
            install(&stage.cluster, &stage, &chart, &json!({})).await;
            let (cluster, line) = stage.dying(requests, death);
            let options = options();
            let away = async {
                outrigger_release::uninstall(&cluster, &stage.id, &[], &options, &|_| {})
                    .await
                    .unwrap();
            };
            let done = until_death(away, &line).await;
            stage.uninstall(&options).await.unwrap();
            let place = format!("{death:?} {requests}");
            assert_eq!(stage.objects().await, BTreeSet::new(), "{place}");
            assert!(stage.statuses().await.is_empty(), "{place}");
            stage.close().await;
            if done {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_removal_killed_at_any_request_and_followed_by_an_installation_leaves_no_open_record() {
    let chart = web();
    for death in DEATHS {
        for requests in 0.. {
            let stage = Stage::open().await;
            install(&stage.cluster, &stage, &chart, &json!({})).await;
            let (cluster, line) = stage.dying(requests, death);
            let options = options();
            let away = async {
                outrigger_release::uninstall(&cluster, &stage.id, &[], &options, &|_| {})
                    .await
                    .unwrap();
            };
            let done = until_death(away, &line).await;
            install(&stage.cluster, &stage, &chart, &json!({})).await;
            let statuses = stage.statuses().await;
            let place = format!("{death:?} {requests} {statuses:?}");
            let (last, others) = statuses.split_last().unwrap();
            assert!(last.ends_with(" deployed"), "{place}");
            let is_closed = |status: &String| status.ends_with(" superseded");
            assert!(others.iter().all(is_closed), "{place}");
            stage.close().await;
            if done {
                break;
            }
        }
    }
}

#[tokio::test]
async fn an_installation_killed_at_any_request_can_be_removed() {
    for requests in 0.. {
        let stage = Stage::open().await;
        let (cluster, line) = stage.dying(requests, Death::AfterTheServer);
        let done = until_death(
            Box::pin(install(&cluster, &stage, &web(), &json!({}))),
            &line,
        )
        .await;
        stage.uninstall(&options()).await.unwrap();
        assert_eq!(stage.objects().await, BTreeSet::new(), "{requests}");
        assert!(stage.statuses().await.is_empty(), "{requests}");
        stage.close().await;
        if done {
            break;
        }
    }
}
