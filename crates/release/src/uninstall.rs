//! Uninstalls a release: hooks, objects in reverse order, records. Also completes an interrupted uninstall.

use std::collections::HashMap;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use outrigger_chart::Profile;
use outrigger_chart::manifest::hook::Event;
use outrigger_chart::manifest::kind_order::{KindOrder, are_independent};
use serde::Serialize;
use serde_json::Value;

use crate::action_error::{ActionError, HookError};
use crate::cluster::{CONCURRENT_REQUESTS, Cluster, DeleteOutcome};
use crate::error::Error;
use crate::execute::{Context, apply, hooks};
use crate::history::{History, load_history};
use crate::id::{ObjectId, ObjectKey, ReleaseId};
use crate::leftovers::remaining;
use crate::observe::objects_of;
use crate::options::Options;
use crate::ownership::{Removal, keep_by_policy, removal};
use crate::progress::Sink;
use crate::record::{Record, Status};
use crate::storage;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UninstallOutcome {
    /// Whether the release had records.
    pub existed: bool,
    pub deleted: Vec<ObjectId>,
    pub kept: Vec<KeptObject>,
}

/// An object that the uninstall did not delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptObject {
    pub object: ObjectId,
    pub reason: String,
}

/// Uninstalls a release and waits until its objects are deleted. `inventory` lists further objects that may belong to the
/// release; they are deleted only if they have its ownership metadata. A release that does not exist is not an error.
pub async fn uninstall(
    cluster: &Cluster,
    id: &ReleaseId,
    inventory: &[ObjectId],
    options: &Options,
    progress: Sink<'_>,
) -> Result<UninstallOutcome, ActionError> {
    let context = Context::new(cluster, options, progress);
    let history = load_history(cluster, id).await?;
    let mut last = history.last().cloned();
    if let Some(last) = &mut last {
        begin(&context, last).await?;
    }
    let targets = find_targets(cluster, &history, inventory).await?;
    let kept = remaining(cluster, &history, &targets).await?;
    let mut outcome = delete_targets(&context, targets).await?;
    outcome.kept = kept;
    outcome.existed = !history.revisions().is_empty();
    if let Some(last) = &mut last {
        finish(&context, &history, last).await?;
    }
    delete_records(&context, &history, last).await?;
    Ok(outcome)
}

/// Runs the pre-delete hooks and sets the status to uninstalling, so that an interrupted uninstall does not run them
/// again: the objects that they need may be deleted by then.
async fn begin(context: &Context<'_>, last: &mut Record) -> Result<(), ActionError> {
    if last.info.status == Status::Uninstalling {
        return Ok(());
    }
    if context.options.run_hooks {
        hooks::run(context, last, Event::PreDelete).await?;
    }
    let now = (context.options.now)();
    last.info.status = Status::Uninstalling;
    last.info.deleted = Some(now);
    "Deletion in progress (or silently failed)".clone_into(&mut last.info.description);
    storage::update_own(context.cluster, last, now).await?;
    Ok(())
}

/// A live object of the release.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) id: ObjectId,
    pub(crate) live: Value,
    /// Why it is kept, if it is.
    pub(crate) kept: Option<String>,
}

impl Target {
    pub(crate) fn kept_object(&self) -> Option<KeptObject> {
        Some(KeptObject {
            object: self.id.clone(),
            reason: self.kept.clone()?,
        })
    }
}

/// An object that may exist.
#[derive(Debug)]
struct Candidate {
    id: ObjectId,
    is_deployed: bool,
    is_kept: bool,
}

impl Candidate {
    fn new(id: &ObjectId) -> Self {
        Self {
            id: id.clone(),
            is_deployed: false,
            is_kept: false,
        }
    }

    fn target(self, live: Value, release: &ReleaseId) -> Option<Target> {
        let removal = if self.is_kept {
            keep_by_policy()
        } else {
            removal(&live, release, self.is_deployed)
        };
        let kept = match removal {
            Removal::Delete => None,
            Removal::Keep(reason) => Some(reason),
            Removal::Ignore => return None,
        };
        let id = self.id;
        Some(Target { id, live, kept })
    }
}

/// The live objects among those in the records and in the inventory that the release owns.
pub(crate) async fn find_targets(
    cluster: &Cluster,
    history: &History,
    inventory: &[ObjectId],
) -> Result<Vec<Target>, Error> {
    let resources = cluster.api_resources().await?;
    let mut candidates: HashMap<ObjectKey, Candidate> = HashMap::new();
    for record in history.records() {
        let is_deployed = history
            .deployed()
            .is_some_and(|deployed| deployed.revision == record.revision);
        for object in objects_of(record, &resources) {
            let entry = candidates.entry(object.id().key());
            let candidate = entry.or_insert_with(|| Candidate::new(object.id()));
            candidate.is_deployed |= is_deployed;
            candidate.is_kept = object.is_kept();
        }
    }
    for id in inventory {
        let entry = candidates.entry(id.key());
        entry.or_insert_with(|| Candidate::new(id));
    }
    let release = history.id();
    let reads = stream::iter(candidates.into_values()).map(|candidate| async move {
        let live = cluster.get(&candidate.id).await?;
        Ok::<_, Error>(live.and_then(|live| candidate.target(live, release)))
    });
    let reads = reads.buffer_unordered(CONCURRENT_REQUESTS);
    let targets: Vec<Option<Target>> = reads.try_collect().await?;
    Ok(targets.into_iter().flatten().collect())
}

/// Deletes group by group of kinds, then waits until all objects are deleted.
async fn delete_targets(
    context: &Context<'_>,
    mut targets: Vec<Target>,
) -> Result<UninstallOutcome, ActionError> {
    let order = KindOrder::uninstall(Profile::Helm4);
    targets.sort_by(|a, b| {
        let by_kind = order.compare(&a.id.kind, &b.id.kind);
        by_kind.then_with(|| a.id.cmp(&b.id))
    });
    let mut outcome = UninstallOutcome::default();
    let mut errors = Vec::new();
    let mut terminating = Vec::new();
    for group in targets.chunk_by(|a, b| are_independent(&a.id.kind, &b.id.kind)) {
        // A Vec, because a closure with borrowed arguments would make the future not `Send`.
        let mut work = Vec::new();
        for target in group.iter().filter(|target| target.kept.is_none()) {
            work.push(async move {
                let uid = target.live["metadata"]["uid"].as_str();
                (target, apply::delete(context, &target.id, uid).await)
            });
        }
        let mut results = stream::iter(work).buffer_unordered(CONCURRENT_REQUESTS);
        while let Some((target, result)) = results.next().await {
            match result {
                Ok(DeleteOutcome::Deleted) => {}
                Ok(DeleteOutcome::Terminating(state)) => {
                    terminating.push((target.id.clone(), *state));
                }
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            }
            outcome.deleted.push(target.id.clone());
        }
    }
    if !errors.is_empty() {
        return Err(ActionError::Delete(errors));
    }
    if context.options.wait {
        let waits = terminating
            .into_iter()
            .map(|(id, state)| async move { apply::await_deletion(context, &id, state).await });
        let waits = futures::future::try_join_all(waits);
        let waited = tokio::time::timeout_at(context.deadline, waits).await;
        waited.map_err(|_| ActionError::TimedOut)??;
    }
    if outcome
        .deleted
        .iter()
        .any(|id| apply::changes_discovery(&id.kind))
    {
        context.cluster.invalidate_discovery();
    }
    Ok(outcome)
}

/// Runs the post-delete hooks, and deletes the Jobs and Pods of all hooks.
async fn finish(
    context: &Context<'_>,
    history: &History,
    last: &mut Record,
) -> Result<(), ActionError> {
    let id = last.id.clone();
    if context.options.run_hooks {
        hooks::run(context, last, Event::PostDelete).await?;
    }
    for record in history.records() {
        let deleted = hooks::delete_jobs_and_pods(context, &id, &record.hooks).await;
        deleted.map_err(|error| ActionError::Hook {
            event: Event::PostDelete.name(),
            hook: ObjectId::of(&Value::Null),
            source: HookError::Cluster(error),
        })?;
    }
    if context.options.keep_history {
        last.info.status = Status::Uninstalled;
        let description = context.options.description.clone();
        last.info.description = description.unwrap_or_else(|| "Uninstallation complete".to_owned());
        storage::update(context.cluster, last, (context.options.now)()).await?;
        if let Some(deployed) = history.deployed()
            && deployed.revision != last.revision
        {
            let mut deployed = deployed.clone();
            deployed.info.status = Status::Superseded;
            storage::update(context.cluster, &deployed, (context.options.now)()).await?;
        }
    }
    Ok(())
}

/// Deletes the records unless the history is kept. The last record goes last: it is the inventory until then.
/// Nothing is deleted if the release was installed again meanwhile, by a controller that took over.
async fn delete_records(
    context: &Context<'_>,
    history: &History,
    mut last: Option<Record>,
) -> Result<(), ActionError> {
    if context.options.keep_history {
        return Ok(());
    }
    if let Some(last) = &mut last {
        storage::update_own(context.cluster, last, (context.options.now)()).await?;
    }
    for revision in history.revisions() {
        match &last {
            Some(last) if last.revision == revision.revision => {
                storage::delete_own(context.cluster, last).await?;
            }
            _ => storage::delete(context.cluster, history.id(), revision.revision).await?,
        }
    }
    if history.is_exhausted() {
        let id = history.id();
        for name in storage::list_last_revisions(context.cluster, id).await? {
            storage::delete_named(context.cluster, id, &name).await?;
        }
    }
    Ok(())
}
