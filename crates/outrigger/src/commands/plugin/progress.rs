//! Waits until plugins meet a condition, and prints their progress on a terminal.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

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
pub(crate) struct InvalidTimeout;

pub(crate) fn parse_timeout(text: &str) -> Result<Duration, InvalidTimeout> {
    duration::parse(text).ok_or(InvalidTimeout)
}

/// How long a plugin may wait for a server that does not respond before a command gives up.
const UNREACHABLE_TIMEOUT: Duration = Duration::from_secs(10);

/// How often that is checked while nothing happens.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

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
    let first = pending.keys().next();
    let (namespace, name) = first.map_or(("", ""), |(namespace, name)| (namespace, name));
    let hint = format!(
        "outrigger plugin show {name} -n {namespace} shows details; --timeout extends the time"
    );
    Err(anyhow!("timed out after {timeout:?}: {states}")).hint(hint)
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
    let mut unreachable_since: BTreeMap<Key, Instant> = BTreeMap::new();
    while !pending.is_empty() {
        let event = tokio::time::timeout(CHECK_INTERVAL, events.try_next()).await;
        check_unreachable(&unreachable_since, pending)?;
        let Ok(event) = event else { continue };
        let event = event.context("failed to watch plugins")?;
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
            update_pending(&plugins, condition, pending, &mut unreachable_since)?;
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
    unreachable_since: &mut BTreeMap<Key, Instant>,
) -> anyhow::Result<()> {
    for (key, plugin) in plugins {
        let Some(state) = pending.get_mut(key) else {
            continue;
        };
        let name = format!("{}/{}", key.0, key.1);
        let status = evaluate(plugin.as_ref(), condition);
        if matches!(status, WaitStatus::Unreachable(_)) {
            let since = unreachable_since.entry(key.clone());
            since.or_insert_with(Instant::now);
        } else {
            unreachable_since.remove(key);
        }
        match status {
            WaitStatus::Met => {
                let state = plugin.as_ref();
                let state = state.map_or_else(|| "deleted".to_owned(), describe);
                print_progress(&name, &state);
                pending.remove(key);
            }
            WaitStatus::Pending(reason) | WaitStatus::Unreachable(reason) => {
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

/// Fails if a repository or a cluster has not responded for long.
fn check_unreachable(
    since: &BTreeMap<Key, Instant>,
    pending: &BTreeMap<Key, String>,
) -> anyhow::Result<()> {
    let mut overdue = since.iter();
    let overdue = overdue.find(|(_, since)| since.elapsed() >= UNREACHABLE_TIMEOUT);
    let Some((key, _)) = overdue else {
        return Ok(());
    };
    let state = pending.get(key).map_or("", String::as_str);
    let (namespace, name) = key;
    Err(anyhow!("plugin {namespace}/{name} is {state}"))
        .hint("the controller retries; repeat the command when the server responds again")
}

/// Prints only to terminals, so that the logs of scripts stay short.
fn print_progress(name: &str, state: &str) {
    if std::io::stderr().is_terminal() {
        note(&format!("{name}: {state}"));
    }
}
