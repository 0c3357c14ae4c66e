//! What repositories have, told in their status: looked at when they change, and again from time to time.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::repository::{ChartVersions, Repository, RepositoryStatus};
use outrigger_repository::Index;
use serde_json::json;

use crate::Options;
use crate::backoff::Backoff;
use crate::conditions::{self, READY, Saying};
use crate::sources::{Error, Sources};
use crate::status::{MANAGER, difference};
use crate::trouble;
use crate::watches::{Watch, spawn};

/// So many charts, and so many versions of each, are named in a status.
const MOST_CHARTS: usize = 500;
const MOST_VERSIONS: usize = 5;

/// How often a repository that does not answer is asked again.
const AWAY: Backoff = Backoff {
    first: Duration::from_secs(1),
    longest: Duration::from_mins(5),
};

/// Follows all repositories, each in a task of its own: a slow one holds up no other.
pub(crate) async fn run(sources: Sources, options: Options) {
    let api: Api<Repository> = Api::all(sources.client.clone());
    let mut events = std::pin::pin!(watcher(api, Config::default()));
    let mut followed: HashMap<String, (Option<i64>, Watch)> = HashMap::new();
    let mut listed: Vec<String> = Vec::new();
    let mut failures = 0;
    while let Some(event) = events.next().await {
        failures = if event.is_ok() { 0 } else { failures + 1 };
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitDone) => followed.retain(|name, _| listed.contains(name)),
            Ok(Event::Apply(repository) | Event::InitApply(repository)) => {
                let name = repository.name_any();
                listed.push(name.clone());
                let generation = repository.metadata.generation;
                if followed
                    .get(&name)
                    .is_some_and(|(known, _)| *known == generation)
                {
                    continue;
                }
                let task = follow(sources.clone(), options.clone(), repository);
                followed.insert(name, (generation, spawn(task)));
            }
            Ok(Event::Delete(repository)) => {
                followed.remove(&repository.name_any());
            }
            Err(_) => tokio::time::sleep(AWAY.pause(failures)).await,
        }
    }
}

/// Looks at one repository again and again.
async fn follow(sources: Sources, options: Options, repository: Repository) {
    let mut saved = repository.status.clone();
    let mut failures = 0;
    loop {
        let found = look(&sources, &repository).await;
        failures = if found.is_ok() { 0 } else { failures + 1 };
        let before = saved.clone().unwrap_or_default();
        let wanted = status(before, repository.metadata.generation, &found, options.now);
        match write(&sources.client, &repository, saved.as_ref(), &wanted).await {
            Ok(()) => saved = Some(wanted),
            Err(error) => tracing::info!(%error, "the status of a repository was not saved"),
        }
        let pause = match failures {
            0 => options.resync,
            failures => AWAY.pause(failures),
        };
        tokio::time::sleep(pause).await;
    }
}

/// What was found: the charts, and the digest of their list.
type Found = (std::sync::Arc<Index>, String);

async fn look(sources: &Sources, repository: &Repository) -> Result<Found, Error> {
    let access = sources.access(repository).await?;
    let index = sources.fetcher.index(&repository.spec.url, &access).await;
    Ok(index?)
}

/// The next status. What was found before stays if nothing can be found now.
fn status(
    mut status: RepositoryStatus,
    generation: Option<i64>,
    found: &Result<Found, Error>,
    now: fn() -> jiff::Timestamp,
) -> RepositoryStatus {
    status.observed_generation = generation;
    let saying = match found {
        Ok((index, digest)) => {
            status.chart_count = u32::try_from(index.charts.len()).unwrap_or(u32::MAX);
            status.charts = charts(index);
            status.index_digest = Some(digest.clone());
            let message = match index.charts.len() {
                1 => "1 chart".to_owned(),
                count => format!("{count} charts"),
            };
            Saying::yes(READY, "Read", message)
        }
        Err(error) => {
            let message = trouble::with_hint(trouble::chain(error), error.hint());
            Saying::no(READY, error.reason(), message)
        }
    };
    conditions::set(&mut status.conditions, saying, generation, now());
    status
}

fn charts(index: &Index) -> Vec<ChartVersions> {
    let charts = index.charts.iter().take(MOST_CHARTS);
    charts
        .map(|(name, entries)| ChartVersions {
            name: name.clone(),
            versions: entries
                .iter()
                .take(MOST_VERSIONS)
                .map(|entry| entry.version.clone())
                .collect(),
        })
        .collect()
}

/// Writes what changed; nothing if nothing did.
async fn write(
    client: &Client,
    repository: &Repository,
    saved: Option<&RepositoryStatus>,
    wanted: &RepositoryStatus,
) -> Result<(), kube::Error> {
    let value = |status: &RepositoryStatus| serde_json::to_value(status).unwrap_or_default();
    let before = saved.map_or_else(|| json!({}), value);
    let Some(change) = difference(&before, &value(wanted)) else {
        return Ok(());
    };
    let api: Api<Repository> = Api::all(client.clone());
    let parameters = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let (name, patch) = (repository.name_any(), json!({"status": change}));
    let patch = Patch::Merge(&patch);
    api.patch_status(&name, &parameters, &patch).await?;
    Ok(())
}
