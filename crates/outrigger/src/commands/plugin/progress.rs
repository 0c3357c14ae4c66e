//! Waits until objects meet a condition, and prints their progress on a terminal.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, Resource};
use outrigger_api::duration;
use serde::de::DeserializeOwned;

use super::wait_condition::WaitStatus;
use crate::printable;
use crate::report::{HintExt as _, hinted, note};

/// The flags of verbs that can wait for the controller.
#[derive(Debug, clap::Args)]
pub(crate) struct WaitFlags {
    /// Wait until the change is complete
    #[arg(long)]
    pub(crate) wait: bool,
    /// Maximum time to wait
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_timeout)]
    pub(crate) timeout: Duration,
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

/// Namespace and name of an object. The namespace of an object without one is empty.
pub(crate) type Key = (String, String);

pub(crate) fn key(object: &impl Resource) -> Key {
    let metadata = object.meta();
    (
        metadata.namespace.clone().unwrap_or_default(),
        metadata.name.clone().unwrap_or_default(),
    )
}

fn full_name((namespace, name): &Key) -> String {
    match namespace.as_str() {
        "" => name.clone(),
        namespace => format!("{namespace}/{name}"),
    }
}

/// A kind of objects that commands wait for.
pub(crate) trait Awaited:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static
{
    type Condition;
    /// What an object is called in messages.
    const NOUN: &'static str;

    /// Whether an object meets a condition; `None` is one that does not exist.
    fn evaluate(object: Option<&Self>, condition: &Self::Condition) -> WaitStatus;

    /// The state of an object.
    fn describe(&self) -> String;

    /// The objects to watch.
    fn api(client: &Client, keys: &[Key]) -> Api<Self>;

    /// The command that prints an object.
    fn show_command(key: &Key) -> String;

    /// What to do about an object that has failed.
    fn failure_hint(&self) -> Option<String> {
        None
    }
}

/// The state of an object in one line.
pub(crate) fn phase_and_message(phase: impl Debug, message: &str) -> String {
    match printable::joined(message).as_str() {
        "" => format!("{phase:?}"),
        message => format!("{phase:?}: {message}"),
    }
}

/// Waits until all objects meet the condition, or one of them fails. Returns the objects; `None` are those that do not exist.
pub(crate) async fn wait<K: Awaited>(
    client: &Client,
    keys: &[Key],
    condition: &K::Condition,
    timeout: Duration,
) -> anyhow::Result<BTreeMap<Key, Option<K>>> {
    wait_until(client, keys, condition, Deadline::after(timeout)).await
}

/// The end of the time to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    timeout: Duration,
    begun: Instant,
}

impl Deadline {
    pub(crate) fn after(timeout: Duration) -> Self {
        let begun = Instant::now();
        Self { timeout, begun }
    }
}

/// Like [`wait`], with a deadline that several calls share.
pub(crate) async fn wait_until<K: Awaited>(
    client: &Client,
    keys: &[Key],
    condition: &K::Condition,
    Deadline { timeout, begun }: Deadline,
) -> anyhow::Result<BTreeMap<Key, Option<K>>> {
    let mut pending: BTreeMap<Key, String> = BTreeMap::new();
    let watch = watch::<K>(client, keys, condition, &mut pending);
    let remaining = timeout.saturating_sub(begun.elapsed());
    if let Ok(result) = tokio::time::timeout(remaining, watch).await {
        return result;
    }
    let states = pending
        .iter()
        .map(|(key, state)| format!("{} is {state}", full_name(key)));
    let states = states.collect::<Vec<_>>().join("; ");
    let command = pending.keys().next().map(K::show_command);
    let command = command.unwrap_or_default();
    let hint = format!("{command} shows details; --timeout extends the time");
    Err(anyhow!("timed out after {timeout:?}: {states}")).hint(hint)
}

async fn watch<K: Awaited>(
    client: &Client,
    keys: &[Key],
    condition: &K::Condition,
    pending: &mut BTreeMap<Key, String>,
) -> anyhow::Result<BTreeMap<Key, Option<K>>> {
    let mut objects: BTreeMap<Key, Option<K>> =
        keys.iter().map(|key| (key.clone(), None)).collect();
    pending.extend(
        keys.iter()
            .map(|key| (key.clone(), "not created yet".to_owned())),
    );
    let mut events = watcher(K::api(client, keys), Config::default()).boxed();
    let mut is_listed = false;
    let mut unreachable_since: BTreeMap<Key, Instant> = BTreeMap::new();
    while !pending.is_empty() {
        let event = tokio::time::timeout(CHECK_INTERVAL, events.try_next()).await;
        check_unreachable::<K>(&unreachable_since, pending)?;
        let Ok(event) = event else { continue };
        let event = event.with_context(|| format!("failed to watch {}s", K::NOUN))?;
        match event.with_context(|| format!("the watch of {}s ended", K::NOUN))? {
            // Those that were deleted while the watch was interrupted are not in the new list.
            Event::Init => {
                is_listed = false;
                for object in objects.values_mut() {
                    *object = None;
                }
            }
            Event::InitApply(object) | Event::Apply(object) => {
                if let Some(observed) = objects.get_mut(&key(&object)) {
                    *observed = Some(object);
                }
            }
            Event::Delete(object) => {
                if let Some(observed) = objects.get_mut(&key(&object)) {
                    *observed = None;
                }
            }
            Event::InitDone => is_listed = true,
        }
        if is_listed {
            update_pending(&objects, condition, pending, &mut unreachable_since)?;
        }
    }
    Ok(objects)
}

fn update_pending<K: Awaited>(
    objects: &BTreeMap<Key, Option<K>>,
    condition: &K::Condition,
    pending: &mut BTreeMap<Key, String>,
    unreachable_since: &mut BTreeMap<Key, Instant>,
) -> anyhow::Result<()> {
    for (key, object) in objects {
        let Some(state) = pending.get_mut(key) else {
            continue;
        };
        let name = full_name(key);
        let status = K::evaluate(object.as_ref(), condition);
        if matches!(status, WaitStatus::Unreachable(_)) {
            let since = unreachable_since.entry(key.clone());
            since.or_insert_with(Instant::now);
        } else {
            unreachable_since.remove(key);
        }
        match status {
            WaitStatus::Met => {
                let state = object.as_ref();
                let state = state.map_or_else(|| "deleted".to_owned(), K::describe);
                print_progress(&name, &state);
                pending.remove(key);
            }
            WaitStatus::Pending(reason) | WaitStatus::Unreachable(reason) => {
                if *state != reason {
                    print_progress(&name, &reason);
                    *state = reason;
                }
            }
            WaitStatus::Failed(reason) => {
                let error = anyhow!("{} {name} is {reason}", K::NOUN);
                return Err(hinted(error, object.as_ref().and_then(K::failure_hint)));
            }
        }
    }
    Ok(())
}

/// Fails if a repository or a cluster has not responded for long.
fn check_unreachable<K: Awaited>(
    since: &BTreeMap<Key, Instant>,
    pending: &BTreeMap<Key, String>,
) -> anyhow::Result<()> {
    let mut overdue = since.iter();
    let overdue = overdue.find(|(_, since)| since.elapsed() >= UNREACHABLE_TIMEOUT);
    let Some((key, _)) = overdue else {
        return Ok(());
    };
    let state = pending.get(key).map_or("", String::as_str);
    let name = full_name(key);
    Err(anyhow!("{} {name} is {state}", K::NOUN))
        .hint("the controller retries; repeat the command when the server responds again")
}

/// Prints only to terminals, so that the logs of scripts stay short.
fn print_progress(name: &str, state: &str) {
    if std::io::stderr().is_terminal() {
        note(&format!("{name}: {state}"));
    }
}
