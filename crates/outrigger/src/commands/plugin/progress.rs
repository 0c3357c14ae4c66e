//! Waits for plugins and tells on a terminal how they are getting on.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client};
use outrigger_api::duration;
use outrigger_api::plugin::Plugin;

use super::verdict::{Goal, Verdict, describe, judge};
use crate::report::{HintExt as _, note};

/// The flags of verbs that can wait.
#[derive(Debug, clap::Args)]
pub(crate) struct WaitFlags {
    /// Wait until it is done and healthy
    #[arg(long)]
    pub(super) wait: bool,
    /// How long to wait
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_time)]
    pub(super) timeout: Duration,
}

pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    duration::parse(text).ok_or_else(|| "write it like 90s or 5m".to_owned())
}

/// A plugin by namespace and name.
pub(super) type Key = (String, String);

pub(super) fn key(plugin: &Plugin) -> Key {
    (plugin.namespace().to_owned(), plugin.name().to_owned())
}

/// Waits until all of them are there. The first that fails ends it.
pub(super) async fn wait(
    client: &Client,
    keys: &[Key],
    goal: Goal,
    timeout: Duration,
) -> anyhow::Result<()> {
    let mut waiting: BTreeMap<Key, String> = BTreeMap::new();
    let watched = watch(client, keys, goal, &mut waiting);
    if let Ok(result) = tokio::time::timeout(timeout, watched).await {
        return result;
    }
    let left = waiting.iter();
    let left = left.map(|((namespace, name), state)| format!("{namespace}/{name} is {state}"));
    let left = left.collect::<Vec<_>>().join("; ");
    Err(anyhow!("not done after {timeout:?}: {left}"))
        .hint("outrigger plugin show NAME tells more; --timeout gives it longer")
}

async fn watch(
    client: &Client,
    keys: &[Key],
    goal: Goal,
    waiting: &mut BTreeMap<Key, String>,
) -> anyhow::Result<()> {
    let mut known: BTreeMap<Key, Option<Plugin>> =
        keys.iter().map(|key| (key.clone(), None)).collect();
    waiting.extend(
        keys.iter()
            .map(|key| (key.clone(), "not there yet".to_owned())),
    );
    let mut events = watcher(scope(client, keys), Config::default()).boxed();
    let mut listed = false;
    while !waiting.is_empty() {
        let event = events.try_next().await.context("the cluster went away")?;
        match event.context("the cluster went away")? {
            Event::Init => {}
            Event::InitApply(plugin) | Event::Apply(plugin) => {
                if let Some(slot) = known.get_mut(&key(&plugin)) {
                    *slot = Some(plugin);
                }
            }
            Event::Delete(plugin) => {
                if let Some(slot) = known.get_mut(&key(&plugin)) {
                    *slot = None;
                }
            }
            Event::InitDone => listed = true,
        }
        if listed {
            look(&known, goal, waiting)?;
        }
    }
    Ok(())
}

/// Watches one namespace if all are in it.
fn scope(client: &Client, keys: &[Key]) -> Api<Plugin> {
    match keys {
        [(first, _), rest @ ..] if rest.iter().all(|(namespace, _)| namespace == first) => {
            Api::namespaced(client.clone(), first)
        }
        _ => Api::all(client.clone()),
    }
}

fn look(
    known: &BTreeMap<Key, Option<Plugin>>,
    goal: Goal,
    waiting: &mut BTreeMap<Key, String>,
) -> anyhow::Result<()> {
    for (key, plugin) in known {
        let Some(state) = waiting.get_mut(key) else {
            continue;
        };
        let name = format!("{}/{}", key.0, key.1);
        match judge(plugin.as_ref(), goal) {
            Verdict::Reached => {
                tell(
                    &name,
                    &plugin.as_ref().map_or_else(|| "gone".to_owned(), describe),
                );
                waiting.remove(key);
            }
            Verdict::Waiting(reason) => {
                if *state != reason {
                    tell(&name, &reason);
                    *state = reason;
                }
            }
            Verdict::Failed(reason) => bail!("plugin {name} is {reason}"),
        }
    }
    Ok(())
}

/// Talk for those who watch; scripts see the end alone.
fn tell(name: &str, state: &str) {
    if std::io::stderr().is_terminal() {
        note(&format!("{name}: {state}"));
    }
}
