//! The real API server that other tests stand on: it starts, knows custom resources, applies and watches.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client};
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use outrigger_testing::peers;
use serde_json::json;

const WITHIN: Duration = Duration::from_secs(30);

#[tokio::test]
async fn custom_resources_are_defined_applied_and_watched() -> anyhow::Result<()> {
    let kubernetes = RealKubernetes::start(Options::default()).await?;
    let client = kubernetes.client();
    let version = client.apiserver_version().await?.git_version;
    println!("kube-apiserver {version}");
    assert_eq!(version, format!("v{}", peers::KUBERNETES));

    define_boats(&client).await?;
    let boats = ApiResource::from_gvk(&GroupVersionKind::gvk("test.outrigger.dev", "v1", "Boat"));
    let boats: Api<DynamicObject> = Api::namespaced_with(client, "default", &boats);
    let mut events = boats.watch(&WatchParams::default(), "0").await?.boxed();

    let apply = |sails: u8| {
        let boat = json!({
            "apiVersion": "test.outrigger.dev/v1", "kind": "Boat",
            "metadata": {"name": "proa"}, "spec": {"sails": sails},
        });
        let boats = boats.clone();
        async move {
            boats
                .patch("proa", &PatchParams::apply("e2e"), &Patch::Apply(boat))
                .await
        }
    };
    apply(1).await?;
    let changed = apply(2).await?;
    assert_eq!(changed.metadata.generation, Some(2));

    let mut seen = Vec::new();
    while seen.len() < 2 {
        let event = tokio::time::timeout(WITHIN, events.try_next()).await??;
        match event.context("the watch ended")? {
            WatchEvent::Added(boat) | WatchEvent::Modified(boat) => {
                seen.push(boat.data["spec"]["sails"].clone());
            }
            WatchEvent::Bookmark(_) => {}
            other => bail!("unexpected event {other:?}"),
        }
    }
    assert_eq!(seen, [json!(1), json!(2)]);
    Ok(())
}

/// Defines the kind and waits until the server says that it serves it.
async fn define_boats(client: &Client) -> anyhow::Result<()> {
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": "boats.test.outrigger.dev"},
        "spec": {
            "group": "test.outrigger.dev", "scope": "Namespaced",
            "names": {"plural": "boats", "singular": "boat", "kind": "Boat"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"sails": {"type": "integer"}}}},
            }}}],
        },
    }))?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions
        .create(&PostParams::default(), &definition)
        .await?;
    let established = conditions::is_crd_established();
    tokio::time::timeout(
        WITHIN,
        await_condition(definitions, "boats.test.outrigger.dev", established),
    )
    .await??;
    Ok(())
}

/// Set in the process that owns a server and waits to be killed.
const OWNER: &str = "OUTRIGGER_E2E_OWNER";

#[tokio::test]
async fn a_killed_owner_leaves_no_server_and_no_folder() -> anyhow::Result<()> {
    if std::env::var_os(OWNER).is_some() {
        let options = Options {
            controller_manager: false,
            ..Options::default()
        };
        let kubernetes = RealKubernetes::start(options).await?;
        println!("folder={}", kubernetes.folder().display());
        return std::future::pending().await;
    }
    let mut owner = owner()?;
    let stdout = owner.stdout.take().context("stdout is piped")?;
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let folder = lines.find_map(|line| {
        line.split_once("folder=")
            .map(|(_, folder)| PathBuf::from(folder))
    });
    let folder = folder.context("the owner ended before its server was ready")?;
    assert!(folder.exists());

    owner.kill()?;
    owner.wait()?;
    let gone = async {
        while folder.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(WITHIN, gone).await?;
    Ok(())
}

/// This very test, in a process of its own.
#[expect(
    clippy::disallowed_methods,
    reason = "the test needs a process that it can kill"
)]
fn owner() -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        "--exact",
        "--nocapture",
        "e2e_kubernetes::a_killed_owner_leaves_no_server_and_no_folder",
    ]);
    Ok(command
        .env(OWNER, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?)
}
