//! Each check, from substituted facts.

use serde_json::json;

use crate::provider_folder::File;

use super::*;

fn cluster(spec: &Value) -> Cluster {
    let mut cluster: Cluster = serde_json::from_value(json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster",
        "metadata": {"name": "demo", "uid": "this"},
        "spec": {"version": "1.36.4", "provider": "baremetal"},
    }))
    .unwrap();
    cluster.spec.ignore_preflight_errors = list(&spec["ignore"]);
    if let Some(fields) = spec["kubeletConfig"].as_object() {
        cluster.spec.kubelet_config = fields.clone();
    }
    cluster
}

fn list(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn text(findings: &[Finding]) -> String {
    super::text(findings).unwrap_or_default()
}

fn good_facts() -> MachineFacts {
    MachineFacts {
        hostname: "cp1".to_owned(),
        architecture: "amd64".to_owned(),
        cpus: 2,
        memory_bytes: 4 * GIB,
        ..MachineFacts::default()
    }
}

fn good_host() -> HostFacts {
    let programs = PROGRAMS.iter().chain(&["containerd", "runc"]);
    HostFacts {
        free_bytes: 8 * GIB,
        programs: programs.map(|name| (*name).to_owned()).collect(),
        networks: vec!["10.89.0.10/24".to_owned(), "10.89.0.0/24".to_owned()],
        cni: vec!["/usr/lib/cni".to_owned()],
        ports: [22].into(),
        has_systemd: true,
        ..HostFacts::default()
    }
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "calls are easier to read")]
fn check(spec: Value, facts: &MachineFacts, host: &HostFacts, expected: &[&str]) {
    let subject = Subject {
        role: MachineRole::ControlPlane,
        facts,
        host,
        asked: (1000, 1002),
        has_runtime_package: false,
        has_cni_package: false,
    };
    let found = findings(&cluster(&spec), subject);
    let found: Vec<String> = found.iter().map(|it| it.check.clone()).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_fresh_server_has_no_findings() {
    check(json!({}), &good_facts(), &good_host(), &[]);
}

#[test]
fn all_findings_are_reported_at_once() {
    let facts = MachineFacts {
        cpus: 1,
        memory_bytes: GIB,
        ..good_facts()
    };
    let host = HostFacts {
        free_bytes: GIB,
        swap_bytes: GIB,
        ports: [22, 6443, 10250].into(),
        programs: ["ip".to_owned()].into(),
        cni: Vec::new(),
        has_systemd: false,
        networks: vec!["10.244.7.0/24".to_owned()],
        ..good_host()
    };
    let expected = [
        "Mem",
        "NumCPU",
        "Disk",
        "Swap",
        "Systemd",
        "Program-modprobe",
        "Program-mount",
        "Program-nsenter",
        "Program-sysctl",
        "Program-tar",
        "Program-containerd",
        "Program-runc",
        "CNI",
        "Port-6443",
        "Port-10250",
        "ClusterCIDR",
    ];
    check(json!({}), &facts, &host, &expected);
    check(json!({"ignore": expected}), &facts, &host, &[]);
}

#[test]
fn swap_is_fine_if_kubelet_accepts_it() {
    let host = HostFacts {
        swap_bytes: GIB,
        ..good_host()
    };
    check(json!({}), &good_facts(), &host, &["Swap"]);
    let spec = json!({"kubeletConfig": {"failSwapOn": false}});
    check(spec, &good_facts(), &host, &[]);
}

#[test]
fn a_machine_of_another_cluster_is_refused_and_one_of_this_cluster_is_not() {
    let ports: std::collections::BTreeSet<u16> = [6443, 10250].into();
    let host = |cluster: Option<&str>| HostFacts {
        has_kubernetes: true,
        cluster: cluster.map(str::to_owned),
        ports: ports.clone(),
        ..good_host()
    };
    let expected = ["Cluster", "Port-6443", "Port-10250"];
    check(json!({}), &good_facts(), &host(None), &expected);
    check(json!({}), &good_facts(), &host(Some("other")), &expected);
    check(json!({}), &good_facts(), &host(Some("this")), &[]);
}

#[test]
fn ranges_that_collide_with_the_network_of_the_machine_are_named() {
    let mut cluster = cluster(&json!({}));
    cluster.spec.cluster_cidr = Some("10.89.0.0/16".to_owned());
    let (facts, host) = (good_facts(), good_host());
    let subject = Subject {
        role: MachineRole::Worker,
        facts: &facts,
        asked: (1000, 1002),
        host: &host,
        has_runtime_package: false,
        has_cni_package: false,
    };
    let found = findings(&cluster, subject);
    assert_eq!(
        text(&found),
        "ClusterCIDR: spec.clusterCIDR 10.89.0.0/16 collides with 10.89.0.10/24 of the machine"
    );
}

#[test]
fn machines_with_one_host_name_machine_id_or_product_uuid_are_named() {
    let machine = |name: &str, hostname: &str, id: &str, uuid: &str| -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": name},
            "spec": {"cluster": "demo", "ip": "10.0.0.1"},
            "status": {"facts": {"hostname": hostname, "machineId": id, "productUUID": uuid}},
        }))
        .unwrap()
    };
    let a = machine("a", "n1", "1", "");
    let others = [
        machine("b", "N1", "2", ""),
        machine("c", "n3", "1", ""),
        machine("d", "n4", "4", "u"),
    ];
    let others: Vec<&Machine> = others.iter().chain([&a]).collect();
    let found = duplicates(&cluster(&json!({})), &a, &others);
    assert_eq!(
        text(&found),
        "Hostname: has the host name n1, as b has; MachineID: has the machine id 1, as c has"
    );
    let [b, c, d, _] = others[..] else {
        panic!("four machines are compared");
    };
    assert_eq!(
        text(&all_duplicates(&cluster(&json!({})), &[d, c, &a, b])),
        "MachineID: a has the machine id 1, as c has; Hostname: b has the host name n1, as a has"
    );
    let ignored = cluster(&json!({"ignore": ["hostname", "machineid"]}));
    assert_eq!(duplicates(&ignored, &a, &others), []);
}

#[test]
fn a_machine_that_is_not_healthy_is_not_upgraded() {
    let cluster = cluster(&json!({}));
    let mut host = good_host();
    host.cluster = Some("this".to_owned());
    let found = |host: &HostFacts, node: Result<&str, &str>| {
        let node = node.map(NodeState::parse).map_err(str::to_owned);
        text(&upgrade_findings(&cluster, host, &node))
    };
    let ready = Ok("True v1.36.4");
    assert_eq!(found(&host, ready), "");
    assert_eq!(
        found(&host, Ok("False v1.36.4\n")),
        "NodeReady: the node is not ready"
    );
    assert_eq!(found(&host, Err("no node")), "NodeReady: no node");
    assert_eq!(
        found(&host, Ok("True v1.32.1")),
        "VersionSkew: kubelet has version 1.32.1, more than 3 minor versions before 1.36.4"
    );
    host.cluster = None;
    host.free_bytes = GIB;
    let both = "Disk: has 1024 MiB of free disk space for images, needs 3072 MiB; Cluster: does not belong to this cluster";
    assert_eq!(found(&host, ready), both);
}

#[test]
fn a_clock_that_is_off_is_found() {
    let found = |time: i64| {
        let mut host = good_host();
        host.time = Some(time);
        let facts = good_facts();
        let subject = Subject {
            role: MachineRole::Worker,
            facts: &facts,
            host: &host,
            asked: (1000, 1002),
            has_runtime_package: false,
            has_cni_package: false,
        };
        text(&findings(&cluster(&json!({})), subject))
    };
    assert_eq!(found(1001), "");
    assert_eq!(found(940), "");
    let behind = "Clock: the clock is 100 s behind that of the controller; synchronize both by NTP";
    assert_eq!(found(900), behind);
    let ahead = "Clock: the clock is 98 s ahead of that of the controller; synchronize both by NTP";
    assert_eq!(found(1100), ahead);
}

#[test]
fn a_release_without_a_program_or_an_image_is_incomplete() {
    let file = |kind, name: &str| File {
        kind,
        name: name.to_owned(),
        path: name.to_owned(),
        size: 1,
        sha256: "0".repeat(64),
    };
    let mut release = Release {
        kubernetes: "1.36.4".to_owned(),
        architecture: "amd64".to_owned(),
        files: Vec::new(),
    };
    let programs = ["kubeadm", "kubectl"].map(|name| file(FileKind::Binary, name));
    release.files.extend(programs);
    let found = |release: &Release, role| text(&missing_files(release, role));
    let kubelet = "Provider: the provider folder has no program kubelet";
    assert_eq!(found(&release, MachineRole::ControlPlane), kubelet);
    release.files.push(file(FileKind::Binary, "kubelet"));
    let images = ["coredns/coredns:v1", "kube-proxy:v1", "pause:3"];
    let images = images.map(|name| file(FileKind::Image, &format!("registry.k8s.io/{name}")));
    release.files.extend(images);
    assert_eq!(found(&release, MachineRole::Worker), "");
    let missing = missing_files(&release, MachineRole::ControlPlane);
    let checks: Vec<&str> = missing.iter().map(|it| it.check.as_str()).collect();
    let expected = [
        "Image-etcd",
        "Image-kube-apiserver",
        "Image-kube-controller-manager",
        "Image-kube-scheduler",
    ];
    assert_eq!(checks, expected);
    let ignored = cluster(&json!({"ignore": expected}));
    assert_eq!(not_ignored(&ignored, missing), []);
}
