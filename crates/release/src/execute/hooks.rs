//! Runs hooks sequentially, and deletes them by their delete policies.
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
use crate::record::Hook;
use crate::record::hook::{BEFORE_CREATION, FAILED, SUCCEEDED, execution_order};

/// Runs all hooks of an event, and records their executions in `hooks`.
pub(crate) async fn run(
    context: &Context<'_>,
    release: &ReleaseId,
    hooks: &mut [Hook],
    event: Event,
) -> Result<(), ActionError> {
    let order = execution_order(hooks, event);
    for (completed, &at) in order.iter().enumerate() {
        let hook = &mut hooks[at];
        let objects = match objects(context, release, hook).await {
            Ok(objects) => objects,
            Err(error) => return Err(failed(event, hook, HookError::Cluster(error))),
        };
        let result = match read_own(context, release, &objects).await {
            Ok(Ok(live)) => run_one(context, hook, &objects, &live, event).await,
            Ok(Err(foreign)) => {
                clean_up_after_failure(context, release, hooks, &order[..completed], at).await;
                return Err(refused(event, foreign));
            }
            Err(error) => Err(HookError::Cluster(error)),
        };
        if let Err(source) = result {
            clean_up_after_failure(context, release, hooks, &order[..completed], at).await;
            return Err(failed(event, &hooks[at], source));
        }
    }
    for &at in order.iter().rev() {
        let hook = &hooks[at];
        let deleted = delete_by_policy(context, release, hook, SUCCEEDED).await;
        deleted.map_err(|error| failed(event, hook, HookError::Cluster(error)))?;
    }
    Ok(())
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

/// `live` are the objects as they are now.
async fn run_one(
    context: &Context<'_>,
    hook: &mut Hook,
    objects: &[(ObjectId, Value)],
    live: &[Option<Value>],
    event: Event,
) -> Result<(), HookError> {
    let is_replaced = hook.has_delete_policy(BEFORE_CREATION) && !is_crd(hook);
    if is_replaced {
        for ((id, _), live) in objects.iter().zip(live) {
            let deleted = delete(context, id, live.as_ref()).await;
            deleted.map_err(HookError::Cluster)?;
        }
    }
    hook.last_run.started_at = Some((context.options.now)());
    hook.last_run.completed_at = None;
    "Running".clone_into(&mut hook.last_run.phase);
    for (id, _) in objects {
        (context.progress)(Progress::HookStarted {
            event: event.name(),
            object: id.clone(),
        });
    }
    let is_new = |live: &Option<Value>| is_replaced || live.is_none();
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
