//! Applies objects stage by stage, those of one stage at once, and removes what is no longer wanted.

use futures::stream::{self, StreamExt as _};
use outrigger_chart::manifest::kind_order::are_together;
use serde_json::Value;

use super::{Context, State};
use crate::cluster::{Apply, Deleted, Verdict, follow};
use crate::desired::Object;
use crate::error::Error;
use crate::failure::Failure;
use crate::fields;
use crate::id::ObjectId;
use crate::plan::{Change, Plan, Step, is_going};
use crate::progress::Progress;

/// Requests at a time.
const AT_ONCE: usize = 16;
/// How often fields are moved if somebody else changes the object at the same time.
const MIGRATIONS: usize = 5;

/// Applies what differs. Gives back all objects as they are now.
pub(crate) async fn objects(context: &Context<'_>, plan: &Plan) -> Result<Vec<State>, Failure> {
    let objects = plan.desired().objects();
    let total = objects.len();
    let mut states: Vec<State> = Vec::with_capacity(total);
    // The first steps are those of the wanted objects, in their order.
    let pairs: Vec<(&Object, &Step)> = objects.iter().zip(&plan.objects).collect();
    for group in pairs.chunk_by(|(a, _), (b, _)| are_together(&a.id().kind, &b.id().kind)) {
        // In a list, not in a closure with borrowed arguments: those make futures that cannot change threads.
        let mut work = Vec::new();
        for &(object, step) in group {
            work.push(async move {
                let live = plan.observed().live(object.id());
                one(context, object, step.change, live)
                    .await
                    .map(|state| (object.id().clone(), state))
            });
        }
        let mut results = stream::iter(work).buffer_unordered(AT_ONCE);
        let mut errors = Vec::new();
        while let Some(result) = results.next().await {
            match result {
                Ok(state) => {
                    (context.progress)(Progress::Applied {
                        object: state.0.clone(),
                        done: states.len() + 1,
                        total,
                    });
                    states.push(state);
                }
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(Failure::Apply(errors));
        }
        let adds = |step: &Step| step.change != Change::Unchanged && adds_kinds(&step.object.kind);
        if group.iter().any(|(_, step)| adds(step)) {
            context.cluster.forget();
        }
    }
    Ok(states)
}

/// Whether objects of this kind make the server serve others.
pub(crate) fn adds_kinds(kind: &str) -> bool {
    matches!(kind, "CustomResourceDefinition" | "APIService")
}

async fn one(
    context: &Context<'_>,
    object: &Object,
    change: Change,
    live: Option<&Value>,
) -> Result<Value, Error> {
    let id = object.id();
    if let (Change::Unchanged, Some(live)) = (change, live) {
        return Ok(live.clone());
    }
    if let Some(live) = live.filter(|live| is_going(live)) {
        gone(context, id, live.clone()).await?;
    } else if let Some(live) = live.filter(|live| fields::needs_migration(live)) {
        migrate(context, id, live.clone()).await?;
    }
    let how = Apply {
        force: context.options.force || change == Change::Adopt,
        dry_run: false,
        is_new: change == Change::Create,
    };
    context.cluster.apply(id, object.body(), how).await
}

/// Makes fields that Helm wrote from the client's side applied ones.
async fn migrate(context: &Context<'_>, id: &ObjectId, mut live: Value) -> Result<(), Error> {
    for _ in 0..MIGRATIONS {
        let patch = fields::migration(&live);
        match context.cluster.json_patch(id, &patch).await {
            Ok(_) => return Ok(()),
            Err(error) if error.status().is_some_and(|status| status.code == 409) => {}
            Err(error) => return Err(error),
        }
        match context.cluster.get(id).await? {
            Some(object) if fields::needs_migration(&object) => live = object,
            _ => return Ok(()),
        }
    }
    Ok(())
}

/// Waits until an object that is being deleted is gone, or another one is in its place.
pub(crate) async fn gone(context: &Context<'_>, id: &ObjectId, state: Value) -> Result<(), Error> {
    let uid = state["metadata"]["uid"].clone();
    let mut told = false;
    follow(context.cluster, id, Some(state), |object| match object {
        Some(object) if object["metadata"]["uid"] == uid => {
            if !told {
                told = true;
                (context.progress)(Progress::Waiting {
                    object: id.clone(),
                    message: "Resource scheduled for deletion".to_owned(),
                });
            }
            Verdict::NotYet
        }
        _ => Verdict::Done(()),
    })
    .await
}

/// Deletes what the plan says, and does not wait until it is gone.
pub(crate) async fn prune(context: &Context<'_>, plan: &Plan) -> Result<(), Failure> {
    let steps = plan.objects.iter();
    let steps: Vec<&Step> = steps.filter(|step| step.change == Change::Prune).collect();
    for group in steps.chunk_by(|a, b| are_together(&a.object.kind, &b.object.kind)) {
        let mut work = Vec::new();
        for step in group {
            work.push(async move {
                let live = plan.observed().live(&step.object);
                let uid = live.and_then(|live| live["metadata"]["uid"].as_str());
                delete(context, &step.object, uid).await
            });
        }
        let mut results = stream::iter(work).buffer_unordered(AT_ONCE);
        let mut errors = Vec::new();
        while let Some(result) = results.next().await {
            errors.extend(result.err());
        }
        if !errors.is_empty() {
            return Err(Failure::Removal(errors));
        }
        if group.iter().any(|step| adds_kinds(&step.object.kind)) {
            context.cluster.forget();
        }
    }
    Ok(())
}

/// Deletes an object and says so.
pub(crate) async fn delete(
    context: &Context<'_>,
    id: &ObjectId,
    uid: Option<&str>,
) -> Result<Deleted, Error> {
    let deleted = context.cluster.delete(id, uid).await?;
    (context.progress)(Progress::Removed { object: id.clone() });
    Ok(deleted)
}
