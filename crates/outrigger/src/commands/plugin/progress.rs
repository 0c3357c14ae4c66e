//! Waits until plugins meet a condition, and prints their progress on a terminal.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client};
use outrigger_api::duration;
use outrigger_api::plugin::Plugin;

use super::wait_condition::{WaitCondition, WaitStatus, describe, evaluate};
use crate::report::{HintExt as _, note};

/// The flags of verbs that can wait for the controller.
#[derive(Debug, clap::Args)]
pub(crate) struct WaitFlags {
    /// Wait until the change is complete
    #[arg(long)]
    pub(super) wait: bool,
    /// Maximum time to wait
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_timeout)]
    pub(super) timeout: Duration,
}

#[derive(Debug, thiserror::Error)]
#[error("expected a duration such as 90s or 5m")]
pub(super) struct InvalidTimeout;

pub(super) fn parse_timeout(text: &str) -> Result<Duration, InvalidTimeout> {
    duration::parse(text).ok_or(InvalidTimeout)
}

/// Namespace and name of a plugin.
pub(super) type Key = (String, String);

pub(super) fn key(plugin: &Plugin) -> Key {
    (plugin.namespace().to_owned(), plugin.name().to_owned())
}

/// Waits until all plugins meet the condition, or one of them fails.
pub(super) async fn wait(
    client: &Client,
    keys: &[Key],
    condition: WaitCondition,
    timeout: Duration,
) -> anyhow::Result<()> {
    let mut pending: BTreeMap<Key, String> = BTreeMap::new();
    let watch = watch(client, keys, condition, &mut pending);
    if let Ok(result) = tokio::time::timeout(timeout, watch).await {
        return result;
    }
    let states = pending
        .iter()
        .map(|((namespace, name), state)| format!("{namespace}/{name} is {state}"));
    let states = states.collect::<Vec<_>>().join("; ");
    Err(anyhow!("timed out after {timeout:?}: {states}"))
        .hint("outrigger plugin show NAME shows details; --timeout extends the time")
}

async fn watch(
    client: &Client,
    keys: &[Key],
    condition: WaitCondition,
    pending: &mut BTreeMap<Key, String>,
) -> anyhow::Result<()> {
    let mut plugins: BTreeMap<Key, Option<Plugin>> =
        keys.iter().map(|key| (key.clone(), None)).collect();
    pending.extend(
        keys.iter()
            .map(|key| (key.clone(), "not created yet".to_owned())),
    );
    let mut events = watcher(scope(client, keys), Config::default()).boxed();
    let mut is_listed = false;
    while !pending.is_empty() {
        let event = events.try_next().await.context("failed to watch plugins")?;
        match event.context("the watch of plugins ended")? {
            Event::Init => {}
            Event::InitApply(plugin) | Event::Apply(plugin) => {
                if let Some(observed) = plugins.get_mut(&key(&plugin)) {
                    *observed = Some(plugin);
                }
            }
            Event::Delete(plugin) => {
                if let Some(observed) = plugins.get_mut(&key(&plugin)) {
                    *observed = None;
                }
            }
            Event::InitDone => is_listed = true,
        }
        if is_listed {
            update_pending(&plugins, condition, pending)?;
        }
    }
    Ok(())
}

/// One namespace if all plugins are in it, else all namespaces.
fn scope(client: &Client, keys: &[Key]) -> Api<Plugin> {
    match keys {
        [(first, _), rest @ ..] if rest.iter().all(|(namespace, _)| namespace == first) => {
            Api::namespaced(client.clone(), first)
        }
        _ => Api::all(client.clone()),
    }
}

fn update_pending(
    plugins: &BTreeMap<Key, Option<Plugin>>,
    condition: WaitCondition,
    pending: &mut BTreeMap<Key, String>,
) -> anyhow::Result<()> {
    for (key, plugin) in plugins {
        let Some(state) = pending.get_mut(key) else {
            continue;
        };
        let name = format!("{}/{}", key.0, key.1);
        match evaluate(plugin.as_ref(), condition) {
            WaitStatus::Met => {
                let state = plugin.as_ref();
                let state = state.map_or_else(|| "deleted".to_owned(), describe);
                print_progress(&name, &state);
                pending.remove(key);
            }
            WaitStatus::Pending(reason) => {
                if *state != reason {
                    print_progress(&name, &reason);
                    *state = reason;
                }
            }
            WaitStatus::Failed(reason) => bail!("plugin {name} is {reason}"),
        }
    }
    Ok(())
}

/// Prints only to terminals, so that the logs of scripts stay short.
fn print_progress(name: &str, state: &str) {
    if std::io::stderr().is_terminal() {
        note(&format!("{name}: {state}"));
    }
}
