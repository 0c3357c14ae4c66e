//! Tests of the decisions.

#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "calls are easier to read"
)]

use serde_json::{Value, json};

use super::*;

fn cluster(version: &str, status: Value) -> Cluster {
    serde_json::from_value(json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a"},
        "spec": {"version": version}, "status": status,
    }))
    .unwrap()
}

fn machine(name: &str, role: &str, version: Option<&str>, is_deleted: bool) -> Machine {
    let mut machine: Machine = serde_json::from_value(json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": name},
        "spec": {"cluster": "a", "role": role, "ip": "10.0.0.1"}, "status": {"version": version},
    }))
    .unwrap();
    if is_deleted {
        let time =
            k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH);
        machine.metadata.deletion_timestamp = Some(time);
    }
    machine
}

fn flow(name: &str, run: &str) -> Value {
    json!({"version": "1.0.0", "flow": {"name": name, "run": run}})
}

#[track_caller]
fn check(
    cluster: &Cluster,
    machines: &[Machine],
    outcome: Option<Outcome>,
    expected: Option<&str>,
) {
    let machines: Vec<&Machine> = machines.iter().collect();
    let next = next(cluster, &machines, outcome.as_ref());
    let run = match next {
        Next::Run(run) => Some(run.id),
        Next::Idle => None,
        Next::Release => Some("release".to_owned()),
    };
    assert_eq!(run.as_deref(), expected);
}

fn failed() -> Option<Outcome> {
    Some(Outcome::Failed(Vec::new()))
}

fn deleted(mut cluster: Cluster) -> Cluster {
    let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH);
    cluster.metadata.deletion_timestamp = Some(time);
    cluster
}

#[test]
fn a_new_cluster_is_created_and_then_idle() {
    check(&cluster("1.0.0", json!({})), &[], None, Some("1-Create"));
    let created = cluster("1.0.0", flow("Create", "1-Create"));
    check(&created, &[], Some(Outcome::Done), None);
    let creating = cluster(
        "1.0.0",
        json!({"flow": {"name": "Create", "run": "1-Create"}}),
    );
    check(&creating, &[], failed(), Some("1-Create"));
}

#[test]
fn another_version_upgrades_also_back_again() {
    let created = cluster("1.1.0", flow("Create", "1-Create"));
    check(&created, &[], Some(Outcome::Done), Some("2-Upgrade-1.1.0"));
    let upgrading = cluster("1.1.0", flow("Upgrade", "2-Upgrade-1.1.0"));
    check(
        &upgrading,
        &[],
        Some(Outcome::InProgress),
        Some("2-Upgrade-1.1.0"),
    );
    let changed = cluster("1.2.0", flow("Upgrade", "2-Upgrade-1.1.0"));
    check(
        &changed,
        &[],
        Some(Outcome::InProgress),
        Some("3-Upgrade-1.2.0"),
    );
    let reverted = cluster("1.0.0", flow("Upgrade", "2-Upgrade-1.1.0"));
    check(
        &reverted,
        &[],
        Some(Outcome::InProgress),
        Some("3-Upgrade-1.0.0"),
    );
    check(&reverted, &[], failed(), Some("3-Upgrade-1.0.0"));
}

#[test]
fn machines_are_added_and_removed_one_flow_at_a_time() {
    let created = cluster("1.0.0", flow("Create", "1-Create"));
    let new = machine("w", "Worker", None, false);
    let old = machine("v", "Worker", Some("1.0.0"), true);
    let done = Some(Outcome::Done);
    check(
        &created,
        std::slice::from_ref(&new),
        done.clone(),
        Some("2-ScaleUp"),
    );
    check(
        &created,
        &[new.clone(), old.clone()],
        done.clone(),
        Some("2-ScaleDown"),
    );
    let upgrading = cluster("1.1.0", flow("ScaleUp", "2-ScaleUp"));
    let in_progress = Some(Outcome::InProgress);
    check(
        &upgrading,
        &[new.clone(), old.clone()],
        in_progress,
        Some("2-ScaleUp"),
    );
    check(
        &upgrading,
        std::slice::from_ref(&new),
        failed(),
        Some("3-Upgrade-1.1.0"),
    );
    check(&upgrading, &[new, old], done, Some("3-ScaleDown"));
}

#[test]
fn flows_that_fail_do_not_alternate() {
    let new = machine("w", "Worker", None, false);
    let old = machine("v", "Worker", Some("1.0.0"), true);
    let upgrade = cluster("1.1.0", flow("Upgrade", "2-Upgrade-1.1.0"));
    check(
        &upgrade,
        std::slice::from_ref(&new),
        failed(),
        Some("2-Upgrade-1.1.0"),
    );
    let scale_down = cluster("1.1.0", flow("ScaleDown", "3-ScaleDown"));
    check(&scale_down, &[new, old], failed(), Some("3-ScaleDown"));
}

#[test]
fn a_machine_that_cannot_be_removed_does_not_hold_up_others() {
    let new = machine("w", "Worker", None, false);
    let mut dead = machine("v", "Worker", Some("1.0.0"), true);
    let flow_of_machine = json!({
        "name": "ScaleDown", "run": "3-ScaleDown",
        "tasks": [{"step": "EnsureRemoveFiles", "state": "Failed", "digest": "d", "since": ""}],
    });
    dead.status.as_mut().unwrap().flow = Some(serde_json::from_value(flow_of_machine).unwrap());
    let scale_down = |version: &str| cluster(version, flow("ScaleDown", "3-ScaleDown"));
    let both = [new.clone(), dead.clone()];
    check(
        &scale_down("1.1.0"),
        &both,
        failed(),
        Some("4-Upgrade-1.1.0"),
    );
    check(&scale_down("1.0.0"), &both, failed(), Some("4-ScaleUp"));
    // Neither failure makes the other flow start again.
    let scale_up = cluster("1.0.0", flow("ScaleUp", "4-ScaleUp"));
    check(&scale_up, &both, failed(), Some("4-ScaleUp"));
    let only = std::slice::from_ref(&dead);
    check(&scale_down("1.0.0"), only, failed(), Some("3-ScaleDown"));
    // It is tried once more after another flow, and together with others.
    check(&scale_up, only, Some(Outcome::Done), Some("5-ScaleDown"));
    let other = machine("u", "Worker", Some("1.0.0"), true);
    check(
        &scale_up,
        &[new, dead, other],
        failed(),
        Some("5-ScaleDown"),
    );
}

#[test]
fn deletion_ends_every_other_flow() {
    for status in [json!({}), flow("Upgrade", "2-Upgrade-1.1.0")] {
        let cluster = deleted(cluster("1.1.0", status));
        let outcome = Some(Outcome::InProgress);
        let expected = if cluster.status.as_ref().unwrap().flow.is_some() {
            "3-Delete"
        } else {
            "1-Delete"
        };
        check(&cluster, &[], outcome, Some(expected));
    }
    let deleting = deleted(cluster("1.0.0", flow("Delete", "2-Delete")));
    check(&deleting, &[], failed(), Some("2-Delete"));
    check(&deleting, &[], Some(Outcome::Done), Some("release"));
    let mut forced = deleting;
    forced.metadata.annotations = Some(
        [(FORCE.to_owned(), "true".to_owned())]
            .into_iter()
            .collect(),
    );
    check(&forced, &[], failed(), Some("release"));
}

#[test]
fn workers_take_part_after_the_control_plane() {
    let machines = [
        machine("a-worker", "Worker", Some("1.0.0"), false),
        machine("z-control", "ControlPlane", Some("1.0.0"), false),
        machine("new", "Worker", None, false),
    ];
    let machines: Vec<&Machine> = machines.iter().collect();
    let names = |flow| {
        let machines = participants(flow, &cluster("1.0.0", json!({})), &machines);
        let names = machines
            .iter()
            .map(|machine| machine.metadata.name.clone().unwrap());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(FlowName::Upgrade), ["z-control", "a-worker"]);
    assert_eq!(names(FlowName::ScaleUp), ["new"]);
    assert_eq!(names(FlowName::Create), ["z-control"]);
}

#[test]
fn a_version_with_a_prefix_is_the_same_version() {
    let status = json!({"version": "1.0.0", "flow": {"name": "Create", "run": "1-Create", "completed": true}});
    check(&cluster("v1.0.0", status), &[], Some(Outcome::Done), None);
    let upgrading =
        json!({"version": "v1.0.0", "flow": {"name": "Upgrade", "run": "2-Upgrade-v1.1.0"}});
    let cluster = cluster("1.1.0", upgrading);
    check(
        &cluster,
        &[],
        Some(Outcome::InProgress),
        Some("2-Upgrade-v1.1.0"),
    );
}

#[test]
fn a_downgrade_is_refused_unless_the_version_is_allowed() {
    let mut older = cluster("1.0.0", json!({"version": "1.1.0"}));
    assert_eq!(
        refused_downgrade(&older, &[]).as_deref(),
        Some("1.0.0 is older than the installed version 1.1.0")
    );
    let annotations = older.metadata.annotations.get_or_insert_default();
    annotations.insert(ALLOW_DOWNGRADE.to_owned(), "v1.0.0".to_owned());
    assert_eq!(refused_downgrade(&older, &[]), None);
    assert_eq!(
        refused_downgrade(&cluster("1.10.0", json!({"version": "1.9.0"})), &[]),
        None
    );
}

#[test]
fn a_downgrade_of_a_machine_that_an_unfinished_upgrade_reached_is_refused() {
    let back = cluster("1.0.0", json!({"version": "1.0.0"}));
    let machines = [
        machine("done", "ControlPlane", Some("1.2.0"), false),
        machine("failed", "Worker", Some("1.0.0"), false),
    ];
    let machines: Vec<&Machine> = machines.iter().collect();
    assert_eq!(
        refused_downgrade(&back, &machines).as_deref(),
        Some("1.0.0 is older than the installed version 1.2.0")
    );
    assert_eq!(lowest_version(&machines), Some("1.0.0"));
}

#[test]
fn a_machine_that_is_added_gets_the_installed_version() {
    let cluster = cluster("1.1.0", flow("ScaleUp", "2-ScaleUp"));
    let version = |flow| {
        let run = Run {
            flow,
            id: String::new(),
        };
        at_run(&cluster, &run).spec.version.clone()
    };
    assert_eq!(version(FlowName::ScaleUp), "1.0.0");
    assert_eq!(version(FlowName::Upgrade), "1.1.0");
}

#[test]
fn commands_for_the_cluster_run_on_machines_that_are_part_of_it() {
    let control_plane = |name: &str, version: Option<&str>, is_deleted: bool, ip: &str| {
        let mut machine = machine(name, "ControlPlane", version, is_deleted);
        machine.spec.access.ip = ip.to_owned();
        machine
    };
    let mut lost = control_plane("lost", Some("1.0.0"), false, "10.0.0.5");
    let annotations = lost.metadata.annotations.get_or_insert_default();
    annotations.insert(LOST.to_owned(), "true".to_owned());
    let machines = [
        control_plane("removed", Some("1.0.0"), true, "10.0.0.4"),
        control_plane("third", Some("1.0.0"), false, "10.0.0.3"),
        control_plane("second", Some("1.0.0"), false, "10.0.0.2"),
        control_plane("new", None, false, "10.0.0.1"),
        machine("worker", "Worker", Some("1.0.0"), false),
        lost,
    ];
    let machines: Vec<&Machine> = machines.iter().collect();
    let names = |status| {
        let mut cluster = cluster("1.0.0", status);
        cluster.spec.machines = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
            .map(|ip| outrigger_api::machine::MachineAccess {
                ip: ip.to_owned(),
                ..Default::default()
            })
            .into();
        let machines = control_planes(&cluster, &machines);
        let names = machines.iter().map(|it| it.metadata.name.clone().unwrap());
        names.collect::<Vec<_>>()
    };
    let created = flow("ScaleUp", "2-ScaleUp");
    assert_eq!(names(created), ["second", "third", "removed"]);
    assert_eq!(names(json!({})), ["new", "second", "third", "removed"]);
}

#[test]
fn a_lost_machine_does_not_hold_up_the_deletion_of_its_cluster() {
    let mut lost = machine("lost", "Worker", Some("1.0.0"), false);
    let cluster = cluster("1.0.0", json!({}));
    assert_eq!(participants(FlowName::Delete, &cluster, &[&lost]).len(), 1);
    let annotations = lost.metadata.annotations.get_or_insert_default();
    annotations.insert(LOST.to_owned(), "true".to_owned());
    assert_eq!(participants(FlowName::Delete, &cluster, &[&lost]).len(), 0);
}

#[test]
fn the_only_control_plane_stays_until_there_is_another_one() {
    let created = cluster("1.0.0", flow("Create", "1-Create"));
    let first = machine("c1", "ControlPlane", Some("1.0.0"), true);
    let new = machine("c2", "ControlPlane", None, false);
    let joined = machine("c2", "ControlPlane", Some("1.0.0"), false);
    let worker = machine("w", "Worker", Some("1.0.0"), true);
    let done = || Some(Outcome::Done);
    check(&created, std::slice::from_ref(&first), done(), None);
    let names = |flow, cluster: &Cluster, machines: &[&Machine]| {
        let participants = participants(flow, cluster, machines);
        let names = participants.iter().map(|it| it.metadata.name.clone());
        names.map(Option::unwrap).collect::<Vec<_>>()
    };
    // It is still upgraded, and other machines are removed and added.
    let upgraded = names(FlowName::Upgrade, &created, &[&first, &worker]);
    assert_eq!(upgraded, ["c1"]);
    let removed = names(FlowName::ScaleDown, &created, &[&first, &worker]);
    assert_eq!(removed, ["w"]);
    let adding = [first.clone(), new.clone()];
    check(&created, &adding, done(), Some("2-ScaleUp"));
    let added = [first, joined];
    check(&created, &added, done(), Some("2-ScaleDown"));
    // It is created in the first place.
    let creating = cluster("1.0.0", json!({}));
    let begun = machine("c1", "ControlPlane", None, true);
    assert_eq!(names(FlowName::Create, &creating, &[&begun]), ["c1"]);
    assert_eq!(names(FlowName::Create, &creating, &[&begun, &new]), ["c2"]);
}

#[test]
fn of_several_control_planes_that_are_removed_one_stays() {
    let created = cluster("1.0.0", flow("ScaleDown", "2-ScaleDown"));
    let mut leaving = machine("c1", "ControlPlane", Some("1.0.0"), true);
    leaving.status =
        serde_json::from_value(json!({"version": "1.0.0", "flow": flow("ScaleDown", "2")["flow"]}))
            .unwrap();
    let second = machine("c2", "ControlPlane", Some("1.0.0"), true);
    let kept = kept(&created, &[&leaving, &second]).unwrap();
    assert_eq!(kept.metadata.name.as_deref(), Some("c2"));
    // Nothing is left of one that is lost.
    let mut lost = second;
    lost.metadata.annotations = Some([(LOST.to_owned(), "true".to_owned())].into());
    assert!(self::kept(&created, &[&lost]).is_none());
}

/// With the annotation that asks for a renewal.
fn renewed(mut cluster: Cluster, request: &str) -> Cluster {
    let annotations = cluster.metadata.annotations.get_or_insert_default();
    let annotation = FlowName::RenewCertificates.request().unwrap();
    annotations.insert(annotation.to_owned(), request.to_owned());
    cluster
}

fn due_run(cluster: &Cluster, machines: &[&Machine], outcome: Option<Outcome>) -> String {
    match next(cluster, machines, outcome.as_ref()) {
        Next::Run(run) => run.id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_is_served_once_and_before_what_needs_valid_certificates() {
    let created = |status| renewed(cluster("1.1.0", status), "now");
    let asked = created(flow("Upgrade", "2-Upgrade-1.1.0"));
    // A flow that can go on is finished first.
    let in_progress = due_run(&asked, &[], Some(Outcome::InProgress));
    assert_eq!(in_progress, "2-Upgrade-1.1.0");
    let run = due_run(&asked, &[], failed());
    assert!(run.starts_with("3-RenewCertificates-"), "{run}");
    let renewing = created(flow("RenewCertificates", &run));
    assert_eq!(due_run(&renewing, &[], failed()), run);
    assert!(is_run_of_request(&renewing, FlowName::RenewCertificates));
    assert!(!is_run_of_request(&asked, FlowName::RenewCertificates));
    let mut served = flow("RenewCertificates", &run);
    served["requests"] = json!({"RenewCertificates": "now"});
    let done = due_run(&created(served.clone()), &[], Some(Outcome::Done));
    assert_eq!(done, "4-Upgrade-1.1.0");
    let again = renewed(cluster("1.1.0", served), "later");
    let later = due_run(&again, &[], Some(Outcome::Done));
    assert!(later.starts_with("4-RenewCertificates-") && later[2..] != run[2..]);
    // Nobody asks for it any more, but it has begun.
    let abandoned = cluster("1.1.0", flow("RenewCertificates", &run));
    assert_eq!(due_run(&abandoned, &[], Some(Outcome::InProgress)), run);
    check(&abandoned, &[], failed(), Some("4-Upgrade-1.1.0"));
}

#[test]
fn certificates_of_control_planes_that_stay_are_renewed() {
    let created = cluster("1.0.0", flow("Create", "1-Create"));
    let mut lost = machine("lost", "ControlPlane", Some("1.0.0"), false);
    lost.metadata.annotations = Some([(LOST.to_owned(), "true".to_owned())].into());
    let machines = [
        machine("c1", "ControlPlane", Some("1.0.0"), false),
        machine("new", "ControlPlane", None, false),
        machine("removed", "ControlPlane", Some("1.0.0"), true),
        machine("worker", "Worker", Some("1.0.0"), false),
        lost,
    ];
    let machines: Vec<&Machine> = machines.iter().collect();
    let participants = participants(FlowName::RenewCertificates, &created, &machines);
    let names: Vec<_> = participants
        .iter()
        .map(|it| it.metadata.name.clone())
        .collect();
    assert_eq!(names, [Some("c1".to_owned())]);
}
