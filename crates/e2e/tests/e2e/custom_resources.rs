//! Creates a CRD, applies an object and watches it, on any API server.

use std::time::Duration;

use anyhow::{Context as _, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client};
use serde_json::json;

const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn check(client: Client) -> anyhow::Result<()> {
    create_crd(&client).await?;
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
        let event = tokio::time::timeout(TIMEOUT, events.try_next()).await??;
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

/// Creates the CRD and waits until it is established.
async fn create_crd(client: &Client) -> anyhow::Result<()> {
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
        TIMEOUT,
        await_condition(definitions, "boats.test.outrigger.dev", established),
    )
    .await??;
    Ok(())
}
