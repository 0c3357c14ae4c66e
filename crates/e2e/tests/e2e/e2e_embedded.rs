//! The embedded API server without a socket, under kube's own client and controller runtime.

use std::time::Duration;

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams};
use kube::runtime::watcher::{self, Event, InitialListStrategy};
use kube::{Api, Client, Discovery};
use outrigger_apiserver::server::{Options, Server};

use crate::boats;

const WITHIN: Duration = Duration::from_secs(30);

#[tokio::test]
async fn custom_resources_are_defined_applied_and_watched() -> anyhow::Result<()> {
    let server = Server::open(Options::in_memory()).await?;
    boats::sail(Client::new(server.service(), "default")).await?;
    server.close().await;
    Ok(())
}

#[tokio::test]
async fn a_watcher_sees_every_object_once_in_pages_and_as_a_stream() -> anyhow::Result<()> {
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
            let event = tokio::time::timeout(WITHIN, events.try_next()).await??;
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
async fn discovery_finds_the_kinds_both_ways() -> anyhow::Result<()> {
    let server = Server::open(Options::in_memory()).await?;
    let client = Client::new(server.service(), "default");
    for discovery in [
        Discovery::new(client.clone()).run().await?,
        Discovery::new(client.clone()).run_aggregated().await?,
    ] {
        let apps = discovery.get("apps").context("there is a group apps")?;
        let kinds = apps.recommended_resources();
        assert!(kinds.iter().any(|(kind, _)| kind.kind == "Deployment"));
    }
    server.close().await;
    Ok(())
}
