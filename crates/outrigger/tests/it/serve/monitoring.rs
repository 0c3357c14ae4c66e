//! Probes, metrics and logs.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::PostParams;
use kube::{Api, Client, Config};
use serde_json::{Value, json};

use super::controller::{Cluster, TIMEOUT};

/// The status code and the body of a response.
fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let code = response.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    (code, body.to_owned())
}

/// The metrics, once they have a line with each of the beginnings. They follow the status of a plugin, they do not precede it.
#[track_caller]
fn metrics_with(address: &str, beginnings: &[&str]) -> String {
    let start = Instant::now();
    loop {
        let (code, page) = get(address, "/metrics");
        assert_eq!(code, 200);
        let missing = |beginning: &&&str| !page.lines().any(|line| line.starts_with(**beginning));
        let Some(missing) = beginnings.iter().find(missing) else {
            return page;
        };
        assert!(start.elapsed() < TIMEOUT, "{missing}\n{page}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_and_metrics_describe_the_controller_without_secrets() {
    let cluster = Cluster::start().await;
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {"name": "values"}, "stringData": {"values.yaml": "password: hunter2"},
    }))
    .unwrap();
    let secrets: Api<Secret> = Api::default_namespaced(cluster.client.clone());
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    let addresses = [
        "--health-address",
        "127.0.0.1:0",
        "--metrics-address",
        "127.0.0.1:0",
    ];
    let controller = cluster.serve(&addresses);
    let (probes, metrics) = (controller.address("probes"), controller.address("metrics"));

    cluster.create_manifests("web").await;
    let from = json!([{"kind": "Secret", "name": "values"}]);
    cluster
        .create(
            "gone",
            json!({"repo": "https://127.0.0.1:9/charts", "valuesFrom": from}),
        )
        .await;
    cluster.until_ready("web").await;
    cluster.until("gone", "Fetched", "SourceNotAllowed").await;
    controller.line(|line| line.contains("plugin reconciled plugin=\"default/web\" phase=Ready"));

    assert_eq!(get(&probes, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get(&probes, "/readyz").0, 200);
    assert_eq!(get(&probes, "/metrics").0, 404);
    assert_eq!(get(&metrics, "/other").0, 404);
    let page = metrics_with(
        &metrics,
        &[
            "outrigger_leader 1",
            "outrigger_plugins{phase=\"Ready\"} 1",
            "outrigger_plugins{phase=\"Failed\"} 1",
            "outrigger_workqueue_depth 0",
            "outrigger_fetch_total{result=\"failure\"}",
            "outrigger_api_requests_total{method=\"WATCH\",code=\"200\"}",
            "outrigger_reconcile_duration_seconds_bucket{le=\"+Inf\"}",
        ],
    );
    assert!(!page.contains("hunter2"), "{page}");
    assert!(!controller.lines().concat().contains("hunter2"));
    drop(controller);
    cluster.close().await;
}

/// A client for the metrics at an address, with a token.
fn metrics_client(address: &str, token: Option<&str>) -> Client {
    let port = address.rsplit(':').next().unwrap();
    let mut config = Config::new(format!("https://127.0.0.1:{port}").parse().unwrap());
    config.accept_invalid_certs = true;
    config.auth_info.token = token.map(|token| token.to_owned().into());
    Client::try_from(config).unwrap()
}

async fn metrics_status(address: &str, token: Option<&str>) -> u16 {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    match metrics_client(address, token).request_text(request).await {
        Ok(page) => {
            assert!(page.contains("outrigger_build_info"), "{page}");
            200
        }
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_outside_of_loopback_need_a_token_that_may_get_them() {
    let cluster = Cluster::start().await;
    let accounts: Api<ServiceAccount> = Api::default_namespaced(cluster.client.clone());
    let account = serde_json::from_value(json!({"metadata": {"name": "prometheus"}})).unwrap();
    accounts
        .create(&PostParams::default(), &account)
        .await
        .unwrap();
    let request = serde_json::from_value(json!({"spec": {"audiences": []}})).unwrap();
    let token = accounts
        .create_token_request("prometheus", &PostParams::default(), &request)
        .await
        .unwrap();
    let token = token.status.unwrap().token.unwrap();
    let controller = cluster.serve(&["--metrics-address", "0.0.0.0:0"]);
    let address = controller.address("metrics");
    assert_eq!(metrics_status(&address, None).await, 401);
    assert_eq!(metrics_status(&address, Some("guess")).await, 401);
    assert_eq!(metrics_status(&address, Some(&token)).await, 403);
    drop(controller);

    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": {"name": "metrics"}, "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
    }))
    .unwrap();
    let roles: Api<ClusterRole> = Api::all(cluster.client.clone());
    roles.create(&PostParams::default(), &role).await.unwrap();
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "metrics"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "metrics"},
        "subjects": [{"kind": "ServiceAccount", "name": "prometheus", "namespace": "default"}],
    }))
    .unwrap();
    let bindings: Api<ClusterRoleBinding> = Api::all(cluster.client.clone());
    bindings
        .create(&PostParams::default(), &binding)
        .await
        .unwrap();
    // Decisions are cached, so another process is asked.
    let controller = cluster.serve(&["--metrics-address", "0.0.0.0:0"]);
    let address = controller.address("metrics");
    assert_eq!(metrics_status(&address, Some(&token)).await, 200);
    drop(controller);
    cluster.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_are_json_on_request_including_the_error_that_ends_it() {
    let cluster = Cluster::start().await;
    let mut controller = cluster.serve(&["--log-format", "json"]);
    cluster.create_manifests("web").await;
    controller.line(|line| line.contains("plugin reconciled"));
    controller.terminate();
    for line in controller.lines() {
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert!(
            line["time"].is_string() && line["level"].is_string(),
            "{line}"
        );
    }
    let reconciled = controller.line(|line| line.contains("plugin reconciled"));
    let reconciled: Value = serde_json::from_str(&reconciled).unwrap();
    assert_eq!(reconciled["plugin"], "default/web");
    assert_eq!(reconciled["message"], "plugin reconciled");

    let text = cluster
        .context
        .run(["serve", "--kubeconfig", "missing", "--log-format", "json"])
        .unwrap();
    assert!(text.starts_with("exit code: 1"), "{text}");
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["level"], "ERROR");
    cluster.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_is_in_use_is_a_failure() {
    let cluster = Cluster::start().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut controller = cluster.spawn(&["--health-address", &address]);
    assert_eq!(controller.wait().code(), Some(1));
    controller.line(|line| line.contains(&format!("failed to listen on {address}")));
    cluster.close().await;
}
