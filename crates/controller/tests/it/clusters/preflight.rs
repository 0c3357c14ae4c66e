//! Preflight checks of the provider `baremetal`: each finding names its machine, and nothing has changed on any machine.

use std::path::Path;

use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::machine::{Machine, MachineFacts};
use outrigger_cluster::provider_folder::{Folder, read_files};
use serde_json::{Value, json};

use super::fixture::{FIRST, Fixture, SECOND, condition};

/// The name of the second machine.
const NAME: &str = "a-10-0-0-2";
/// What the script that gathers facts contains.
const FACTS: &str = "say facts end";
const GIB: u64 = 1 << 30;
const RELEASE: &str = "1.36.4/amd64";
const IMAGES: [&str; 7] = [
    "coredns",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "pause",
];

/// A provider folder with all that Kubernetes needs.
fn write_folder(folder: &Path) {
    let programs = ["kubeadm", "kubectl", "kubelet"].map(|name| format!("bin/{name}"));
    let images = IMAGES.map(|name| format!("images/{name}.tar"));
    for path in programs.iter().chain(&images) {
        let path = folder.join(RELEASE).join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, path.as_os_str().as_encoded_bytes()).unwrap();
    }
    write_index(folder);
}

fn write_index(folder: &Path) {
    let reference = |path: &str| {
        let name = Path::new(path).file_stem()?.to_str()?;
        Some(format!("registry.example.com/{name}:1"))
    };
    let mut files = read_files(folder).unwrap();
    files.remove("provider.yaml");
    let index = Folder::of_files("test", &files, reference).unwrap();
    fs_err::write(folder.join("provider.yaml"), index.to_yaml()).unwrap();
}

/// What a machine says of itself, and what is special about the second one.
struct Given {
    folder: fn(&Path),
    /// Lines of host facts that replace those with the same key.
    host: &'static [&'static str],
    facts: fn(&mut MachineFacts),
    machine_id: &'static str,
}

impl Default for Given {
    fn default() -> Self {
        Self {
            folder: write_folder,
            host: &[],
            facts: |_| (),
            machine_id: "2",
        }
    }
}

/// A server without anything to complain about.
const HOST: [&str; 17] = [
    "product-uuid UUID-2",
    "time NOW",
    "swap-kib 0",
    "free-kib 50000000",
    "port 0016",
    "address 192.168.7.4/24",
    "route 192.168.7.0/24",
    "program ip",
    "program modprobe",
    "program mount",
    "program nsenter",
    "program sysctl",
    "program tar",
    "program containerd",
    "program runc",
    "cni /opt/cni/bin",
    "systemd yes",
];

fn host_facts(special: &[&str]) -> String {
    let key = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let is_replaced = |line: &&str| special.iter().any(|other| key(other) == key(line));
    let kept = HOST.iter().copied().filter(|line| !is_replaced(line));
    let lines: Vec<&str> = kept.chain(special.iter().copied()).collect();
    let now = jiff::Timestamp::now().as_second().to_string();
    format!("{}\nfacts end\n", lines.join("\n")).replace("NOW", &now)
}

fn facts(hostname: &str) -> MachineFacts {
    MachineFacts {
        hostname: hostname.to_owned(),
        architecture: "amd64".to_owned(),
        cpus: 4,
        memory_bytes: 8 * GIB,
        ..MachineFacts::default()
    }
}

async fn create(given: Given) -> Fixture {
    let fixture = Fixture::with_provider(given.folder).await;
    let machines = &fixture.machines;
    machines.set_machine_id(FIRST, "1");
    machines.set_facts(FIRST, facts("m1"));
    machines.answer_at(FIRST, FACTS, &host_facts(&["product-uuid UUID-1"]));
    machines.set_machine_id(SECOND, given.machine_id);
    let mut special = facts("m2");
    (given.facts)(&mut special);
    machines.set_facts(SECOND, special);
    machines.answer_at(SECOND, FACTS, &host_facts(given.host));
    fixture.create_exactly(cluster()).await;
    fixture
}

/// Two machines, without files and hooks.
fn cluster() -> Value {
    json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a"},
        "spec": {
            "provider": "baremetal", "version": "1.36.4",
            "clusterCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/16",
            "machines": [{"ip": "10.0.0.1", "password": "eA=="}, {"ip": "10.0.0.2", "password": "eA=="}],
        },
    })
}

/// Why a machine did not pass the preflight checks.
fn finding(machine: &Machine) -> Option<String> {
    let failed = machine_condition(machine, "EnsurePreflight", ConditionStatus::False);
    failed.map(|it| it.message)
}

fn machine_condition(machine: &Machine, step: &str, status: ConditionStatus) -> Option<Condition> {
    let mut conditions = machine.status.as_ref()?.conditions.iter();
    let found = conditions.find(|it| it.kind == step && it.status == status);
    found.cloned()
}

/// The finding about the second machine. Nothing is found about the first one, and nothing is changed on both.
async fn refusal(given: Given) -> String {
    let fixture = create(given).await;
    let has_passed = |machine: &Machine| {
        machine_condition(machine, "EnsurePreflight", ConditionStatus::True).is_some()
    };
    fixture.until_machine("a-10-0-0-1", has_passed).await;
    let is_refused = |machine: &Machine| finding(machine).is_some();
    let second = fixture.until_machine(NAME, is_refused).await;
    assert_unchanged(&fixture);
    fixture.close().await;
    finding(&second).unwrap_or_default()
}

/// No script has run on a machine, no file was copied, and it was asked for nothing but facts.
fn assert_unchanged(fixture: &Fixture) {
    assert_eq!(fixture.machines.hooks(), []);
    for address in [FIRST, SECOND] {
        assert_eq!(fixture.machines.files(address), [].into());
        let queries = fixture.machines.queries(address);
        let others: Vec<&String> = queries
            .iter()
            .filter(|query| !query.contains(FACTS))
            .collect();
        assert_eq!(others, [""; 0], "{address}");
    }
}

#[track_caller]
fn assert_finds(refusal: &str, finding: &str) {
    let expected = format!("the machine cannot be a node: {finding}");
    assert!(refusal.contains(&expected), "{refusal}");
}

#[tokio::test]
async fn another_architecture() {
    let refusal = refusal(Given {
        facts: |facts| "arm64".clone_into(&mut facts.architecture),
        ..Given::default()
    });
    let finding =
        "Architecture: the provider folder has Kubernetes 1.36.4 for amd64, not for arm64";
    assert_finds(&refusal.await, finding);
}

#[tokio::test]
async fn too_little_memory_and_disk_space_at_once() {
    let refusal = refusal(Given {
        facts: |facts| facts.memory_bytes = GIB,
        host: &["free-kib 1048576"],
        ..Given::default()
    });
    let finding = "Mem: has 1024 MiB of memory, needs 1700 MiB; \
        Disk: has 1024 MiB of free disk space for images, needs 3072 MiB";
    assert_finds(&refusal.await, finding);
}

#[tokio::test]
async fn a_port_that_is_in_use() {
    let refusal = refusal(Given {
        host: &["port 192B"],
        ..Given::default()
    });
    assert_finds(&refusal.await, "Port-6443: port 6443 is in use");
}

#[tokio::test]
async fn a_clock_that_is_off() {
    let refusal = refusal(Given {
        host: &["time 1000000000"],
        ..Given::default()
    });
    let refusal = refusal.await;
    assert_finds(&refusal, "Clock: the clock is ");
    assert!(
        refusal.contains("behind that of the controller"),
        "{refusal}"
    );
}

#[tokio::test]
async fn swap() {
    let refusal = refusal(Given {
        host: &["swap-kib 1048576"],
        ..Given::default()
    });
    assert_finds(&refusal.await, "Swap: swap is on; run swapoff -a");
}

#[tokio::test]
async fn a_node_of_another_cluster() {
    for host in [&["kubernetes yes"], &["cluster another-uid"]] {
        let refusal = refusal(Given {
            host,
            ..Given::default()
        });
        assert_finds(&refusal.await, "Cluster: already belongs to a cluster");
    }
}

#[tokio::test]
async fn a_range_of_addresses_that_collides_with_the_network_of_the_machine() {
    let refusal = refusal(Given {
        host: &["route 10.244.8.0/24"],
        ..Given::default()
    });
    let finding =
        "ClusterCIDR: spec.clusterCIDR 10.244.0.0/16 collides with 10.244.8.0/24 of the machine";
    assert_finds(&refusal.await, finding);
}

/// All machines of a role lack the same files.
async fn refusals_of_files(folder: fn(&Path)) -> [String; 2] {
    let fixture = create(Given {
        folder,
        ..Given::default()
    })
    .await;
    let mut refusals = Vec::new();
    for name in ["a-10-0-0-1", NAME] {
        let is_refused = |machine: &Machine| finding(machine).is_some();
        let machine = fixture.until_machine(name, is_refused).await;
        refusals.push(finding(&machine).unwrap_or_default());
    }
    assert_unchanged(&fixture);
    fixture.close().await;
    refusals.try_into().unwrap()
}

#[tokio::test]
async fn files_that_the_provider_folder_lacks() {
    let refusals = refusals_of_files(|folder| {
        write_folder(folder);
        let release = folder.join(RELEASE);
        for path in ["bin/kubelet", "images/etcd.tar"] {
            fs_err::remove_file(release.join(path)).unwrap();
        }
        write_index(folder);
        // This one is listed.
        fs_err::remove_file(release.join("images/pause.tar")).unwrap();
    });
    for refusal in refusals.await {
        assert_finds(
            &refusal,
            "Provider: the provider folder has no program kubelet; \
             Image-etcd: the provider folder has no image etcd; Provider: ",
        );
        assert!(refusal.contains("images/pause.tar"), "{refusal}");
    }
}

#[tokio::test]
async fn files_of_the_provider_folder_with_other_digests() {
    let refusals = refusals_of_files(|folder| {
        write_folder(folder);
        for path in ["bin/kubeadm", "images/etcd.tar"] {
            fs_err::write(folder.join(RELEASE).join(path), "changed").unwrap();
        }
    });
    for refusal in refusals.await {
        for path in ["bin/kubeadm", "images/etcd.tar"] {
            let finding = format!("Provider: {RELEASE}/{path} in ");
            assert!(refusal.contains(&finding), "{refusal}");
        }
        assert!(
            refusal.contains("run `outrigger provider check`"),
            "{refusal}"
        );
    }
}

/// What is found about machines that have something in common: by the machine that is checked later, or by the comparison of all.
async fn duplicate(given: Given) -> String {
    let fixture = create(given).await;
    let refused = fixture.until("a", |cluster| {
        let status = cluster.status.clone().unwrap_or_default();
        status.message.contains("Ensure")
    });
    let cluster = refused.await;
    assert_unchanged(&fixture);
    fixture.close().await;
    let compared = condition(&cluster, "EnsureClusterComplete").map(|it| it.message);
    format!(
        "{} {}",
        cluster.status.unwrap_or_default().message,
        compared.unwrap_or_default()
    )
}

#[tokio::test]
async fn two_machines_with_one_host_name() {
    let found = duplicate(Given {
        facts: |facts| "M1".clone_into(&mut facts.hostname),
        ..Given::default()
    });
    let found = found.await;
    assert!(found.contains("Hostname: "), "{found}");
    assert!(
        found.contains("has the host name m1, as a-10-0-0-"),
        "{found}"
    );
}

#[tokio::test]
async fn two_machines_with_one_machine_id() {
    let found = duplicate(Given {
        machine_id: "1",
        ..Given::default()
    });
    let found = found.await;
    assert!(
        found.contains("has the machine id 1, as a-10-0-0-"),
        "{found}"
    );
}

#[tokio::test]
async fn two_machines_with_one_product_uuid() {
    let found = duplicate(Given {
        host: &["product-uuid UUID-1"],
        ..Given::default()
    });
    let found = found.await;
    let expected = "has the product uuid uuid-1, as a-10-0-0-";
    assert!(found.contains(expected), "{found}");
}

#[tokio::test]
async fn a_kubelet_that_is_too_old_for_the_new_version() {
    let fixture = Fixture::with_provider(|folder| {
        let release =
            |version| format!("{{architecture: amd64, kubernetes: {version}, files: []}}");
        let releases = ["1.36.4", "1.37.0"].map(release).join(", ");
        let index = format!("name: test\nreleases: [{releases}]\n");
        fs_err::write(folder.join("provider.yaml"), index).unwrap();
    })
    .await;
    let mut stand_in = cluster();
    stand_in["spec"]["provider"] = json!("stand-in");
    fixture.create_exactly(stand_in).await;
    let uid = fixture.until_running("a").await.metadata.uid.unwrap();
    let machines = &fixture.machines;
    machines.answer(FACTS, &host_facts(&[&format!("cluster {uid}")]));
    machines.answer("nodeInfo.kubeletVersion", "True v1.36.4");
    machines.answer(
        "ADDRESS=10.0.0.2\n# Prints whether the node",
        "True v1.33.9",
    );
    let spec = json!({"provider": "baremetal", "version": "1.37.0"});
    fixture.patch("a", json!({"spec": spec})).await;
    let skew = |machine: &Machine| {
        let failed = machine_condition(machine, "EnsureUpgradePreflight", ConditionStatus::False);
        failed.map(|it| it.message)
    };
    let second = fixture.until_machine(NAME, |it| skew(it).is_some()).await;
    let first = fixture
        .until_machine("a-10-0-0-1", |it| skew(it).is_some())
        .await;
    let message =
        "VersionSkew: kubelet has version 1.33.9, more than 3 minor versions before 1.37.0";
    assert_finds(&skew(&second).unwrap(), message);
    assert!(!skew(&first).unwrap().contains("VersionSkew"));
    assert_eq!(fixture.machines.hooks(), []);
    fixture.close().await;
}
