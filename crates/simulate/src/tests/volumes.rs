//! Claims, the volumes that they are bound to, and storage classes.

use super::*;

fn claim(name: &str, spec: &Value) -> Value {
    let mut claim = json!({
        "metadata": {"name": name, "namespace": "n"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    merge(&mut claim["spec"], spec);
    claim
}

fn volume(name: &str, size: &str, spec: &Value) -> Value {
    let mut volume = json!({
        "metadata": {"name": name, "labels": {"disk": name}},
        "spec": {"accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "capacity": {"storage": size}},
    });
    merge(&mut volume["spec"], spec);
    volume
}

fn run(volumes: &[Value], claims: &[Value]) -> FakeServer {
    let mut server = FakeServer::new();
    for volume in volumes {
        server.create("persistentvolumes", volume.clone());
    }
    for claim in claims {
        server.create("persistentvolumeclaims", claim.clone());
    }
    assert!(server.run(50));
    server
}

impl FakeServer {
    fn volume_of(&self, claim: &str) -> String {
        let id = ObjectRef::new("persistentvolumeclaims", "n", claim);
        let claim = self.cache.get(&id).unwrap();
        let phase = object::text(&claim["status"]["phase"]);
        format!("{phase} {}", object::text(&claim["spec"]["volumeName"]))
    }

    fn phase_of(&self, volume: &str) -> &str {
        let id = ObjectRef::new("persistentvolumes", "", volume);
        object::text(&self.cache.get(&id).unwrap()["status"]["phase"])
    }
}

#[test]
fn a_claim_is_bound_to_the_smallest_volume_that_satisfies_it() {
    let manual = json!({"storageClassName": "manual"});
    let volumes = [
        volume("large", "9Gi", &manual),
        volume("other-class", "1Gi", &json!({"storageClassName": "other"})),
        volume(
            "other-mode",
            "1Gi",
            &json!({"storageClassName": "manual", "accessModes": ["ReadOnlyMany"]}),
        ),
        volume("small", "512Mi", &manual),
        volume("st", "2Gi", &manual),
    ];
    let server = run(&volumes, &[claim("c", &manual)]);
    assert_eq!(server.volume_of("c"), "Bound st");
    assert_eq!(
        server.status("persistentvolumeclaims", "c")["capacity"]["storage"],
        "2Gi"
    );
    assert_eq!(server.phase_of("st"), "Bound");
    assert_eq!(server.phase_of("large"), "Available");
}

#[test]
fn a_volume_is_bound_to_one_claim() {
    let manual = json!({"storageClassName": "manual"});
    let claims = [claim("a", &manual), claim("b", &manual)];
    let server = run(&[volume("st", "1Gi", &manual)], &claims);
    assert_eq!(server.volume_of("a"), "Bound st");
    assert_eq!(server.volume_of("b"), " ");
}

#[test]
fn a_claim_without_a_class_takes_a_volume_without_one_or_a_new_one() {
    let server = run(
        &[volume("st", "1Gi", &json!({}))],
        &[claim("a", &json!({})), claim("b", &json!({}))],
    );
    assert_eq!(server.volume_of("a"), "Bound st");
    assert!(server.volume_of("b").starts_with("Bound pvc-"));
}

#[test]
fn a_selector_and_a_reservation_choose_the_volume() {
    let manual = json!({"storageClassName": "manual"});
    let reserved =
        json!({"storageClassName": "manual", "claimRef": {"namespace": "n", "name": "b"}});
    let selecting =
        json!({"storageClassName": "manual", "selector": {"matchLabels": {"disk": "y"}}});
    let volumes = [
        volume("x", "1Gi", &manual),
        volume("y", "5Gi", &manual),
        volume("z", "7Gi", &reserved),
    ];
    let server = run(&volumes, &[claim("a", &selecting), claim("b", &manual)]);
    assert_eq!(server.volume_of("a"), "Bound y");
    assert_eq!(server.volume_of("b"), "Bound z");
}

#[test]
fn a_requested_volume_is_bound_if_it_satisfies_the_claim() {
    let requested = json!({"storageClassName": "manual", "volumeName": "st"});
    let reserved =
        json!({"storageClassName": "manual", "claimRef": {"namespace": "n", "name": "c"}});
    let server = run(&[volume("st", "1Gi", &reserved)], &[claim("c", &requested)]);
    assert_eq!(server.volume_of("c"), "Bound st");
    assert_eq!(server.phase_of("st"), "Bound");
    let small = volume("st", "1Mi", &json!({"storageClassName": "manual"}));
    let server = run(&[small], &[claim("c", &requested)]);
    assert_eq!(server.phase_of("st"), "Available");
    assert_eq!(
        server.events,
        ["VolumeMismatch: Cannot bind to requested volume \"st\": requested PV is too small"]
    );
}

#[test]
fn a_claim_waits_for_its_storage_class() {
    let fast = json!({"storageClassName": "fast"});
    let mut server = run(&[], &[claim("c", &fast)]);
    assert_eq!(server.volume_of("c"), " ");
    let events = ["ProvisioningFailed: storageclass.storage.k8s.io \"fast\" not found"];
    assert_eq!(server.events, events);
    server.create(
        "storageclasses",
        json!({"metadata": {"name": "fast"}, "provisioner": "example.com/disk"}),
    );
    assert!(server.run(50));
    assert!(server.volume_of("c").starts_with("Bound pvc-"));
    assert_eq!(server.events, events);
}

#[test]
fn an_empty_class_forbids_provisioning() {
    let server = run(&[], &[claim("c", &json!({"storageClassName": ""}))]);
    assert_eq!(server.volume_of("c"), " ");
    assert_eq!(
        server.events,
        [
            "FailedBinding: no persistent volumes available for this claim and no storage class is set"
        ]
    );
}
