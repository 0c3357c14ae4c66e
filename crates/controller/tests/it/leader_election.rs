//! Of several controllers only the leader reconciles.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use outrigger_controller::{Options, Workers, leader_election, run_on};
use outrigger_testing::embedded_api;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::harness::Harness;

fn election(identity: &str) -> leader_election::Options {
    leader_election::Options {
        lease_duration: Duration::from_secs(1),
        retry_period: Duration::from_millis(50),
        ..leader_election::Options::new("default", identity)
    }
}

#[tokio::test]
async fn a_second_controller_takes_over_when_the_leader_stops() {
    let mut harness =
        Harness::with(|options| options.leader_election = Some(election("one"))).await;
    harness.create("first", "config", json!({})).await;
    harness.until_ready("first").await;
    let leases = harness.objects("coordination.k8s.io/v1", "Lease");
    let holder = async || {
        let lease = leases.get("outrigger-controller").await.unwrap();
        lease.data["spec"]["holderIdentity"]
            .as_str()
            .map(str::to_owned)
    };
    assert_eq!(holder().await.as_deref(), Some("one"));
    let first = harness.detach();
    harness.start(|options| options.leader_election = Some(election("two")));
    first.stop().await;
    harness.create("second", "config", json!({})).await;
    harness.until_ready("second").await;
    assert_eq!(holder().await.as_deref(), Some("two"));
    harness.close().await;
}

/// Charts and objects of plugins can keep every thread of the controller busy.
#[tokio::test]
async fn the_lease_is_released_while_all_workers_are_busy() {
    let harness = Harness::without_controller().await;
    let mut workers = Builder::new_multi_thread();
    let workers = workers.worker_threads(1).enable_all().build().unwrap();
    let client = {
        let _context = workers.enter();
        embedded_api::client(&harness.server)
    };
    let options = Options {
        leader_election: Some(election("one")),
        ..Options::default()
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let own_client = harness.client.clone();
    let runtime = workers.handle().clone();
    let running = tokio::spawn(async move {
        let shutdown = async { stopped.await.unwrap() };
        run_on(Workers { runtime, client }, own_client, options, shutdown).await;
    });
    harness.create("first", "config", json!({})).await;
    harness.until_ready("first").await;
    // The only worker waits here until the end of the test.
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let (block, is_blocked) = oneshot::channel();
    workers.spawn(async move {
        block.send(()).unwrap();
        // Fails when the test has ended.
        let _ = ended.recv();
    });
    is_blocked.await.unwrap();
    stop.send(()).unwrap();
    running.await.unwrap();
    let leases: Api<Lease> = Api::default_namespaced(harness.client.clone());
    let lease = leases.get("outrigger-controller").await.unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity, None);
    drop(end);
    workers.shutdown_background();
    harness.close().await;
}
