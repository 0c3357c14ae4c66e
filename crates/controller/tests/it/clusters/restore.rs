//! The restoration of a backup: nothing is restored while a member of etcd may run, and nothing twice.

use outrigger_api::annotation::RESTORE;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::machine::MachinePhase;
use outrigger_cluster::backup::Description;
use outrigger_testing::embedded_api::{Fault, Loss};
use serde_json::json;

use super::fixture::{Fixture, SECOND};

const NODES: &str = "m1 10.0.0.1 10.244.0.0/24\nm2 10.0.0.2 10.244.1.0/24\n";
/// The scripts that are run once on each machine, in their order.
const STEPS: [&str; 5] = [
    "EnsureStopControlPlane",
    "EnsureRestoreETCD",
    "EnsureStartControlPlane",
    "EnsureRestartKubelet",
    "EnsurePodNetwork",
];

fn request() -> String {
    format!("{}@1", "a1".repeat(32))
}

/// A cluster whose machines have a backup.
async fn fixture(version: &str) -> Fixture {
    let fixture = Fixture::baremetal().await;
    let cluster = fixture.get("a").await;
    let mut description = Description::new(&cluster, "m1", jiff::Timestamp::UNIX_EPOCH);
    version.clone_into(&mut description.version);
    let description = serde_json::to_string(&description).unwrap();
    fixture.machines.answer("tar -xOf", &description);
    fixture.machines.answer("is_listed", NODES);
    fixture
}

async fn ask(fixture: &Fixture, request: &str) {
    let annotations = json!({RESTORE: request});
    let patch = json!({"metadata": {"annotations": annotations}});
    fixture.patch("a", patch).await;
}

async fn until_restored(fixture: &Fixture) -> Cluster {
    fixture
        .until("a", |cluster| {
            let status = cluster.status.clone().unwrap_or_default();
            status.phase == ClusterPhase::Running
                && status.requests.get("Restore") == Some(&request())
        })
        .await
}

/// How often each step ran, in the order of their first runs.
fn runs(fixture: &Fixture) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for (_, step) in fixture.machines.hooks() {
        if !step.starts_with("Ensure") {
            continue;
        }
        match counts.iter_mut().find(|(known, _)| *known == step) {
            Some((_, count)) => *count += 1,
            None => counts.push((step, 1)),
        }
    }
    counts
}

fn once() -> Vec<(String, usize)> {
    STEPS.iter().map(|step| ((*step).to_owned(), 2)).collect()
}

#[tokio::test]
async fn control_planes_are_stopped_before_one_is_restored() {
    let fixture = fixture("1.0.3").await;
    fixture.machines.hang(SECOND, "EnsureStopControlPlane");
    ask(&fixture, &request()).await;
    let stopping = fixture
        .machines
        .until_begun(SECOND, "EnsureStopControlPlane");
    stopping.await;
    let status = fixture.get("a").await.status.unwrap();
    assert_eq!(status.phase, ClusterPhase::Restoring);
    fixture
        .until_machine("a-10-0-0-2", |machine| {
            let status = machine.status.clone().unwrap_or_default();
            status.phase == MachinePhase::Restoring
        })
        .await;
    assert_eq!(runs(&fixture).len(), 1);
    fixture.machines.release();
    let restored = until_restored(&fixture).await;
    assert_eq!(runs(&fixture), once());
    // The version that was installed stays.
    assert_eq!(restored.status.unwrap().version.as_deref(), Some("1.0.0"));
    fixture.close().await;
}

#[tokio::test]
async fn what_cannot_be_restored_is_refused_before_anything_is_stopped() {
    let fixture = fixture("1.1.0").await;
    for (request, message) in [
        (
            request(),
            "Kubernetes 1.1.0, and the cluster has version 1.0.0",
        ),
        ("../../etc@1".to_owned(), "has no digest of a backup"),
    ] {
        ask(&fixture, &request).await;
        let is_refused = |cluster: &Cluster| {
            let status = cluster.status.clone().unwrap_or_default();
            status.message.contains(message)
        };
        fixture.until("a", is_refused).await;
    }
    assert_eq!(runs(&fixture), []);
    fixture.close().await;
}

#[tokio::test]
async fn a_restoration_survives_a_controller_that_is_killed_at_any_write() {
    for after in (1..30).step_by(5) {
        let mut fixture = fixture("1.0.0").await;
        let loss = Loss::Request;
        fixture
            .harness
            .connection
            .inject(Fault::Hang { after, loss });
        ask(&fixture, &request()).await;
        let hit = fixture.harness.connection.fault_hit();
        let finished = until_restored(&fixture);
        tokio::select! {
            () = hit => {}
            _ = finished => {}
        }
        fixture.harness.kill();
        fixture.harness.connection.inject(Fault::None);
        fixture.start();
        until_restored(&fixture).await;
        assert_eq!(runs(&fixture), once(), "after {after}");
        fixture.close().await;
    }
}
