//! Applies and prunes objects, in groups of kinds that may be applied concurrently.

use std::borrow::Cow;
use std::ops::ControlFlow;

use futures::stream::{self, StreamExt as _};
use outrigger_chart::manifest::kind_order::are_independent;
use serde_json::Value;

use super::{AppliedObject, Context};
use crate::action_error::ActionError;
use crate::cluster::{ApplyOptions, CONCURRENT_REQUESTS, DeleteOutcome, await_condition};
use crate::desired::Object;
use crate::error::Error;
use crate::id::ObjectId;
use crate::managed_fields;
use crate::options::Conflicts;
use crate::plan::{Change, Plan, Step, is_terminating};
use crate::progress::Progress;

/// Attempts to upgrade managed fields if the object changes concurrently.
const UPGRADE_ATTEMPTS: usize = 5;

/// Applies all changed objects, and returns the state of all objects.
pub(super) async fn apply_objects(
    context: &Context<'_>,
    plan: &Plan,
) -> Result<Vec<AppliedObject>, ActionError> {
    let objects = plan.desired.objects();
    let total = objects.len();
    let mut applied: Vec<AppliedObject> = Vec::with_capacity(total);
    // The first steps of a plan are those of the desired objects, in the same order.
    let pairs: Vec<(&Object, &Step)> = objects.iter().zip(&plan.objects).collect();
    for group in pairs.chunk_by(|(a, _), (b, _)| are_independent(&a.id().kind, &b.id().kind)) {
        // A Vec, because a closure with borrowed arguments would make the future not `Send`.
        let mut work = Vec::new();
        for &(object, step) in group {
            work.push(async move {
                let live = plan.observed.live(object.id());
                let state = apply_object(context, object, step.change, live).await?;
                Ok::<_, Error>((object.id().clone(), state))
            });
        }
        let mut results = stream::iter(work).buffer_unordered(CONCURRENT_REQUESTS);
        let mut errors = Vec::new();
        while let Some(result) = results.next().await {
            match result {
                Ok(object) => {
                    (context.progress)(Progress::Applied {
                        object: object.0.clone(),
                        done: applied.len() + 1,
                        total,
                    });
                    applied.push(object);
                }
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(ActionError::Apply(errors));
        }
        let changes_discovery =
            |step: &Step| step.change != Change::Unchanged && changes_discovery(&step.object.kind);
        if group.iter().any(|(_, step)| changes_discovery(step)) {
            context.cluster.invalidate_discovery();
        }
    }
    Ok(applied)
}

/// Whether objects of this kind add API resources to the server.
pub(crate) fn changes_discovery(kind: &str) -> bool {
    matches!(kind, "CustomResourceDefinition" | "APIService")
}

async fn apply_object(
    context: &Context<'_>,
    object: &Object,
    change: Change,
    live: Option<&Value>,
) -> Result<Value, Error> {
    let id = object.id();
    if let (Change::Unchanged, Some(live)) = (change, live) {
        return Ok(live.clone());
    }
    if let Some(live) = live.filter(|live| is_terminating(live)) {
        await_deletion(context, id, live.clone()).await?;
    } else if let Some(live) = live.filter(|live| managed_fields::needs_upgrade(live)) {
        upgrade_managed_fields(context, id, live.clone()).await?;
    }
    let conflicts = context.options.conflicts_of(id);
    let options = ApplyOptions {
        force_conflicts: conflicts == Conflicts::Take || change == Change::Adopt,
        create_only: change == Change::Create,
        ..ApplyOptions::default()
    };
    let body = match live.filter(|live| conflicts == Conflicts::Keep && !is_terminating(live)) {
        Some(live) => Cow::Owned(managed_fields::without_foreign_fields(object.body(), live)),
        None => Cow::Borrowed(object.body()),
    };
    context.cluster.apply(id, &body, options).await
}

async fn upgrade_managed_fields(
    context: &Context<'_>,
    id: &ObjectId,
    mut live: Value,
) -> Result<(), Error> {
    for _ in 0..UPGRADE_ATTEMPTS {
        let patch = managed_fields::upgrade_patch(&live);
        match context.cluster.json_patch(id, &patch).await {
            Ok(_) => return Ok(()),
            Err(error) if error.status().is_some_and(|status| status.code == 409) => {}
            Err(error) => return Err(error),
        }
        match context.cluster.get(id).await? {
            Some(object) if managed_fields::needs_upgrade(&object) => live = object,
            _ => return Ok(()),
        }
    }
    Ok(())
}

/// Waits until a terminating object is deleted or replaced by another one.
pub(crate) async fn await_deletion(
    context: &Context<'_>,
    id: &ObjectId,
    state: Value,
) -> Result<(), Error> {
    let uid = state["metadata"]["uid"].clone();
    let mut is_reported = false;
    await_condition(context.cluster, id, Some(state), |object| match object {
        Some(object) if object["metadata"]["uid"] == uid => {
            if !is_reported {
                is_reported = true;
                (context.progress)(Progress::Waiting {
                    object: id.clone(),
                    message: "Resource scheduled for deletion".to_owned(),
                });
            }
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Break(()),
    })
    .await
}

/// Deletes the objects to prune, without waiting for finalizers.
pub(super) async fn prune(context: &Context<'_>, plan: &Plan) -> Result<(), ActionError> {
    let steps = plan.objects.iter();
    let steps: Vec<&Step> = steps.filter(|step| step.change == Change::Prune).collect();
    for group in steps.chunk_by(|a, b| are_independent(&a.object.kind, &b.object.kind)) {
        let mut work = Vec::new();
        for step in group {
            work.push(async move {
                let live = plan.observed.live(&step.object);
                let uid = live.and_then(|live| live["metadata"]["uid"].as_str());
                delete(context, &step.object, uid).await
            });
        }
        let mut results = stream::iter(work).buffer_unordered(CONCURRENT_REQUESTS);
        let mut errors = Vec::new();
        while let Some(result) = results.next().await {
            errors.extend(result.err());
        }
        if !errors.is_empty() {
            return Err(ActionError::Delete(errors));
        }
        if group
            .iter()
            .any(|step| changes_discovery(&step.object.kind))
        {
            context.cluster.invalidate_discovery();
        }
    }
    Ok(())
}

/// Deletes an object and reports progress.
pub(crate) async fn delete(
    context: &Context<'_>,
    id: &ObjectId,
    uid: Option<&str>,
) -> Result<DeleteOutcome, Error> {
    let outcome = context.cluster.delete(id, uid).await?;
    (context.progress)(Progress::Deleted { object: id.clone() });
    Ok(outcome)
}
