//! Takes a release away: hooks, objects in reverse order, records. Works on whatever is left of it.

use std::collections::HashMap;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use outrigger_chart::Profile;
use outrigger_chart::manifest::hook::Event;
use outrigger_chart::manifest::kind_order::{KindOrder, are_together};
use serde::Serialize;
use serde_json::Value;

use crate::cluster::{Cluster, Deleted};
use crate::error::Error;
use crate::execute::{Context, apply, hooks};
use crate::failure::{Failure, HookFailure};
use crate::id::{Key, ObjectId, ReleaseId};
use crate::observe::objects_of;
use crate::options::Options;
use crate::ownership;
use crate::past::{Past, past};
use crate::progress::Sink;
use crate::record::{Record, Status};
use crate::storage;

/// Requests at a time.
const AT_ONCE: usize = 16;

/// What was taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// Whether there were records of the release.
    pub found: bool,
    pub objects: Vec<ObjectId>,
    /// What stays, and why.
    pub kept: Vec<Kept>,
}

/// An object that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    pub object: ObjectId,
    pub reason: String,
}

/// Removes a release and waits until it is gone. `also` are objects that the caller knows to belong to it, whatever
/// records say; they go only if they have the marks of the release. A release that is not there is no error.
pub async fn uninstall(
    cluster: &Cluster,
    id: &ReleaseId,
    also: &[ObjectId],
    options: &Options,
    progress: Sink<'_>,
) -> Result<Removed, Failure> {
    let context = Context::new(cluster, options, progress);
    let past = past(cluster, id).await?;
    let mut last = past.last().cloned();
    if let Some(last) = &mut last {
        begin(&context, last).await?;
    }
    let targets = targets(cluster, &past, also).await?;
    let mut removed = remove(&context, targets).await?;
    removed.found = !past.marks().is_empty();
    if let Some(mut last) = last {
        finish(&context, &past, &mut last).await?;
    }
    forget(&context, &past).await?;
    Ok(removed)
}

/// Runs the hooks that come first and marks the record, so that they do not run again after a kill: what they need
/// may be gone by then.
async fn begin(context: &Context<'_>, last: &mut Record) -> Result<(), Failure> {
    if last.info.status == Status::Uninstalling {
        return Ok(());
    }
    if context.options.hooks {
        let id = last.id.clone();
        hooks::run(context, &id, &mut last.hooks, Event::PreDelete).await?;
    }
    let now = (context.options.now)();
    last.info.status = Status::Uninstalling;
    last.info.deleted = Some(now);
    "Deletion in progress (or silently failed)".clone_into(&mut last.info.description);
    storage::update(context.cluster, last, now).await?;
    Ok(())
}

/// An object that may have to go.
#[derive(Debug)]
struct Target {
    id: ObjectId,
    live: Value,
    /// Why it stays, if it does.
    kept: Option<String>,
}

/// All objects that records name, and those that the caller knows of, as far as they are there and ours.
async fn targets(
    cluster: &Cluster,
    past: &Past,
    also: &[ObjectId],
) -> Result<Vec<Target>, Failure> {
    let kinds = cluster.kinds().await?;
    let mut known: HashMap<Key, (ObjectId, bool, bool)> = HashMap::new();
    for record in past.records() {
        let is_deployed = past
            .deployed()
            .is_some_and(|deployed| deployed.revision == record.revision);
        for object in objects_of(record, &kinds) {
            let entry = known.entry(object.id().key());
            let entry = entry.or_insert_with(|| (object.id().clone(), false, false));
            entry.1 |= is_deployed;
            entry.2 = object.is_kept();
        }
    }
    for id in also {
        let entry = known.entry(id.key());
        entry.or_insert_with(|| (id.clone(), false, false));
    }
    let release = past.id();
    let reads = stream::iter(known.into_values()).map(|(id, is_deployed, is_kept)| async move {
        let live = cluster.get(&id).await?;
        Ok::<_, Error>(live.and_then(|live| target(id, live, is_deployed, is_kept, release)))
    });
    let targets: Vec<Option<Target>> = reads.buffer_unordered(AT_ONCE).try_collect().await?;
    Ok(targets.into_iter().flatten().collect())
}

fn target(
    id: ObjectId,
    live: Value,
    is_deployed: bool,
    is_kept: bool,
    release: &ReleaseId,
) -> Option<Target> {
    let kept = if is_kept || ownership::is_kept(&live) {
        Some("its resource policy is keep".to_owned())
    } else {
        let owner = ownership::other_owner(&live, release);
        owner.map(|owner| format!("it belongs to release {owner}"))
    };
    // An attempt may name an object that it never got to make.
    if kept.is_none() && !is_deployed && ownership::check(&live, release).is_err() {
        return None;
    }
    Some(Target { id, live, kept })
}

/// Deletes stage by stage, then waits until all are gone.
async fn remove(context: &Context<'_>, mut targets: Vec<Target>) -> Result<Removed, Failure> {
    let order = KindOrder::uninstall(Profile::Helm4);
    targets.sort_by(|a, b| {
        let by_kind = order.compare(&a.id.kind, &b.id.kind);
        by_kind.then_with(|| a.id.cmp(&b.id))
    });
    let mut removed = Removed::default();
    let mut errors = Vec::new();
    let mut going = Vec::new();
    for group in targets.chunk_by(|a, b| are_together(&a.id.kind, &b.id.kind)) {
        // In a list, not in a closure with borrowed arguments: those make futures that cannot change threads.
        let mut work = Vec::new();
        for target in group.iter().filter(|target| target.kept.is_none()) {
            work.push(async move {
                let uid = target.live["metadata"]["uid"].as_str();
                (target, apply::delete(context, &target.id, uid).await)
            });
        }
        let mut results = stream::iter(work).buffer_unordered(AT_ONCE);
        while let Some((target, result)) = results.next().await {
            match result {
                Ok(Deleted::Gone) => {}
                Ok(Deleted::Going(state)) => going.push((target.id.clone(), *state)),
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            }
            removed.objects.push(target.id.clone());
        }
    }
    for target in targets {
        if let Some(reason) = target.kept {
            let object = target.id;
            removed.kept.push(Kept { object, reason });
        }
    }
    if !errors.is_empty() {
        return Err(Failure::Removal(errors));
    }
    if context.options.wait {
        let waits = going
            .into_iter()
            .map(|(id, state)| async move { apply::gone(context, &id, state).await });
        let waits = futures::future::try_join_all(waits);
        let waited = tokio::time::timeout_at(context.deadline, waits).await;
        waited.map_err(|_| Failure::TimedOut)??;
    }
    if removed.objects.iter().any(|id| apply::adds_kinds(&id.kind)) {
        context.cluster.forget();
    }
    Ok(removed)
}

/// Runs the hooks that come last, and takes away what hooks left.
async fn finish(context: &Context<'_>, past: &Past, last: &mut Record) -> Result<(), Failure> {
    let id = last.id.clone();
    if context.options.hooks {
        hooks::run(context, &id, &mut last.hooks, Event::PostDelete).await?;
    }
    for record in past.records() {
        let removed = hooks::remove_leftovers(context, &id, &record.hooks).await;
        removed.map_err(|error| Failure::Hook {
            event: Event::PostDelete.name(),
            hook: ObjectId::of(&Value::Null),
            source: HookFailure::Cluster(error),
        })?;
    }
    if context.options.keep_history {
        last.info.status = Status::Uninstalled;
        let description = context.options.description.clone();
        last.info.description = description.unwrap_or_else(|| "Uninstallation complete".to_owned());
        storage::update(context.cluster, last, (context.options.now)()).await?;
        if let Some(deployed) = past.deployed()
            && deployed.revision != last.revision
        {
            let mut deployed = deployed.clone();
            deployed.info.status = Status::Superseded;
            storage::update(context.cluster, &deployed, (context.options.now)()).await?;
        }
    }
    Ok(())
}

/// Deletes the records, the last one at the end: until then it is the inventory.
async fn forget(context: &Context<'_>, past: &Past) -> Result<(), Failure> {
    if context.options.keep_history {
        return Ok(());
    }
    for mark in past.marks() {
        storage::delete(context.cluster, past.id(), mark.revision).await?;
    }
    Ok(())
}
