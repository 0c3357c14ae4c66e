//! The embedded API server in process, with the client and the controller runtime of kube.

use std::time::Duration;

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams};
use kube::runtime::watcher::{self, Event, InitialListStrategy};
use kube::{Api, Client, Discovery};
use outrigger_apiserver::server::{Options, Server};

use crate::custom_resources;

const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn serves_custom_resources() -> anyhow::Result<()> {
    let server = Server::open(Options::in_memory()).await?;
    custom_resources::check(Client::new(server.service(), "default")).await?;
    server.close().await;
    Ok(())
}

#[tokio::test]
async fn a_watcher_lists_every_object_once_in_pages_and_as_a_stream() -> anyhow::Result<()> {
    let server = Server::open(Options::in_memory()).await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(server.service(), "default"));
    for number in 0..25 {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(format!("map-{number}"));
        maps.create(&PostParams::default(), &map).await?;
    }
    let before = maps.list(&ListParams::default()).await?.items.len();
    for strategy in [
        InitialListStrategy::ListWatch,
        InitialListStrategy::StreamingList,
    ] {
        let config = watcher::Config {
            initial_list_strategy: strategy,
            page_size: Some(10),
            ..watcher::Config::default()
        };
        let mut events = watcher::watcher(maps.clone(), config).boxed();
        let mut seen = 0;
        loop {
            let event = tokio::time::timeout(TIMEOUT, events.try_next()).await??;
            match event.context("the watcher ended")? {
                Event::InitApply(_) => seen += 1,
                Event::InitDone => break,
                _ => {}
            }
        }
        assert_eq!(seen, before);
    }
    server.close().await;
    Ok(())
}

#[tokio::test]
async fn discovery_finds_kinds_with_and_without_aggregation() -> anyhow::Result<()> {
    let server = Server::open(Options::in_memory()).await?;
    let client = Client::new(server.service(), "default");
    for discovery in [
        Discovery::new(client.clone()).run().await?,
        Discovery::new(client.clone()).run_aggregated().await?,
    ] {
        let apps = discovery
            .get("apps")
            .context("discovery has no group apps")?;
        let kinds = apps.recommended_resources();
        assert!(kinds.iter().any(|(kind, _)| kind.kind == "Deployment"));
    }
    server.close().await;
    Ok(())
}
