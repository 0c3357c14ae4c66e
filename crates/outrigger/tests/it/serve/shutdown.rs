//! SIGTERM ends the controller within a second, whatever it is doing, and the next one resumes.

use std::net::TcpListener;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use super::controller::{Cluster, Controller};

/// The limit of the shutdown.
const LIMIT: Duration = Duration::from_secs(1);

/// A hook that takes seconds.
const HOOK: &str = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: pre-install, outrigger.dev/simulate: slow=5}
spec:
  template:
    metadata: {annotations: {outrigger.dev/simulate: slow=5}}
    spec: {restartPolicy: Never, containers: [{name: c, image: example.com/a:1}]}
";

#[track_caller]
fn check_shutdown(controller: &mut Controller) {
    let (status, elapsed) = controller.terminate();
    assert_eq!(status.code(), Some(0), "{:#?}", controller.lines());
    assert!(elapsed < LIMIT, "{elapsed:?}: {:#?}", controller.lines());
}

/// Many plugins that do the worst: charts that never end, repositories that never answer, and hooks that run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_plugins_delay_neither_the_shutdown_nor_the_release_of_the_lease() {
    const PLUGINS: usize = 20;
    let cluster = Cluster::start().await;
    let folder = cluster.context.directory().join("charts");
    let endless = "{{ range until 1000000 }}{{ $_ := genCA \"x\" 1 }}{{ end }}";
    charts::write(&folder, "endless", "1.0.0", &[("a.yaml", endless)]);
    charts::write(&folder, "hooked", "1.0.0", &[("hook.yaml", HOOK)]);
    let charts = folder.display().to_string();
    let mut controller = cluster.serve(&["--allow-local-addresses", "--allow-files", &charts]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_repo = format!("http://{}/charts", silent.local_addr().unwrap());
    let repo = format!("file://{charts}");
    for number in 0..PLUGINS {
        for (kind, spec) in [
            ("hooked", json!({"repo": repo, "chart": "hooked"})),
            ("silent", json!({"repo": silent_repo})),
            ("endless", json!({"repo": repo, "chart": "endless"})),
        ] {
            cluster.create(&format!("{kind}-{number}"), spec).await;
        }
    }
    let connection = tokio::task::spawn_blocking(move || (silent.accept(), silent));
    let _connection = connection.await.unwrap();
    cluster.until_exists::<Job>("migrate").await;
    cluster.until("endless-0", "Fetched", "Fetched").await;
    check_shutdown(&mut controller);
    let leases: kube::Api<Lease> = kube::Api::default_namespaced(cluster.client.clone());
    let lease = leases.get("outrigger-controller").await.unwrap();
    let holder = lease.spec.unwrap().holder_identity;
    assert_eq!(holder, None, "{:#?}", controller.lines());
    cluster.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_repository_does_not_delay_the_shutdown() {
    let cluster = Cluster::start().await;
    let mut controller = cluster.serve(&["--allow-local-addresses"]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let repo = format!("http://{}/charts", silent.local_addr().unwrap());
    for number in 0..20 {
        cluster
            .create(&format!("silent-{number}"), json!({"repo": repo}))
            .await;
    }
    // The connection of the first fetch.
    let connection = tokio::task::spawn_blocking(move || (silent.accept(), silent));
    let _connection = connection.await.unwrap();
    check_shutdown(&mut controller);
    cluster.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_runs_is_left_to_the_next_controller() {
    let cluster = Cluster::start().await;
    let folder = cluster.context.directory().join("charts");
    charts::write(
        &folder,
        "hooked",
        "1.0.0",
        &[("hook.yaml", HOOK), ("config.yaml", charts::CONFIG_MAP)],
    );
    let charts = folder.display().to_string();
    let mut controller = cluster.serve(&["--allow-files", &charts]);
    let repo = format!("file://{charts}");
    cluster.create("hooked", json!({"repo": repo})).await;
    cluster.until_exists::<Job>("migrate").await;
    check_shutdown(&mut controller);
    let _next = cluster.serve(&["--allow-files", &charts]);
    cluster.until_ready("hooked").await;
    cluster.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_template_does_not_delay_the_shutdown() {
    const SLOW: &str = "\
{{- range until 100000 }}{{ $_ := genCA \"x\" 1 }}{{ end }}
apiVersion: v1
kind: ConfigMap
metadata: {name: slow}
";
    let cluster = Cluster::start().await;
    let folder = cluster.context.directory().join("charts");
    charts::write(&folder, "slow", "1.0.0", &[("slow.yaml", SLOW)]);
    let charts = folder.display().to_string();
    let mut controller = cluster.serve(&["--allow-files", &charts]);
    cluster
        .create("slow", json!({"repo": format!("file://{charts}")}))
        .await;
    // A phase that lasts is written after a second.
    cluster.until("slow", "Fetched", "Fetched").await;
    check_shutdown(&mut controller);
    cluster.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_server_that_does_not_answer_does_not_delay_the_shutdown() {
    let cluster = Cluster::start().await;
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {{server: 'http://{}'}}}}]\n\
         contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a}}]\ncurrent-context: a\n",
        silent.local_addr().unwrap()
    );
    cluster.context.write("kubeconfig", kubeconfig).unwrap();
    let mut controller = cluster.spawn(&[]);
    let accepted = tokio::task::spawn_blocking(move || (silent.accept(), silent));
    let _connection = accepted.await.unwrap();
    check_shutdown(&mut controller);
    cluster.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_controller_takes_over_at_once_when_the_first_is_stopped() {
    let cluster = Cluster::start().await;
    let mut first = cluster.serve(&[]);
    first.line(|line| line.contains("acquired leadership"));
    let second = cluster.serve(&[]);
    cluster.create_manifests("web").await;
    cluster.until_ready("web").await;
    assert!(!second.lines().concat().contains("acquired leadership"));
    check_shutdown(&mut first);
    second.line(|line| line.contains("acquired leadership"));
    cluster.create_manifests("next").await;
    cluster.until_ready("next").await;
    cluster.close().await;
}
