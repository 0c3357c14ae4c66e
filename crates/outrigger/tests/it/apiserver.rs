//! `outrigger apiserver` and its commands on data folders.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use outrigger_testing::TestContext;
use outrigger_testing::peers::KUBECTL;

fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap()
}

/// A running server. It ends when it is dropped.
struct Running {
    server: Child,
}

impl Running {
    /// Starts a server and waits until it is ready.
    fn start(context: &TestContext, arguments: &[&str]) -> Self {
        let mut command = context.command(["apiserver"]);
        command.args(arguments).stdout(Stdio::piped());
        let mut server = command.stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        let mut stdout = BufReader::new(server.stdout.take().unwrap());
        stdout.read_line(&mut address).unwrap();
        assert!(address.starts_with("https://"), "{address}");
        Self { server }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_folder_without_data_is_refused_and_stays_empty() {
    let context = context();
    let folder = context.directory().join("empty");
    fs_err::create_dir(&folder).unwrap();
    for command in [
        &["apiserver", "export", "--data", "empty"][..],
        &[
            "apiserver",
            "backup",
            "--data",
            "empty",
            "--to",
            "backup.redb",
        ],
        &["registry", "check", "--data", "empty"],
        &["registry", "gc", "--data", "empty"],
    ] {
        let text = context.run(command.iter().copied()).unwrap();
        assert!(text.starts_with("exit code: 1"), "{command:?}: {text}");
        assert_eq!(fs_err::read_dir(&folder).unwrap().count(), 0, "{command:?}");
    }
    let text = context.run(["apiserver", "export", "--data", "empty"]);
    let text = text.unwrap();
    assert!(text.contains("empty contains no API server data"), "{text}");
}

#[test]
fn a_backup_is_restored_and_served() {
    let context = context();
    let running = Running::start(&context, &["--data", "data"]);
    let backup = [
        "apiserver",
        "backup",
        "--data",
        "data",
        "--to",
        "backup.redb",
    ];
    let text = context.run(backup).unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    let text = context.run(["apiserver", "export", "--data", "data"]);
    let text = text.unwrap();
    assert!(
        text.contains(
            "hint: stop the server; or back it up while it runs with `outrigger apiserver backup`"
        ),
        "{text}"
    );
    drop(running);
    let restore = ["apiserver", "restore", "backup.redb", "--data", "new"];
    let text = context.run(restore).unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    assert!(
        text.contains("credentials are not part of a backup"),
        "{text}"
    );
    let text = context.run(restore).unwrap();
    assert!(text.contains("new is not empty"), "{text}");
    Running::start(&context, &["--data", "new"]);
}

#[test]
fn the_export_of_a_new_server_has_no_objects() {
    let context = context();
    drop(Running::start(&context, &["--data", "data"]));
    let text = context.run(["apiserver", "export", "--data", "data"]);
    let text = text.unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    assert!(!text.contains("kind:"), "{text}");
    let raw = ["apiserver", "export", "--data", "data", "--raw"];
    let text = context.run(raw).unwrap();
    assert!(text.contains("kind: Namespace"), "{text}");
}

/// A claim with a volume of its own, one with a given volume, and those of a `StatefulSet`.
const VOLUMES: &str = r"
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 2Gi}
  hostPath: {path: /disk}
  storageClassName: manual
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: static, namespace: default}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
  storageClassName: manual
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: dynamic, namespace: default}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  serviceName: db
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: db}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 1Gi}}
";

/// Applies manifests to a new server with simulated workloads, waits until all is ready, and returns what is exported.
fn exported_after_apply(kubectl: &TestContext, manifests: &str) -> String {
    let context = context();
    let folder = context.directory();
    fs_err::write(folder.join("objects.yaml"), manifests).unwrap();
    let flags = [
        "--data",
        "data",
        "--kubeconfig",
        "config",
        "--simulate-workloads",
    ];
    let running = Running::start(&context, &flags);
    let run = |arguments: &[&str]| {
        let mut command = kubectl.command(["--kubeconfig", "config"]);
        let output = command
            .current_dir(folder)
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {text}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    run(&["apply", "--server-side", "-f", "objects.yaml"]);
    run(&["rollout", "status", "statefulset/db", "--timeout=60s"]);
    for claim in ["static", "dynamic", "data-db-0", "data-db-1"] {
        let claim = format!("pvc/{claim}");
        let bound = "--for=jsonpath={.status.phase}=Bound";
        run(&["wait", bound, &claim, "--timeout=60s"]);
    }
    run(&[
        "wait",
        "--for=jsonpath={.status.phase}=Bound",
        "pv",
        "--all",
        "--timeout=60s",
    ]);
    let volume = run(&["get", "pvc", "static", "-o", "jsonpath={.spec.volumeName}"]);
    assert_eq!(volume, "disk");
    drop(running);
    let text = context
        .run(["apiserver", "export", "--data", "data"])
        .unwrap();
    let (_, documents) = text.split_once("---\n").unwrap();
    format!(
        "---\n{}",
        documents.trim_end().trim_end_matches("----- stderr -----")
    )
}

#[test]
fn an_export_can_be_applied_to_a_new_server() {
    let Ok(kubectl) = KUBECTL.installed() else {
        return;
    };
    let kubectl = TestContext::new(kubectl).unwrap();
    let first = exported_after_apply(&kubectl, VOLUMES);
    for generated in [
        "pvc-",
        "data-db-0",
        "bind-completed",
        "bound-by-controller",
        "-protection",
    ] {
        assert!(!first.contains(generated), "{generated}: {first}");
    }
    assert_eq!(exported_after_apply(&kubectl, &first), first);
}
