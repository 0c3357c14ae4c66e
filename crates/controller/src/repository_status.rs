//! Reports the charts of each Repository in its status: when the Repository changes, and at every resync. What someone
//! else writes to the status is replaced.

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
use tokio::sync::watch;

use crate::Options;
use crate::backoff::Backoff;
use crate::conditions::{self, ConditionUpdate, READY};
use crate::error::{error_chain, with_hint};
use crate::sources::{Error, Sources};
use crate::status::{FIELD_MANAGER, merge_patch, patch_params};
use crate::task::{AbortOnDrop, spawn};
use crate::watch_event::parse_resource_version;

/// Limits of what a status lists.
const MAX_CHARTS: usize = 500;
const MAX_VERSIONS: usize = 5;

const BACKOFF: Backoff = Backoff {
    initial: Duration::from_secs(1),
    max: Duration::from_mins(5),
};

/// The generation of a repository, and the refresh that was requested last.
type Version = (Option<i64>, Option<String>);

/// The task of a repository, and where it gets the repository from.
struct Task {
    version: Version,
    repository: watch::Sender<Repository>,
    _running: AbortOnDrop,
}

/// Runs one task per repository, so that a slow one does not delay the others.
pub(crate) async fn run(sources: Sources, options: Options) {
    let api: Api<Repository> = Api::all(sources.client.clone());
    let mut events = std::pin::pin!(watcher(api, Config::default()));
    let mut tasks: HashMap<String, Task> = HashMap::new();
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
                let version = (repository.metadata.generation, refresh_request);
                if let Some(task) = tasks.get(&name).filter(|task| task.version == version) {
                    task.repository.send_replace(repository);
                    continue;
                }
                if version.1.is_some() {
                    sources.fetcher.refresh();
                }
                let (sender, changes) = watch::channel(repository);
                let refreshing = refresh(sources.clone(), options.clone(), changes);
                let task = Task {
                    version,
                    repository: sender,
                    _running: spawn(refreshing),
                };
                tasks.insert(name, task);
            }
            Ok(Event::Delete(repository)) => {
                tasks.remove(&repository.name_any());
            }
            Err(_) => tokio::time::sleep(BACKOFF.delay(failures)).await,
        }
    }
}

/// Refreshes the status of one repository periodically.
async fn refresh(sources: Sources, options: Options, changes: watch::Receiver<Repository>) {
    let mut reporter = Reporter::new(sources.client.clone(), changes);
    let mut failures = 0;
    loop {
        let repository = reporter.repository.clone();
        let mut fetch = Box::pin(fetch_index(&sources, &repository));
        let early = tokio::time::timeout(options.status_delay, &mut fetch).await;
        let fetched = if let Ok(fetched) = early {
            fetched
        } else {
            let before = reporter.reported.clone();
            let next = waiting_status(&repository, before, options.now);
            // If this fails, the next status will be written instead.
            let _ = reporter.report(next).await;
            fetch.await
        };
        let before = reporter.reported.clone().unwrap_or_default();
        let mut next = next_status(before, &repository, &fetched, options.now);
        next.refresh_handled = repository.annotations().get(REFRESH).cloned();
        let written = reporter.report(next).await;
        let has_failed = fetched.is_err() || written.is_err();
        failures = if has_failed { failures + 1 } else { 0 };
        let delay = match failures {
            0 => options.resync_period,
            failures => BACKOFF.delay(failures),
        };
        // A status that cannot be restored is written after the next fetch.
        if tokio::time::timeout(delay, reporter.keep_status())
            .await
            .is_ok()
        {
            tokio::time::sleep(BACKOFF.delay(1)).await;
        }
    }
}

/// Writes the status of one repository.
struct Reporter {
    client: Client,
    changes: watch::Receiver<Repository>,
    /// The repository on the server, as far as known.
    repository: Repository,
    /// The status that it should have.
    reported: Option<RepositoryStatus>,
}

impl Reporter {
    fn new(client: Client, mut changes: watch::Receiver<Repository>) -> Self {
        let repository = changes.borrow_and_update().clone();
        Self {
            client,
            reported: repository.status.clone(),
            repository,
            changes,
        }
    }

    async fn report(&mut self, status: RepositoryStatus) -> Result<(), kube::Error> {
        self.reported = Some(status);
        self.write().await
    }

    /// Writes the status if it differs from the one on the server.
    async fn write(&mut self) -> Result<(), kube::Error> {
        self.observe();
        let value = |status: &RepositoryStatus| serde_json::to_value(status).unwrap_or_default();
        let value = |status: Option<&RepositoryStatus>| status.map_or_else(|| json!({}), value);
        let before = value(self.repository.status.as_ref());
        let Some(change) = merge_patch(&before, &value(self.reported.as_ref())) else {
            return Ok(());
        };
        let api: Api<Repository> = Api::all(self.client.clone());
        let parameters = patch_params(FIELD_MANAGER);
        let (name, patch) = (self.repository.name_any(), json!({"status": change}));
        let written = api
            .patch_status(&name, &parameters, &Patch::Merge(&patch))
            .await;
        match written {
            Ok(repository) => {
                self.repository = repository;
                Ok(())
            }
            Err(error) => {
                tracing::info!(%error, "failed to write repository status");
                Err(error)
            }
        }
    }

    /// Takes over what the watch reports, unless it is older than what was written.
    fn observe(&mut self) {
        let version = |repository: &Repository| {
            parse_resource_version(repository.metadata.resource_version.as_deref())
        };
        let observed = self.changes.borrow_and_update();
        if version(&observed) > version(&self.repository) {
            self.repository = observed.clone();
        }
    }

    /// Replaces what someone else writes to the status. Returns when that fails.
    async fn keep_status(&mut self) {
        while self.changes.changed().await.is_ok() {
            if self.write().await.is_err() {
                return;
            }
        }
    }
}

/// An index and its digest.
type FetchedIndex = (std::sync::Arc<Index>, String);

async fn fetch_index(sources: &Sources, repository: &Repository) -> Result<FetchedIndex, Error> {
    let access = sources.access(repository).await?;
    let index = sources.fetcher.index(&repository.spec.url, &access).await;
    index.map_err(|error| Error::of_repository(&sources.fetcher, repository, error))
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
            // The status is that of the Repository, so its name is known.
            let cause: &(dyn std::error::Error + 'static) = match error.fetch_error() {
                Some(cause) => cause,
                None => error,
            };
            let message = with_hint(error_chain(cause), error.hint());
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
