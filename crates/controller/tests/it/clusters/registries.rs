//! Mirrors of registries: machines get them with each change of the spec, with the credentials of a Secret.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use outrigger_api::RedactedBytes;
use outrigger_api::annotation::RETRY;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use serde_json::{Value, json};

use super::fixture::Fixture;

/// What the script on each machine was given, by machine, in order: folder, hosts.toml, CA certificate.
fn given(fixture: &Fixture) -> Vec<(String, Vec<[String; 3]>)> {
    let runs = fixture.machines.runs().into_iter();
    let runs = runs.filter(|run| run.hook == "EnsureRegistryHosts");
    let mut given: Vec<(String, Vec<[String; 3]>)> = runs
        .map(|run| {
            let (_, rest) = run.context.split_once("\nMIRRORS=").unwrap();
            let value = rest.split("\nCLUSTER=").next().unwrap().trim_matches('\'');
            let lines = value.lines().map(|line| {
                let mut words = line.split(' ').map(decoded);
                [(); 3].map(|()| words.next().unwrap_or_default())
            });
            (run.address, lines.collect())
        })
        .collect();
    given.sort();
    given
}

/// The text, if it is base64.
fn decoded(word: &str) -> String {
    let bytes: Result<RedactedBytes, _> = serde_json::from_value(json!(word));
    let text = bytes.map(|it| String::from_utf8_lossy(it.expose()).into_owned());
    text.unwrap_or_else(|_| word.to_owned())
}

async fn set(fixture: &Fixture, mirrors: Value) {
    let spec = json!({"spec": {"registryMirrors": mirrors}});
    fixture.patch("a", spec).await;
}

async fn until_configured(fixture: &Fixture, count: usize) -> Cluster {
    fixture
        .until("a", |cluster| {
            let status = cluster.status.clone().unwrap_or_default();
            status.phase == ClusterPhase::Running
                && status.observed_generation == cluster.metadata.generation
                && given(fixture).len() == count
        })
        .await
}

#[tokio::test]
async fn a_change_reaches_all_machines_once_and_so_does_the_removal() {
    let fixture = Fixture::baremetal().await;
    let mirror = |url: &str| json!([{"registry": "registry.k8s.io", "url": url}]);
    set(&fixture, mirror("https://one.example.com")).await;
    until_configured(&fixture, 2).await;
    set(&fixture, mirror("https://two.example.com")).await;
    until_configured(&fixture, 4).await;
    let hosts: Vec<String> = given(&fixture)
        .into_iter()
        .map(|(address, lines)| format!("{address} {}", lines[0][1].lines().next().unwrap()))
        .collect();
    let expected = ["10.0.0.1", "10.0.0.2"].map(|address| {
        ["one", "two"].map(|name| format!("{address}:22 [host.\"https://{name}.example.com\"]"))
    });
    assert_eq!(hosts, expected.concat());
    set(&fixture, json!([])).await;
    until_configured(&fixture, 6).await;
    let removed = given(&fixture)
        .into_iter()
        .filter(|(_, lines)| lines.is_empty());
    assert_eq!(removed.count(), 2);
    // Another change repeats nothing.
    fixture
        .patch("a", json!({"spec": {"displayName": "A"}}))
        .await;
    until_configured(&fixture, 6).await;
    fixture.close().await;
}

#[tokio::test]
async fn credentials_are_those_of_a_secret_which_is_waited_for() {
    let fixture = Fixture::baremetal().await;
    let mirrors = json!([{
        "registry": "*", "url": "https://registry.example.com",
        "caCertificate": "-----BEGIN CERTIFICATE-----",
        "secretRef": {"name": "site", "namespace": "default"},
    }]);
    set(&fixture, mirrors).await;
    let is_named = |cluster: &Cluster| {
        let status = cluster.status.clone().unwrap_or_default();
        status
            .message
            .contains("Secret default/site does not exist")
    };
    fixture.until("a", is_named).await;
    assert_eq!(given(&fixture), []);
    let secret = json!({
        "metadata": {"name": "site"}, "stringData": {"username": "user", "password": "secret"},
    });
    let secret: Secret = serde_json::from_value(secret).unwrap();
    let secrets: Api<Secret> = Api::namespaced(fixture.harness.client.clone(), "default");
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    let retry = json!({"metadata": {"annotations": {RETRY: "now"}}});
    fixture.patch("a", retry).await;
    until_configured(&fixture, 2).await;
    for (address, lines) in given(&fixture) {
        let [folder, hosts, certificate] = &lines[0];
        assert_eq!(folder, "_default", "{address}");
        assert!(hosts.contains("Basic dXNlcjpzZWNyZXQ="), "{hosts}");
        assert_eq!(certificate, "-----BEGIN CERTIFICATE-----");
    }
    let status = serde_json::to_string(&fixture.get("a").await.status).unwrap();
    assert!(!status.contains("dXNlcjpzZWNyZXQ="), "{status}");
    fixture.close().await;
}
