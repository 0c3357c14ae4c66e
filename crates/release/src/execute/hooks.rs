//! Runs hooks sequentially, and deletes them by their delete policies.

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
        if let Err(source) = run_one(context, hook, &objects, event).await {
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

async fn run_one(
    context: &Context<'_>,
    hook: &mut Hook,
    objects: &[(ObjectId, Value)],
    event: Event,
) -> Result<(), HookError> {
    if hook.has_delete_policy(BEFORE_CREATION) && !is_crd(hook) {
        let deleted = delete_all(context, objects).await;
        deleted.map_err(HookError::Cluster)?;
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
    let result = apply_and_wait(context, objects).await;
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

async fn apply_and_wait(
    context: &Context<'_>,
    objects: &[(ObjectId, Value)],
) -> Result<(), HookError> {
    let mut targets = Vec::new();
    for (id, body) in objects {
        let options = ApplyOptions {
            force_conflicts: context.options.conflicts == Conflicts::Take,
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
    let objects = objects(context, release, hook).await?;
    delete_all(context, &objects).await
}

/// Deletes the objects of a hook, and waits until they are deleted.
async fn delete_all(context: &Context<'_>, objects: &[(ObjectId, Value)]) -> Result<(), Error> {
    for (id, _) in objects {
        if let DeleteOutcome::Terminating(state) = context.cluster.delete(id, None).await? {
            apply::await_deletion(context, id, *state).await?;
        }
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
        let objects = objects(context, release, hook).await?;
        for (id, _) in objects {
            context.cluster.delete(&id, None).await?;
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
