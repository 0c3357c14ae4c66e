//! Of several controllers only the leader reconciles.

use std::time::Duration;

use outrigger_controller::leader_election;
use serde_json::json;

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
