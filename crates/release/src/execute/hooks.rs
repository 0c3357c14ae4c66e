//! Runs hooks sequentially, and deletes them by their delete policies.
//!
//! The release record says which hooks have succeeded and which one runs: an action that was interrupted continues there. A
//! hook that has begun is waited for, and not started again.
//!
//! Like Helm, a hook replaces objects of its own release and of nobody. Unlike Helm, it never touches an object of another
//! release.

use outrigger_chart::manifest::hook::Event;
use serde_json::Value;

use super::{Context, apply};
use crate::action_error::{ActionError, HookError};
use crate::cluster::{ApplyOptions, DeleteOutcome};
use crate::desired::parse_objects;
use crate::error::Error;
use crate::health::WaitTarget;
use crate::id::{ObjectId, ReleaseId};
use crate::options::Conflicts;
use crate::ownership::{self, CannotImport};
use crate::plan::Rejection;
use crate::progress::Progress;
use crate::record::hook::{BEFORE_CREATION, FAILED, HookExecution, SUCCEEDED, execution_order};
use crate::record::{Hook, Record};
use crate::storage;

/// Runs the hooks of an event that have not succeeded yet, and records their executions.
pub(crate) async fn run(
    context: &Context<'_>,
    record: &mut Record,
    event: Event,
) -> Result<(), ActionError> {
    let release = record.id.clone();
    let order = execution_order(&record.hooks, event);
    if order.is_empty() {
        return Ok(());
    }
    for (completed, &at) in order.iter().enumerate() {
        let hook = &record.hooks[at];
        if hook.is_done(event) {
            continue;
        }
        let objects = match objects(context, &release, hook).await {
            Ok(objects) => objects,
            Err(error) => return Err(failed(event, hook, HookError::Cluster(error))),
        };
        let result = match read_own(context, &release, &objects).await {
            Ok(Ok(live)) => {
                let live = begin(context, record, at, live, event).await?;
                run_one(context, &mut record.hooks[at], &objects, &live, event).await
            }
            Ok(Err(foreign)) => {
                fail(context, record, &order[..completed], at, event).await;
                return Err(refused(event, foreign));
            }
            Err(error) => Err(HookError::Cluster(error)),
        };
        if let Err(source) = result {
            fail(context, record, &order[..completed], at, event).await;
            return Err(failed(event, &record.hooks[at], source));
        }
    }
    storage::update_own(context.cluster, record, (context.options.now)()).await?;
    for &at in order.iter().rev() {
        let hook = &record.hooks[at];
        let deleted = delete_by_policy(context, &release, hook, SUCCEEDED).await;
        deleted.map_err(|error| failed(event, hook, HookError::Cluster(error)))?;
    }
    Ok(())
}

/// Forgets how far hooks of an event have come, so that all of them run the next time.
pub(super) fn forget(hooks: &mut [Hook], event: Event) {
    for hook in hooks {
        if hook.last_run.event == event.name() {
            hook.last_run.event.clear();
            hook.last_run.replaced.clear();
        }
    }
}

/// Records that a hook begins. Returns its live objects, with whether they are those of this execution, which was
/// interrupted.
async fn begin(
    context: &Context<'_>,
    record: &mut Record,
    at: usize,
    live: Vec<Option<Value>>,
    event: Event,
) -> Result<Vec<(Option<Value>, bool)>, ActionError> {
    let now = (context.options.now)();
    let uid = |live: &Value| live["metadata"]["uid"].as_str().map(str::to_owned);
    let hook = &mut record.hooks[at];
    let is_interrupted = hook.is_interrupted(event);
    if !is_interrupted {
        hook.last_run = HookExecution {
            started_at: Some(now),
            completed_at: None,
            phase: "Running".to_owned(),
            event: event.name().to_owned(),
            replaced: live.iter().flatten().filter_map(uid).collect(),
        };
    }
    let replaced = &hook.last_run.replaced;
    let is_own = |live: &Option<Value>| {
        let uid = live.as_ref().and_then(uid);
        is_interrupted && uid.is_some_and(|uid| !replaced.contains(&uid))
    };
    let live = live.into_iter().map(|live| {
        let is_own = is_own(&live);
        (live, is_own)
    });
    let live = live.collect();
    storage::update_own(context.cluster, record, now).await?;
    Ok(live)
}

/// Cleans up after a hook failed. All hooks run again when the action is repeated, as with Helm.
async fn fail(
    context: &Context<'_>,
    record: &mut Record,
    completed: &[usize],
    failed: usize,
    event: Event,
) {
    let release = record.id.clone();
    clean_up_after_failure(context, &release, &record.hooks, completed, failed).await;
    forget(&mut record.hooks, event);
    let written = storage::update_own(context.cluster, record, (context.options.now)()).await;
    if let Err(error) = written {
        tracing::warn!(%release, %error, "failed to record that a hook failed");
    }
}

/// Refuses hooks of these events whose objects belong to another release, before anything is changed.
pub(super) async fn check_ownership(
    context: &Context<'_>,
    release: &ReleaseId,
    hooks: &[Hook],
    events: [Event; 2],
) -> Result<(), ActionError> {
    for event in events {
        for at in execution_order(hooks, event) {
            let objects = match objects(context, release, &hooks[at]).await {
                Ok(objects) => objects,
                // The chart may bring the kind.
                Err(Error::UnknownKinds(_)) => continue,
                Err(error) => return Err(failed(event, &hooks[at], HookError::Cluster(error))),
            };
            let read = read_own(context, release, &objects).await;
            let read = read.map_err(|error| failed(event, &hooks[at], HookError::Cluster(error)));
            read?.map_err(|foreign| refused(event, foreign))?;
        }
    }
    Ok(())
}

/// The live objects of a hook, or those that belong to another release.
async fn read_own(
    context: &Context<'_>,
    release: &ReleaseId,
    objects: &[(ObjectId, Value)],
) -> Result<Result<Vec<Option<Value>>, Vec<CannotImport>>, Error> {
    let mut own = Vec::new();
    let mut foreign = Vec::new();
    for (id, _) in objects {
        let live = context.cluster.get_probably_absent(id).await?;
        let owner = live
            .as_ref()
            .map(|live| ownership::check_foreign(live, release));
        match owner {
            Some(Err(reason)) if !context.options.take_ownership => foreign.push(CannotImport {
                object: id.clone(),
                reason,
            }),
            _ => own.push(live),
        }
    }
    Ok(if foreign.is_empty() {
        Ok(own)
    } else {
        Err(foreign)
    })
}

fn refused(event: Event, objects: Vec<CannotImport>) -> ActionError {
    let verb = match event {
        Event::PreInstall | Event::PostInstall => "install",
        Event::PreDelete | Event::PostDelete => "uninstall",
        _ => "update",
    };
    Rejection::InvalidOwnership { verb, objects }.into()
}

/// `live` are the objects as they are now, and whether this execution created them.
async fn run_one(
    context: &Context<'_>,
    hook: &mut Hook,
    objects: &[(ObjectId, Value)],
    live: &[(Option<Value>, bool)],
    event: Event,
) -> Result<(), HookError> {
    let is_replaced = hook.has_delete_policy(BEFORE_CREATION) && !is_crd(hook);
    if is_replaced {
        for ((id, _), (live, _)) in objects.iter().zip(live).filter(|(_, (_, is_own))| !is_own) {
            let deleted = delete(context, id, live.as_ref()).await;
            deleted.map_err(HookError::Cluster)?;
        }
    }
    for (id, _) in objects {
        (context.progress)(Progress::HookStarted {
            event: event.name(),
            object: id.clone(),
        });
    }
    let is_new =
        |(live, is_own): &(Option<Value>, bool)| !is_own && (is_replaced || live.is_none());
    let is_new: Vec<bool> = live.iter().map(is_new).collect();
    let result = apply_and_wait(context, objects, &is_new).await;
    hook.last_run.completed_at = Some((context.options.now)());
    let phase = match result {
        Ok(()) => "Succeeded",
        Err(_) => "Failed",
    };
    phase.clone_into(&mut hook.last_run.phase);
    for (id, _) in objects {
        (context.progress)(Progress::HookFinished {
            event: event.name(),
            object: id.clone(),
            succeeded: result.is_ok(),
        });
    }
    result
}

/// `is_new`: the object does not exist, and one that is created meanwhile is not overwritten.
async fn apply_and_wait(
    context: &Context<'_>,
    objects: &[(ObjectId, Value)],
    is_new: &[bool],
) -> Result<(), HookError> {
    let mut targets = Vec::new();
    for ((id, body), &is_new) in objects.iter().zip(is_new) {
        let options = ApplyOptions {
            force_conflicts: context.options.conflicts == Conflicts::Take,
            create_only: is_new,
            ..ApplyOptions::default()
        };
        let state = context.cluster.apply(id, body, options).await;
        let state = state.map_err(HookError::Cluster)?;
        targets.push(WaitTarget::hook(id.clone(), state));
    }
    context.wait(targets).await.map_err(HookError::Wait)
}

/// Deletes hooks by their policies after one failed. Errors are only logged: that of the hook is returned.
async fn clean_up_after_failure(
    context: &Context<'_>,
    release: &ReleaseId,
    hooks: &[Hook],
    completed: &[usize],
    failed: usize,
) {
    let mut results = vec![delete_by_policy(context, release, &hooks[failed], FAILED).await];
    for &at in completed {
        results.push(delete_by_policy(context, release, &hooks[at], SUCCEEDED).await);
    }
    for error in results.into_iter().filter_map(Result::err) {
        tracing::warn!(%release, %error, "failed to delete hook");
    }
}

async fn delete_by_policy(
    context: &Context<'_>,
    release: &ReleaseId,
    hook: &Hook,
    policy: &str,
) -> Result<(), Error> {
    if !hook.has_delete_policy(policy) || is_crd(hook) {
        return Ok(());
    }
    for (id, _) in objects(context, release, hook).await? {
        if let Some(live) = read_deletable(context, release, &id).await? {
            delete(context, &id, Some(&live)).await?;
        }
    }
    Ok(())
}

/// The live object of a hook, unless it belongs to another release.
async fn read_deletable(
    context: &Context<'_>,
    release: &ReleaseId,
    id: &ObjectId,
) -> Result<Option<Value>, Error> {
    let live = context.cluster.get(id).await?;
    Ok(live.filter(|live| ownership::check_foreign(live, release).is_ok()))
}

/// Deletes the live object of a hook, and waits until it is deleted.
async fn delete(context: &Context<'_>, id: &ObjectId, live: Option<&Value>) -> Result<(), Error> {
    let Some(live) = live else {
        return Ok(());
    };
    let uid = live["metadata"]["uid"].as_str();
    if let DeleteOutcome::Terminating(state) = context.cluster.delete(id, uid).await? {
        apply::await_deletion(context, id, *state).await?;
    }
    Ok(())
}

/// Deletes the Jobs and Pods of hooks. Other objects of hooks are kept, as by Helm.
pub(crate) async fn delete_jobs_and_pods(
    context: &Context<'_>,
    release: &ReleaseId,
    hooks: &[Hook],
) -> Result<(), Error> {
    let is_job_or_pod = |hook: &&Hook| matches!(hook.kind.as_str(), "Job" | "Pod");
    for hook in hooks.iter().filter(is_job_or_pod) {
        for (id, _) in objects(context, release, hook).await? {
            if let Some(live) = read_deletable(context, release, &id).await? {
                let uid = live["metadata"]["uid"].as_str();
                context.cluster.delete(&id, uid).await?;
            }
        }
    }
    Ok(())
}

fn is_crd(hook: &Hook) -> bool {
    hook.kind == "CustomResourceDefinition"
}

/// The objects of a hook, with their namespaces set.
async fn objects(
    context: &Context<'_>,
    release: &ReleaseId,
    hook: &Hook,
) -> Result<Vec<(ObjectId, Value)>, Error> {
    let mut objects = Vec::new();
    for mut body in parse_objects(&hook.path, &hook.manifest)? {
        let id = ObjectId::of(&body);
        let id = context.cluster.resolve(&id, &release.namespace).await?;
        if let Some(namespace) = &id.namespace {
            body["metadata"]["namespace"] = Value::from(namespace.as_str());
        }
        objects.push((id, body));
    }
    Ok(objects)
}

fn failed(event: Event, hook: &Hook, source: HookError) -> ActionError {
    ActionError::Hook {
        event: event.name(),
        hook: ObjectId {
            api_version: String::new(),
            kind: hook.kind.clone(),
            namespace: None,
            name: hook.name.clone(),
        },
        source,
    }
}
