//! Which machine a Machine is: host keys, addresses, owners, and one machine that is claimed twice.

use kube::api::PostParams;
use outrigger_api::cluster::Cluster;
use outrigger_api::condition::ConditionStatus;
use outrigger_api::machine::{Machine, MachinePhase};
use serde_json::{Value, json};

use super::fixture::{FIRST, Fixture, WORKER, has_condition};

fn is_running(machine: &Machine) -> bool {
    let status = machine.status.as_ref();
    status.is_some_and(|status| status.phase == MachinePhase::Running)
}

fn message(machine: &Machine) -> String {
    machine.status.clone().unwrap_or_default().message
}

fn is_refused(cluster: &Cluster) -> bool {
    let reason = "MachineRefused";
    has_condition(cluster, "Accepted", ConditionStatus::False, reason)
}

async fn create_machine(fixture: &Fixture, name: &str, spec: Value) {
    let machine = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": name}, "spec": spec,
    });
    let machine: Machine = serde_json::from_value(machine).unwrap();
    let api = fixture.machine_api();
    api.create(&PostParams::default(), &machine).await.unwrap();
}

#[tokio::test]
async fn a_removed_host_key_is_recorded_anew_and_not_restored_by_an_open_connection() {
    let fixture = Fixture::new().await;
    fixture.machines.hang(FIRST, "PreInstall");
    fixture.create("a", json!({})).await;
    fixture.machines.until_begun(FIRST, "PreInstall").await;
    let first = fixture.machines.host_key(FIRST);
    let has_key = |key: &str| {
        let key = Some(key.to_owned());
        move |machine: &Machine| machine.status.clone().unwrap_or_default().host_key == key
    };
    fixture.until_machine("a-10-0-0-1", has_key(&first)).await;
    fixture.machines.reinstall(FIRST);
    let removed = json!({"hostKey": null});
    fixture
        .patch_status(fixture.machine_api(), "a-10-0-0-1", removed)
        .await;
    fixture.machines.release();
    fixture.until_running("a").await;
    let second = fixture.machines.host_key(FIRST);
    assert_ne!(first, second);
    fixture.until_machine("a-10-0-0-1", has_key(&second)).await;
    fixture.close().await;
}

/// Creates a cluster whose machine is also that of another cluster, and waits until it says so.
async fn expect_refused(fixture: &Fixture, machine: Value, expected: &'static str) {
    let before = fixture.hooks().len();
    fixture.create("b", json!({"machines": [machine]})).await;
    let refused = |machine: &Machine| {
        let conditions = machine.status.clone().unwrap_or_default().conditions;
        conditions
            .iter()
            .any(|it| it.status == ConditionStatus::False && it.message.contains(expected))
    };
    fixture.until_machine("b-10-0-0-9", refused).await;
    assert_eq!(fixture.hooks().len(), before);
    let machine = fixture.machine_api().get("b-10-0-0-9").await.unwrap();
    assert_eq!(machine.status.unwrap().host_key, None);
}

/// A controller that starts after cluster `a` was created by another one.
async fn restarted() -> Fixture {
    let mut fixture = Fixture::without_controller().await;
    fixture.machines.set_machine_id(FIRST, "4f1c");
    fixture.start();
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    fixture.harness.stop().await;
    fixture.machines.alias(WORKER, FIRST);
    fixture.start();
    fixture
}

#[tokio::test]
async fn one_machine_in_two_clusters_is_noticed_after_a_restart() {
    let fixture = restarted().await;
    let machine = json!({"ip": "10.0.0.9", "password": "eA=="});
    let expected = "10.0.0.9:22 is the same machine as a-10-0-0-1 of cluster a (10.0.0.1:22)";
    expect_refused(&fixture, machine, expected).await;
    fixture.close().await;
}

/// A machine has a key for each algorithm. That of a key in the spec is used, and the key recorded.
#[tokio::test]
async fn a_machine_is_noticed_after_a_restart_although_the_algorithms_of_its_keys_differ() {
    let fixture = restarted().await;
    let other = json!({"hostKey": "ssh-rsa 10.0.0.1:22"});
    fixture
        .patch_status(fixture.machine_api(), "a-10-0-0-1", other)
        .await;
    let machine = json!({"ip": "10.0.0.9", "password": "eA=="});
    let expected = "10.0.0.9:22 is the same machine as a-10-0-0-1 of cluster a (10.0.0.1:22)";
    expect_refused(&fixture, machine, expected).await;
    fixture.close().await;
}

#[tokio::test]
async fn a_machine_is_noticed_after_a_restart_although_its_key_was_removed_from_the_status() {
    let fixture = restarted().await;
    let removed = json!({"hostKey": null});
    fixture
        .patch_status(fixture.machine_api(), "a-10-0-0-1", removed)
        .await;
    let machine = json!({"ip": "10.0.0.9", "password": "eA=="});
    let expected = "10.0.0.9:22 is the same machine as a-10-0-0-1 of cluster a (10.0.0.1:22)";
    expect_refused(&fixture, machine, expected).await;
    fixture.close().await;
}

#[tokio::test]
async fn a_machine_whose_first_address_does_not_respond_is_not_taken_for_another_one() {
    let fixture = restarted().await;
    fixture.machines.set_offline(FIRST, true);
    let machine = json!({"ip": "10.0.0.9", "password": "eA=="});
    let expected = "10.0.0.9:22 cannot be told apart from a-10-0-0-1 of cluster a (10.0.0.1:22)";
    expect_refused(&fixture, machine, expected).await;
    // One that does not come back is not used.
    let lost = json!({"metadata": {"annotations": {"outrigger.dev/lost": "true"}}});
    fixture.patch_machine("a-10-0-0-1", lost).await.unwrap();
    let retry = json!({"metadata": {"annotations": {"outrigger.dev/retry": "1"}}});
    fixture.patch("b", retry).await;
    fixture.until_running("b").await;
    fixture.close().await;
}

#[tokio::test]
async fn a_machine_with_the_key_of_one_that_does_not_respond_is_another_one_by_its_machine_id() {
    let fixture = restarted().await;
    fixture.machines.set_offline(FIRST, true);
    fixture.machines.set_machine_id(FIRST, "8e2b");
    let machine = json!({"ip": "10.0.0.9", "password": "eA=="});
    fixture.create("b", json!({"machines": [machine]})).await;
    fixture.until_running("b").await;
    fixture.close().await;
}

/// The facts are gathered later.
#[tokio::test]
async fn the_machine_id_is_recorded_with_the_host_key() {
    let fixture = Fixture::new().await;
    fixture.machines.set_machine_id(FIRST, "4f1c");
    fixture.machines.hang(FIRST, "PreInstall");
    fixture.create("a", json!({})).await;
    fixture.machines.until_begun(FIRST, "PreInstall").await;
    let machine = fixture.machine_api().get("a-10-0-0-1").await.unwrap();
    let status = machine.status.unwrap();
    let facts = status.facts.unwrap_or_default();
    assert_eq!((&*facts.machine_id, &*facts.os), ("4f1c", ""));
    assert!(status.host_key.is_some());
    fixture.machines.release();
    fixture.close().await;
}

/// Removing the finalizer by hand gives up on a machine.
#[tokio::test]
async fn a_machine_that_was_deleted_by_hand_is_free() {
    let fixture = Fixture::new().await;
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    fixture.add_worker("w", "a", "10.0.0.9").await;
    fixture.until_machine("w", is_running).await;
    fixture.machines.alias("10.0.0.8:22", WORKER);
    fixture.machines.set_offline(WORKER, true);
    let api = fixture.machine_api();
    api.delete("w", &Default::default()).await.unwrap();
    let released = json!({"metadata": {"finalizers": null}});
    fixture.patch_machine("w", released).await.unwrap();
    fixture.add_worker("v", "a", "10.0.0.8").await;
    fixture.until_machine("v", is_running).await;
    fixture.close().await;
}

/// A cluster with a worker at `10.0.0.9`.
async fn with_worker() -> Fixture {
    let fixture = Fixture::new().await;
    fixture.machines.set_machine_id(WORKER, "77aa");
    fixture.create("a", json!({})).await;
    fixture.until_running("a").await;
    fixture.add_worker("w", "a", "10.0.0.9").await;
    fixture.until_machine("w", is_running).await;
    fixture
}

#[tokio::test]
async fn the_ip_address_of_a_machine_that_was_set_up_cannot_be_changed() {
    let fixture = with_worker().await;
    let change = json!({"spec": {"ip": "10.0.0.77"}});
    let error = fixture.patch_machine("w", change).await;
    let error = error.unwrap_err().to_string();
    let expected = "is immutable: outrigger machine replace puts another machine in its place";
    assert!(error.contains(expected), "{error}");
    fixture
        .patch_machine("w", json!({"spec": {"labels": {"a": "b"}}}))
        .await
        .unwrap();
    // Without the rule of the definition.
    let elsewhere = json!({"address": "10.0.0.66:22"});
    fixture
        .patch_status(fixture.machine_api(), "w", elsewhere)
        .await;
    let refused = |machine: &Machine| {
        let conditions = machine.status.clone().unwrap_or_default().conditions;
        let accepted = conditions.iter().find(|it| it.kind == "Accepted");
        accepted.is_some_and(|it| {
            it.status == ConditionStatus::False
                && it.message.contains("was set up at 10.0.0.66:22")
                && it.message.contains("outrigger machine replace")
                && it.message == message(machine)
        })
    };
    fixture.until_machine("w", refused).await;
    fixture
        .patch("a", json!({"spec": {"version": "1.1.0"}}))
        .await;
    fixture.until_running("a").await;
    let hooks = fixture.hooks();
    assert!(
        !hooks.contains(&"PreUpgrade@10.0.0.9".to_owned()),
        "{hooks:?}"
    );
    let restored = json!({"address": "10.0.0.9:22"});
    fixture
        .patch_status(fixture.machine_api(), "w", restored)
        .await;
    let is_accepted = |machine: &Machine| {
        let conditions = machine.status.clone().unwrap_or_default().conditions;
        is_running(machine) && conditions.iter().all(|it| it.kind != "Accepted")
    };
    fixture.until_machine("w", is_accepted).await;
    fixture.close().await;
}

#[tokio::test]
async fn a_machine_is_reached_at_another_port_if_it_is_the_same() {
    let fixture = with_worker().await;
    fixture.machines.alias("10.0.0.9:2222", WORKER);
    let port = json!({"spec": {"port": 2222}});
    fixture.patch_machine("w", port).await.unwrap();
    fixture
        .patch("a", json!({"spec": {"version": "1.1.0"}}))
        .await;
    fixture.until_running("a").await;
    let hooks = fixture.machines.hooks();
    let expected = ("10.0.0.9:2222".to_owned(), "PreUpgrade".to_owned());
    assert!(hooks.contains(&expected), "{hooks:?}");
    fixture.close().await;
}

/// Both were installed from one image.
#[tokio::test]
async fn a_machine_with_the_same_key_at_another_port_is_not_used() {
    let fixture = with_worker().await;
    fixture.machines.alias("10.0.0.9:2222", WORKER);
    fixture.machines.set_machine_id(WORKER, "99ff");
    let port = json!({"spec": {"port": 2222}});
    fixture.patch_machine("w", port).await.unwrap();
    fixture
        .patch("a", json!({"spec": {"version": "1.1.0"}}))
        .await;
    let expected = "10.0.0.9:2222 is not the machine that was set up at 10.0.0.9:22";
    let refused = |machine: &Machine| message(machine).contains(expected);
    fixture.until_machine("w", refused).await;
    let hooks = fixture.machines.hooks();
    assert!(
        hooks.iter().all(|(at, _)| at != "10.0.0.9:2222"),
        "{hooks:?}"
    );
    fixture.close().await;
}

#[tokio::test]
async fn a_machine_that_others_created_is_not_taken_for_the_control_plane() {
    let fixture = Fixture::new().await;
    let spec =
        |role: &str, ip: &str| json!({"cluster": "a", "role": role, "ip": ip, "password": "eA=="});
    create_machine(&fixture, "a-10-0-0-1", spec("ControlPlane", "10.0.0.66")).await;
    create_machine(&fixture, "evil", spec("ControlPlane", "10.0.0.67")).await;
    fixture.create("a", json!({})).await;
    let cluster = fixture.until("a", is_refused).await;
    let expected =
        "a-10-0-0-1: a machine of this name exists that the controller did not create; delete it";
    assert_eq!(cluster.status.unwrap().message, expected);
    let refused =
        |machine: &Machine| message(machine).contains("only the machines of spec.machines");
    fixture.until_machine("evil", refused).await;
    assert_eq!(fixture.hooks(), [""; 0]);
    let api = fixture.machine_api();
    api.delete("a-10-0-0-1", &Default::default()).await.unwrap();
    fixture.until_running("a").await;
    let hooks = fixture.hooks();
    assert!(
        !hooks.iter().any(|it| it.contains("@10.0.0.6")),
        "{hooks:?}"
    );
    // A worker has the name of the machine that is added.
    create_machine(&fixture, "a-10-0-0-3", spec("Worker", "10.0.0.68")).await;
    fixture.until_machine("a-10-0-0-3", is_running).await;
    let machines = json!([
        {"ip": "10.0.0.1", "password": "c2VjcmV0"}, {"ip": "10.0.0.2", "password": "c2VjcmV0"},
        {"ip": "10.0.0.3", "password": "c2VjcmV0"},
    ]);
    fixture
        .patch("a", json!({"spec": {"machines": machines}}))
        .await;
    fixture.until("a", is_refused).await;
    fixture.close().await;
}
