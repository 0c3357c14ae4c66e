//! Runs hooks: by weight and name, one after the other, deleted when their policies say so.

use outrigger_chart::manifest::hook::Event;
use serde_json::Value;

use super::{Context, apply};
use crate::cluster::{Apply, Deleted};
use crate::desired::parse_objects;
use crate::error::Error;
use crate::failure::{Failure, HookFailure};
use crate::health::Awaited;
use crate::id::{ObjectId, ReleaseId};
use crate::progress::Progress;
use crate::record::Hook;
use crate::record::hook::{BEFORE_CREATION, FAILED, SUCCEEDED, in_order};

/// Runs all hooks of an event and notes in them how it went.
pub(crate) async fn run(
    context: &Context<'_>,
    release: &ReleaseId,
    hooks: &mut [Hook],
    event: Event,
) -> Result<(), Failure> {
    let order = in_order(hooks, event);
    for (done, &at) in order.iter().enumerate() {
        let hook = &mut hooks[at];
        let objects = match objects(context, release, hook).await {
            Ok(objects) => objects,
            Err(error) => return Err(failed(event, hook, HookFailure::Cluster(error))),
        };
        if let Err(source) = run_one(context, hook, &objects, event).await {
            clean_up_after_failure(context, release, hooks, &order[..done], at).await;
            return Err(failed(event, &hooks[at], source));
        }
    }
    for &at in order.iter().rev() {
        let hook = &hooks[at];
        let deleted = delete_by_policy(context, release, hook, SUCCEEDED).await;
        deleted.map_err(|error| failed(event, hook, HookFailure::Cluster(error)))?;
    }
    Ok(())
}

async fn run_one(
    context: &Context<'_>,
    hook: &mut Hook,
    objects: &[(ObjectId, Value)],
    event: Event,
) -> Result<(), HookFailure> {
    if hook.has_policy(BEFORE_CREATION) && !is_definition(hook) {
        let deleted = delete_all(context, objects).await;
        deleted.map_err(HookFailure::Cluster)?;
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
        (context.progress)(Progress::HookEnded {
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
) -> Result<(), HookFailure> {
    let mut awaited = Vec::new();
    for (id, body) in objects {
        let how = Apply {
            force: context.options.force,
            ..Apply::default()
        };
        let state = context.cluster.apply(id, body, how).await;
        awaited.push(Awaited::hook(
            id.clone(),
            state.map_err(HookFailure::Cluster)?,
        ));
    }
    let waited = context.until_healthy(awaited).await;
    waited.map_err(HookFailure::Wait)
}

/// What the failure itself says matters more than what goes wrong while cleaning up.
async fn clean_up_after_failure(
    context: &Context<'_>,
    release: &ReleaseId,
    hooks: &[Hook],
    done: &[usize],
    failed: usize,
) {
    let mut results = vec![delete_by_policy(context, release, &hooks[failed], FAILED).await];
    for &at in done {
        results.push(delete_by_policy(context, release, &hooks[at], SUCCEEDED).await);
    }
    for error in results.into_iter().filter_map(Result::err) {
        tracing::warn!(%release, %error, "a hook could not be deleted after a failure");
    }
}

async fn delete_by_policy(
    context: &Context<'_>,
    release: &ReleaseId,
    hook: &Hook,
    policy: &str,
) -> Result<(), Error> {
    if !hook.has_policy(policy) || is_definition(hook) {
        return Ok(());
    }
    let objects = objects(context, release, hook).await?;
    delete_all(context, &objects).await
}

/// Deletes the objects of a hook and waits until they are gone.
async fn delete_all(context: &Context<'_>, objects: &[(ObjectId, Value)]) -> Result<(), Error> {
    for (id, _) in objects {
        if let Deleted::Going(state) = context.cluster.delete(id, None).await? {
            apply::gone(context, id, *state).await?;
        }
    }
    Ok(())
}

/// Deletes what hooks that run to an end left behind. What other hooks made stays, as with Helm.
pub(crate) async fn remove_leftovers(
    context: &Context<'_>,
    release: &ReleaseId,
    hooks: &[Hook],
) -> Result<(), Error> {
    let ends = |hook: &&Hook| matches!(hook.kind.as_str(), "Job" | "Pod");
    for hook in hooks.iter().filter(ends) {
        let objects = objects(context, release, hook).await?;
        for (id, _) in objects {
            context.cluster.delete(&id, None).await?;
        }
    }
    Ok(())
}

fn is_definition(hook: &Hook) -> bool {
    hook.kind == "CustomResourceDefinition"
}

/// The objects of a hook with their namespaces.
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

fn failed(event: Event, hook: &Hook, source: HookFailure) -> Failure {
    Failure::Hook {
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
