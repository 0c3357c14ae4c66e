//! Reports the charts of each Repository in its status: when the Repository changes, and at every resync.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::Patch;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::annotation::REFRESH;
use outrigger_api::reason::Reason;
use outrigger_api::repository::{ChartVersions, Repository, RepositoryStatus};
use outrigger_repository::Index;
use serde_json::json;

use crate::Options;
use crate::backoff::Backoff;
use crate::conditions::{self, ConditionUpdate, READY};
use crate::error::{error_chain, with_hint};
use crate::sources::{Error, Sources};
use crate::status::{FIELD_MANAGER, merge_patch, patch_params};
use crate::task::{AbortOnDrop, spawn};

/// Limits of what a status lists.
const MAX_CHARTS: usize = 500;
const MAX_VERSIONS: usize = 5;

const BACKOFF: Backoff = Backoff {
    initial: Duration::from_secs(1),
    max: Duration::from_mins(5),
};

/// The generation of a repository, and the refresh that was requested last.
type Version = (Option<i64>, Option<String>);

/// Runs one task per repository, so that a slow one does not delay the others.
pub(crate) async fn run(sources: Sources, options: Options) {
    let api: Api<Repository> = Api::all(sources.client.clone());
    let mut events = std::pin::pin!(watcher(api, Config::default()));
    let mut tasks: HashMap<String, (Version, AbortOnDrop)> = HashMap::new();
    let mut listed: Vec<String> = Vec::new();
    let mut failures = 0;
    while let Some(event) = events.next().await {
        failures = if event.is_ok() { 0 } else { failures + 1 };
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitDone) => tasks.retain(|name, _| listed.contains(name)),
            Ok(Event::Apply(repository) | Event::InitApply(repository)) => {
                let name = repository.name_any();
                listed.push(name.clone());
                // `repository update` sets the annotation.
                let refresh_request = repository.annotations().get(REFRESH).cloned();
                let generation = (repository.metadata.generation, refresh_request);
                if tasks
                    .get(&name)
                    .is_some_and(|(known, _)| *known == generation)
                {
                    continue;
                }
                if generation.1.is_some() {
                    sources.fetcher.refresh();
                }
                let task = refresh(sources.clone(), options.clone(), repository);
                tasks.insert(name, (generation, spawn(task)));
            }
            Ok(Event::Delete(repository)) => {
                tasks.remove(&repository.name_any());
            }
            Err(_) => tokio::time::sleep(BACKOFF.delay(failures)).await,
        }
    }
}

/// Refreshes the status of one repository periodically.
async fn refresh(sources: Sources, options: Options, repository: Repository) {
    let mut written = repository.status.clone();
    let mut failures = 0;
    loop {
        let mut fetch = Box::pin(fetch_index(&sources, &repository));
        let early = tokio::time::timeout(options.status_delay, &mut fetch).await;
        let fetched = if let Ok(fetched) = early {
            fetched
        } else {
            let next = waiting_status(&repository, written.clone(), options.now);
            let result = write(&sources.client, &repository, written.as_ref(), &next).await;
            if result.is_ok() {
                written = Some(next);
            }
            fetch.await
        };
        failures = if fetched.is_ok() { 0 } else { failures + 1 };
        let before = written.clone().unwrap_or_default();
        let mut next = next_status(before, &repository, &fetched, options.now);
        next.refresh_handled = repository.annotations().get(REFRESH).cloned();
        match write(&sources.client, &repository, written.as_ref(), &next).await {
            Ok(()) => written = Some(next),
            Err(error) => tracing::info!(%error, "failed to write repository status"),
        }
        let delay = match failures {
            0 => options.resync_period,
            failures => BACKOFF.delay(failures),
        };
        tokio::time::sleep(delay).await;
    }
}

/// An index and its digest.
type FetchedIndex = (std::sync::Arc<Index>, String);

async fn fetch_index(sources: &Sources, repository: &Repository) -> Result<FetchedIndex, Error> {
    let access = sources.access(repository).await?;
    let index = sources.fetcher.index(&repository.spec.url, &access).await;
    Ok(index?)
}

/// The status while the repository has not answered. One that was read before remains Ready.
fn waiting_status(
    repository: &Repository,
    before: Option<RepositoryStatus>,
    now: fn() -> jiff::Timestamp,
) -> RepositoryStatus {
    let mut status = before.unwrap_or_default();
    let generation = repository.metadata.generation;
    if !conditions::is_true(&status.conditions, READY) || status.observed_generation != generation {
        let url = outrigger_repository::redacted(&repository.spec.url);
        let message = format!("waiting for the index of {url}");
        let update = ConditionUpdate::mark_false(READY, Reason::Fetching, message);
        conditions::set(&mut status.conditions, update, generation, now());
    }
    status
}

/// The next status. If the index could not be fetched, it keeps the charts that were listed before.
fn next_status(
    mut status: RepositoryStatus,
    repository: &Repository,
    fetched: &Result<FetchedIndex, Error>,
    now: fn() -> jiff::Timestamp,
) -> RepositoryStatus {
    let generation = repository.metadata.generation;
    status.observed_generation = generation;
    let update = match fetched {
        Ok((index, digest)) => {
            status.chart_count = u32::try_from(index.charts.len()).unwrap_or(u32::MAX);
            status.charts = charts(index);
            status.index_digest = Some(digest.clone());
            let message = match index.charts.len() {
                _ if repository.spec.url.starts_with("oci://") => {
                    "the registry answers; it does not list charts".to_owned()
                }
                1 => "1 chart".to_owned(),
                count => format!("{count} charts"),
            };
            ConditionUpdate::mark_true(READY, Reason::Read, message)
        }
        Err(error) => {
            let message = with_hint(error_chain(error), error.hint());
            ConditionUpdate::mark_false(READY, error.reason(), message)
        }
    };
    conditions::set(&mut status.conditions, update, generation, now());
    status
}

fn charts(index: &Index) -> Vec<ChartVersions> {
    let charts = index.charts.iter().take(MAX_CHARTS);
    charts
        .map(|(name, entries)| ChartVersions {
            name: name.clone(),
            versions: entries
                .iter()
                .take(MAX_VERSIONS)
                .map(|entry| entry.version.clone())
                .collect(),
        })
        .collect()
}

/// Writes the status if it differs from the written one.
async fn write(
    client: &Client,
    repository: &Repository,
    written: Option<&RepositoryStatus>,
    next: &RepositoryStatus,
) -> Result<(), kube::Error> {
    let value = |status: &RepositoryStatus| serde_json::to_value(status).unwrap_or_default();
    let before = written.map_or_else(|| json!({}), value);
    let Some(change) = merge_patch(&before, &value(next)) else {
        return Ok(());
    };
    let api: Api<Repository> = Api::all(client.clone());
    let parameters = patch_params(FIELD_MANAGER);
    let (name, patch) = (repository.name_any(), json!({"status": change}));
    let patch = Patch::Merge(&patch);
    api.patch_status(&name, &parameters, &patch).await?;
    Ok(())
}
