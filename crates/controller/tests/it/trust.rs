//! What must not happen whatever plugins, charts and foreign servers contain.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use outrigger_api::condition::ConditionStatus;
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::Harness;

async fn create_secret(harness: &Harness, name: &str, key: &str, text: &str) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {key: text},
    });
    let secret = serde_json::from_value(secret).unwrap();
    let secrets = harness.objects("v1", "Secret");
    secrets.create(&Default::default(), &secret).await.unwrap();
}

/// Checks that neither the plugin nor its events contain a text.
async fn check_never_reported(harness: &Harness, name: &str, text: &str) {
    let plugin = serde_json::to_string(&harness.get(name).await).unwrap();
    assert!(!plugin.contains(text), "{plugin}");
    let events = format!("{:?}", harness.events(name).await);
    assert!(!events.contains(text), "{events}");
}

#[tokio::test]
async fn a_template_that_fails_with_a_value_of_a_secret_does_not_report_it() {
    let harness = Harness::new().await;
    create_secret(
        &harness,
        "auth",
        "values.yaml",
        "password: hunter2\npin: 4711",
    )
    .await;
    let cases = [
        (
            "fails",
            "{{ fail (printf \"bad password %s, %v\" .Values.password .Values.pin) }}",
        ),
        ("encodes", "{{ fail (.Values.password | b64enc) }}"),
        (
            "quotes",
            "{{ atoi .Values.password | required \"x\" }}{{ fail (quote .Values.password) }}",
        ),
        (
            "invalid",
            "kind: ConfigMap\nmetadata: {name: x}\n{{ .Values.password }}: [\n",
        ),
    ];
    for (name, template) in cases {
        charts::write(
            harness.charts.path(),
            name,
            "1.0.0",
            &[("a.yaml", template)],
        );
        let from = json!([{"kind": "Secret", "name": "auth"}]);
        harness
            .create(name, name, json!({"valuesFrom": from, "retries": 0}))
            .await;
        harness.until_reason(name, "RenderFailed").await;
        for text in ["hunter2", "aHVudGVyMg", "4711"] {
            check_never_reported(&harness, name, text).await;
        }
    }
    harness.close().await;
}

#[tokio::test]
async fn notes_and_refused_objects_do_not_report_values_of_secrets() {
    let harness = Harness::new().await;
    create_secret(&harness, "auth", "values.yaml", "password: hunter2").await;
    let from = json!([{"kind": "Secret", "name": "auth"}]);
    let files = [
        ("a.yaml", charts::CONFIG_MAP),
        ("NOTES.txt", "the password is {{ .Values.password }}"),
    ];
    charts::write(harness.charts.path(), "notes", "1.0.0", &files);
    harness
        .create("notes", "notes", json!({"valuesFrom": from}))
        .await;
    let plugin = harness.until_ready("notes").await;
    let notes = plugin.status.unwrap().notes.unwrap();
    assert_eq!(notes.trim(), "the password is [redacted]");

    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {type: {{ .Values.password }}, ports: [{port: 1}]}\n";
    charts::write(
        harness.charts.path(),
        "refused",
        "1.0.0",
        &[("a.yaml", service)],
    );
    harness
        .create(
            "refused",
            "refused",
            json!({"valuesFrom": from, "retries": 0}),
        )
        .await;
    harness.until_reason("refused", "ApplyFailed").await;
    check_never_reported(&harness, "refused", "hunter2").await;
    harness.close().await;
}

/// A server that answers each request with a status and a body. Returns its address.
fn start_server(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_of_foreign_servers_are_never_reported() {
    let harness = Harness::new().await;
    let cases = [
        ("text", "403 Forbidden", "root:hunter2"),
        (
            "json",
            "404 Not Found",
            r#"{"message": "hunter2", "code": 404}"#,
        ),
        ("string", "200 OK", r#""hunter2""#),
        (
            "shape",
            "200 OK",
            r#"{"gitVersion": {"a": "hunter2"}, "major": ["hunter2"]}"#,
        ),
        ("error", "500 Internal Server Error", "hunter2"),
    ];
    for (name, status, body) in cases {
        let address = start_server(status, body);
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {{server: 'http://{address}'}}}}]\n\
             contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a}}]\ncurrent-context: a\n"
        );
        create_secret(&harness, name, "kubeconfig", &kubeconfig).await;
        let spec = json!({"cluster": {"secretName": name}, "retries": 0});
        harness.create(name, "config", spec).await;
        let plugin = harness
            .until(name, |plugin| {
                let ready = plugin.condition("Ready");
                ready.is_some_and(|ready| {
                    ready.status == ConditionStatus::False
                        && ready.message.contains("API resources")
                })
            })
            .await;
        println!("{name}: {}", plugin.condition("Ready").unwrap().message);
        check_never_reported(&harness, name, "hunter2").await;
    }
    harness.close().await;
}

/// A server whose responses do not end. Returns its address.
fn start_endless_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"a\": \"";
                let mut sent = stream.write_all(head.as_bytes());
                let chunk = vec![b'x'; 64 << 10];
                while sent.is_ok() {
                    sent = stream.write_all(&chunk);
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_server_that_answers_without_end_fails_its_plugin_only() {
    let harness = Harness::new().await;
    let address = start_endless_server();
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {{server: 'http://{address}'}}}}]\n\
         contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a}}]\ncurrent-context: a\n"
    );
    create_secret(&harness, "endless", "kubeconfig", &kubeconfig).await;
    let spec = json!({"cluster": {"secretName": "endless"}});
    harness.create("endless", "config", spec).await;
    harness.create("web", "config", json!({})).await;
    harness.until_ready("web").await;
    let is_reported = |plugin: &outrigger_api::plugin::Plugin| {
        let ready = plugin.condition("Ready");
        ready.is_some_and(|ready| ready.message.contains("more than 64 MiB"))
    };
    harness.until("endless", is_reported).await;
    harness.close().await;
}

#[tokio::test]
async fn images_that_would_get_one_name_are_refused_and_those_in_config_maps_reported() {
    let harness =
        Harness::with(|options| options.image_registry = Some("reg.local:5000".to_owned())).await;
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Release.Name }}}\nspec:\n  containers:\n  - {name: a, image: quay.io/org/x:1}\n  - {name: b, image: '{{ .Values.other }}'}\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {config: 'sidecar: ghcr.io/org/side:2'}\n";
    charts::write(
        harness.charts.path(),
        "pods",
        "1.0.0",
        &[("pod.yaml", pod), ("map.yaml", map)],
    );
    harness
        .create(
            "clash",
            "pods",
            json!({"values": {"other": "gcr.io/org/x:1"}, "retries": 0}),
        )
        .await;
    let message = harness.until_reason("clash", "RenderFailed").await;
    for name in [
        "quay.io/org/x:1",
        "gcr.io/org/x:1",
        "reg.local:5000/org/x:1",
    ] {
        assert!(message.contains(name), "{message}");
    }
    harness
        .create(
            "fine",
            "pods",
            json!({"values": {"other": "gcr.io/org/y:1"}}),
        )
        .await;
    let note = harness.until_event("fine", "InstallWarnings").await;
    assert!(
        note.contains("ghcr.io/org/side:2") && note.contains("data.config"),
        "{note}"
    );
    harness.close().await;
}
