//! Bundles of machines that answer and of others that do not, with a password and a token that must not be in them.

use std::io::Read as _;

use kube::Api;
use kube::api::PostParams;
use outrigger_apiserver::server::{Options, Server};
use outrigger_node::Secret;
use outrigger_node::stand_in;
use serde_json::json;

use super::*;

const PASSWORD: &str = "planted-password";

/// An SSH server on a free port, which runs commands on this machine.
async fn machine() -> (u16, tokio::task::JoinHandle<()>) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let server = stand_in::Server::bind(address, &[7; 32], Secret::new(PASSWORD));
    let server = server.await.unwrap();
    let task = tokio::spawn(async move {
        server.serve().await;
    });
    (address.port(), task)
}

/// An API server with a cluster and two machines at these ports.
async fn connection(ports: [u16; 2]) -> (Server, Connection) {
    let server = Server::open(Options::in_memory()).await.unwrap();
    let client = kube::Client::new(server.service(), "default");
    let definitions = Api::all(client.clone());
    let parameters = PostParams::default();
    for definition in outrigger_api::definitions() {
        definitions.create(&parameters, &definition).await.unwrap();
    }
    let password = serde_json::to_value(outrigger_api::RedactedBytes::new(PASSWORD)).unwrap();
    let access = |port: u16| json!({"ip": "127.0.0.1", "port": port, "password": password});
    let cluster = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster",
        "metadata": {"name": "a", "annotations": {"note": format!("the token: {PASSWORD}")}},
        "spec": {"version": "1.0.0", "machines": [access(ports[0])]},
    });
    let clusters: Api<Cluster> = Api::all(client.clone());
    let cluster = serde_json::from_value(cluster).unwrap();
    clusters.create(&parameters, &cluster).await.unwrap();
    let machines: Api<Machine> = Api::all(client.clone());
    for (name, port) in ["m1", "m2"].into_iter().zip(ports) {
        let mut spec = access(port);
        spec["cluster"] = json!("a");
        let machine = Machine::new(name, serde_json::from_value(spec).unwrap());
        machines.create(&parameters, &machine).await.unwrap();
    }
    let connection = Connection {
        client,
        namespace: "default".to_owned(),
    };
    (server, connection)
}

fn files(bytes: &[u8]) -> Vec<(String, String)> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (path, text)
    });
    entries.collect()
}

#[tokio::test]
async fn a_bundle_has_what_machines_answer_without_secrets_and_says_which_do_not() {
    let (port, task) = machine().await;
    // Nobody listens on a port below that of servers.
    let (_server, connection) = connection([port, 1]).await;
    let cluster = edit::get(&connection, "a").await.unwrap();
    let machines = machines(&connection, "a").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar.gz");
    let partial = PartialFile::create(&path).unwrap();
    let bundle = Bundle {
        connection: &connection,
        cluster: &cluster,
        machines: &machines,
        timeout: Duration::from_secs(30),
    };
    assert_eq!(bundle.write(&partial.file).await.unwrap(), 1);
    partial.keep().unwrap();
    task.abort();
    let files = files(&fs_err::read(&path).unwrap());
    let file = |path: &str| {
        let found = files.iter().find(|(name, _)| name == path);
        &found.unwrap_or_else(|| panic!("no {path}")).1
    };
    assert!(file("a/machines/m1/facts.txt").contains("Linux"));
    assert!(file("a/machines/m2/machine.json").contains("127.0.0.1"));
    let summary = file("a/summary.txt");
    assert!(summary.contains("m1: 8 files\n"), "{summary}");
    assert!(
        summary.contains("m2: 0 files; did not answer: "),
        "{summary}"
    );
    assert!(file("a/cluster.json").contains("the token: [redacted]"));
    let encoded = "cGxhbnRlZC1wYXNzd29yZA";
    for (path, text) in &files {
        let is_leaked = text.contains(PASSWORD) || text.contains(encoded);
        assert!(!is_leaked, "{path}: {text}");
    }
}

#[tokio::test]
async fn a_machine_that_takes_too_long_does_not_hold_up_the_bundle() {
    let (port, task) = machine().await;
    let (_server, connection) = connection([port, 1]).await;
    let machines = machines(&connection, "a").await.unwrap();
    let ssh = Ssh::default();
    let slow = vec![
        ("slow.txt", "echo begun; sleep 600"),
        ("next.txt", "echo never"),
    ];
    let limit = Duration::from_secs(2);
    let collected = collect(&connection.client, &ssh, &machines[0], slow, limit).await;
    task.abort();
    let [(file, text)] = &collected.answers[..] else {
        panic!("{collected:?}");
    };
    assert!(
        *file == "slow.txt" && text.contains("did not end"),
        "{text}"
    );
    let failure = collected.failure.unwrap();
    assert_eq!(failure, "not all files within 2s");
}
